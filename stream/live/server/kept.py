"""What uploads leave on the disk: how much of it may stay, how long, and what a killed server left."""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

KEPT_S = 1800.0
"""How long a painted file waits to be fetched."""

SWEEP_S = 30.0
"""How often it is looked whether one has waited long enough."""

MOST_KEPT = 32
"""Painted files that wait, of all viewers together."""

MOST_KEPT_BYTES = 8_000_000_000
"""Their size in all; room for two of the largest that a worker may write."""

FULL = "The server's disk is full; try again later."
"""What viewers are told; only who runs the server can do something about it."""

_NAME = re.compile(r"sfumato-serve-(\d+)-.+")


def make_folder() -> Path:
    """An empty folder for this process, named after it; those of processes that ended go."""
    import psutil

    for path in Path(tempfile.gettempdir()).glob("sfumato-serve-*"):
        match = _NAME.fullmatch(path.name)
        if match and not psutil.pid_exists(int(match[1])):
            shutil.rmtree(path, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"sfumato-serve-{os.getpid()}-"))


def too_many(sizes_bytes: list[int]) -> int:
    """How many of the oldest files have to go. ``sizes_bytes`` begins with the oldest."""
    gone, total_bytes = 0, sum(sizes_bytes)
    while len(sizes_bytes) - gone > MOST_KEPT or total_bytes > MOST_KEPT_BYTES:
        total_bytes -= sizes_bytes[gone]
        gone += 1
    return gone


def is_full(error: BaseException | None) -> bool:
    """Whether an error, or what caused it, is a disk without room."""
    while error is not None:
        if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
            return True
        error = error.__cause__ or error.__context__
    return False


@contextmanager
def refusing_full_disk() -> Iterator[None]:
    """Raise 507 where the disk is full."""
    from aiohttp import web  # which a worker does without

    try:
        yield
    except OSError as exc:
        if is_full(exc):
            raise web.HTTPInsufficientStorage(text=FULL) from exc
        raise
