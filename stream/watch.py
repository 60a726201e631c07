"""Watch this process's memory while it works."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from sfumato.stream.budget import held_bytes

NEAR_LIMIT = 0.97
"""Share of the limit at which a job begins to shrink: a little more than what is planned for. A look
takes about 15 microseconds."""

SETTLE_FRAMES = 4
"""Frames to wait after a step until memory that it freed has gone back."""


def resident_bytes() -> int:
    """Resident bytes of this process, as cheaply as the system can tell."""
    with suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return held_bytes()


class Watch:
    """Says when memory comes near its limit."""

    def __init__(
        self, limit_bytes: int | None, resident: Callable[[], int] = resident_bytes
    ) -> None:
        self._limit_bytes = limit_bytes
        self._resident = resident
        self._wait_frames = 0

    def near(self) -> bool:
        """Ask once per frame: memory is near its limit, and it is time to take less."""
        if self._limit_bytes is None:
            return False
        self._wait_frames -= 1
        if self._wait_frames > 0:
            return False
        if self._resident() < NEAR_LIMIT * self._limit_bytes:
            return False
        self._wait_frames = SETTLE_FRAMES
        return True

    def stop(self) -> None:
        """Look no more."""
        self._limit_bytes = None
