"""The one way kernels are compiled."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import platformdirs
from numba import njit
from numba.core.caching import FunctionCache

F = TypeVar("F", bound=Callable[..., object])


class _Cache(FunctionCache):
    """Numba's own, but where its disk is full it is the next start that takes longer, and nothing
    fails."""

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):
            super().save_overload(sig, data)


def kernel(function: F) -> F:
    """Compile ``function`` when it is first called, or load it from the cache beside its file.

    ``nogil``: the caller's threads are the only parallelism. Never ``parallel``: on Numba's
    always-present threading layer two Python threads inside parallel kernels abort the process.
    The cache notices changes in the function's own file only, so a kernel and its jitted helpers
    share a file, and what may vary is an argument. No ``fastmath``: results are the same on every
    machine, bit for bit. Where no folder for the cache can be written, there is none.
    """
    compiling = cast(Any, njit(nogil=True, error_model="numpy")(function))
    with suppress(RuntimeError):  # "no locator available": what cache=True would raise
        compiling._cache = _Cache(function)
    return cast(F, compiling)


def helper(function: F) -> F:
    """Compile ``function`` for the kernels of its file that call it, and only for them.

    Not for Python to call and not cached by itself: a kernel's cache holds its helpers' code too.
    That saves a sixth of the compile time.
    """
    compiler = cast(Callable[..., F], njit)  # its stub lacks the options for wrappers
    return compiler(
        function, nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True
    )


def cache_folder() -> Path | None:
    """Where compiled kernels are kept; None where no folder for them can be written."""
    try:
        return Path(_Cache(compiled).cache_path)
    except RuntimeError:
        return None


def compiled() -> bool:
    """Whether kernels lie ready in the cache, whatever the types they were compiled for."""
    folders = [Path(os.environ.get("NUMBA_CACHE_DIR", Path(__file__).parent))]
    folders.append(
        platformdirs.user_cache_path("numba", appauthor=False)
    )  # Numba's own second choice
    return any(any(folder.rglob("gather.*.nbi")) for folder in folders)
