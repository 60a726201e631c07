"""The one way kernels are compiled."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

import platformdirs
from numba import njit

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile ``function`` when it is first called, or load it from the cache beside its file.

    ``nogil``: the caller's threads are the only parallelism. Never ``parallel``: on Numba's
    always-present threading layer two Python threads inside parallel kernels abort the process.
    The cache notices changes in the function's own file only, so a kernel and its jitted helpers
    share a file, and what may vary is an argument. No ``fastmath``: results are the same on every
    machine, bit for bit.
    """
    return cast(F, njit(nogil=True, cache=True, error_model="numpy")(function))


def helper(function: F) -> F:
    """Compile ``function`` for the kernels of its file that call it, and only for them.

    Not for Python to call and not cached by itself: a kernel's cache holds its helpers' code too.
    That saves a sixth of the compile time.
    """
    compiler = cast(Callable[..., F], njit)  # its stub lacks the options for wrappers
    return compiler(
        function, nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True
    )


def compiled() -> bool:
    """Whether kernels lie ready in the cache, whatever the types they were compiled for."""
    folders = [Path(os.environ.get("NUMBA_CACHE_DIR", Path(__file__).parent))]
    folders.append(
        platformdirs.user_cache_path("numba", appauthor=False)
    )  # Numba's own second choice
    return any(any(folder.rglob("gather.*.nbi")) for folder in folders)
