"""Standard input, counted: FFmpeg says nothing where a y4m stream ends in the middle of a picture."""

from __future__ import annotations

import os
from contextlib import suppress
from select import select
from threading import Event

from av.container import InputContainer

from sfumato.stream.errors import SourceError, Stopped

Y4M_FRAME_BYTES = 80
"""Longest line before a picture (Y4M_FRAME_MAGIC and its parameters in FFmpeg's yuv4mpegdec.c)."""

_READ_BYTES = 2**18
"""As much as is asked for at once; FFmpeg asks for whole pictures."""

PIPE_BYTES = 2**20
"""What a pipe is made to hold where the system lets us (Linux): with its usual 64 KiB the one who
writes sleeps and wakes twenty times for each picture of 720p."""

_POLL_S = 0.1
"""How soon a wait for data notices that it is to stop."""


class StandardInput:
    """A file object for ``av.open`` that cannot seek."""

    def __init__(self, stop: Event | None = None) -> None:
        self._stop = stop
        self.size_bytes = 0
        """What has been read."""
        self._file = open(0, "rb", buffering=0, closefd=False)  # noqa: SIM115 - never ours to close
        with suppress(ImportError, AttributeError, OSError):
            import fcntl

            fcntl.fcntl(0, fcntl.F_SETPIPE_SZ, PIPE_BYTES)

    def read(self, size: int) -> bytes:
        """At most ``size`` bytes, as soon as there are any; none at the end. Raises SourceError
        where there never are any, and Stopped soon after ``stop`` is set."""
        self._wait()
        data: bytes = self._file.read(min(size, _READ_BYTES))
        if not data and not self.size_bytes:
            raise SourceError(
                "cannot read standard input: nothing comes through it; pipe a video into it"
            )
        self.size_bytes += len(data)
        return data

    def _wait(self) -> None:
        """Wait for data, where the system can do so for a limited time."""
        while self._stop is not None and os.name == "posix":
            if self._stop.is_set():
                raise Stopped("stopped as asked")
            if select([self._file], [], [], _POLL_S)[0]:
                return


def is_cut_off(container: InputContainer, size_bytes: int, end_bytes: int) -> bool:
    """Whether more follows the last picture, which ended at ``end_bytes``, than the next one's line:
    a picture that is not whole."""
    return container.format.name == "yuv4mpegpipe" and size_bytes - end_bytes > Y4M_FRAME_BYTES
