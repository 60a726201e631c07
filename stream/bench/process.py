"""Run a command under a memory limit, and end it when asked."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from sfumato.stream.bench.holder import Holder
from sfumato.stream.errors import Stopped

_POLL_S = 0.1
_END_S = 10.0
"""What a command gets to clean up before it is killed."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    code: int
    """Its exit code; minus the signal's number if a signal ended it."""
    said: str
    """The last line it wrote to standard error, without ``Error:``."""
    output: str


class Commands:
    """Runs commands one after the other. Not for two threads."""

    def __init__(self, holder: Holder, folder: Path, stop: Event) -> None:
        """``folder`` takes what commands write; once ``stop`` is set, they are ended."""
        self._holder, self._stop = holder, stop
        self._out, self._err = folder / "stdout.txt", folder / "stderr.txt"

    def run(
        self, words: Sequence[str], environment: Mapping[str, str], limit_bytes: int | None = None
    ) -> Ended:
        """Raises :class:`Stopped` once that was asked for and the command has gone."""
        with (
            self._limited(words, limit_bytes) as command,
            self._out.open("wb") as out,
            self._err.open("wb") as err,
            subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=dict(environment)
            ) as process,
        ):
            self._wait(process)
        lines = self._err.read_text(errors="replace").strip().splitlines()
        said = lines[-1].removeprefix("Error: ") if lines else ""
        return Ended(process.returncode, said, self._out.read_text(errors="replace"))

    def _limited(
        self, words: Sequence[str], limit_bytes: int | None
    ) -> AbstractContextManager[list[str]]:
        if limit_bytes is None:
            return nullcontext(list(words))
        return self._holder.limited(words, limit_bytes)

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        try:
            while process.poll() is None and not self._stop.is_set():
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_POLL_S)
        finally:
            _end(process)
        if self._stop.is_set():
            raise Stopped("stopped as asked")


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_END_S)
        process.kill()
