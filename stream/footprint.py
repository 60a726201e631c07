"""Memory that only the start of a job needed, given back before its work begins."""

from __future__ import annotations

import ctypes
import re
import sys
from pathlib import Path

MADV_DONTNEED = 4
"""Linux's number on every processor; `mmap.madvise` is for mappings of its own."""

_PRISTINE = re.compile(
    rb"^(?P<start>[0-9a-f]+)-(?P<stop>[0-9a-f]+) r-[x-]p [^\n]*/[^/\n]*\.so[^/\n]*\n"
    rb"(?:(?!Rss)[^\n]*\n)*Rss: +(?P<rss_kib>[0-9]+) kB\n"
    rb"(?:(?!Anonymous)[^\n]*\n)*Anonymous: +0 kB\n",
    re.MULTILINE,
)
"""A library's mapping in ``/proc/self/smaps`` that holds only what its file holds. psutil reads
the same in three times the time, which every job would wait for thrice."""


def release_startup_pages() -> int:
    """Drop this process's view of the library code that was read so far; return the bytes.

    To load compiled kernels takes 70 MB of LLVM's code, to import the libraries 50 MB more, and
    painting needs little of either. The pages stay in the system's cache: what is needed again
    comes back in microseconds. Mappings that hold anything but the file's own bytes are left alone.
    Does nothing but on Linux.
    """
    if sys.platform != "linux":
        return 0
    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):  # the C library of GNU
        library.malloc_trim(0)
    madvise = library.madvise
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    released = 0
    for found in _PRISTINE.finditer(Path("/proc/self/smaps").read_bytes()):
        start, stop = (int(address, 16) for address in found.group("start", "stop"))
        if madvise(start, stop - start, MADV_DONTNEED) == 0:
            released += 1024 * int(found["rss_kib"])
    return released
