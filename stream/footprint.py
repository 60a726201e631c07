"""Memory that only the start of a job needed, given back before its work begins."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

MADV_DONTNEED = 4
"""Linux's number on every processor; `mmap.madvise` is for mappings of its own."""


def release_startup_pages() -> int:
    """Drop this process's view of the library code that was read so far; return the bytes.

    To load compiled kernels takes 70 MB of LLVM's code, to import the libraries 50 MB more, and
    painting needs little of either. The pages stay in the system's cache: what is needed again
    comes back in microseconds. Mappings that hold anything but the file's own bytes are left alone.
    Does nothing but on Linux.
    """
    if sys.platform != "linux":
        return 0
    import psutil

    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):  # the C library of GNU
        library.malloc_trim(0)
    madvise = library.madvise
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    released = 0
    for mapping in psutil.Process().memory_maps(grouped=False):
        if ".so" in Path(mapping.path).name and "w" not in mapping.perms and mapping.anonymous == 0:
            start, stop = (int(address, 16) for address in mapping.addr.split("-"))
            if madvise(start, stop - start, MADV_DONTNEED) == 0:
                released += mapping.rss
    return released
