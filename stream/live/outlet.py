"""A sink on a thread of its own: however slow it is, nothing waits for it."""

from __future__ import annotations

import time
from threading import Thread
from typing import Protocol

from sfumato.stream.live.age import AgeMeter
from sfumato.stream.live.newest import Newest
from sfumato.stream.live.painter import Painted


class LiveSink(Protocol):
    """Where painted pictures go. All calls come from one thread."""

    name: str
    takes_held: bool
    """It wants the last picture again and again while the source gives none."""
    leave_s: float | None
    """How long to wait for it at the end; None as long as it takes, as with a recording."""

    misses_sound: bool = False
    """Its viewers would expect the source's sound with the pictures."""

    def show(self, picture: Painted) -> None:
        """Show a picture, or raise :class:`SinkError`: that ends the run."""
        ...

    def finish(self) -> list[str]:
        """End properly; what a user should know, one sentence each. Raises :class:`SinkError`."""
        ...

    def abort(self) -> None:
        """End without a result, after an error."""
        ...


class Outlet:
    """Hands a sink the newest picture whenever it is ready for one; drops are counted."""

    def __init__(self, sink: LiveSink) -> None:
        self.sink = sink
        self.ages = AgeMeter()
        self.dropped = 0
        self.warnings: list[str] = []
        self._waiting: Newest[Painted] = Newest()
        self._error: BaseException | None = None
        self._ended_s: float | None = None
        self._thread = Thread(target=self._run, name=f"sink {sink.name}", daemon=True)
        self._thread.start()

    def show(self, picture: Painted) -> None:
        """Hand over a picture. Never waits. Raises what ended the sink."""
        if self._error is not None:
            raise self._error
        if picture.held and not self.sink.takes_held:
            return
        self.dropped += self._waiting.put(picture)

    def end(self) -> None:
        """Let the sink finish on its own; :attr:`ended` says when it has."""
        if self._ended_s is None:
            self._ended_s = time.monotonic()
        self._waiting.close()

    @property
    def ended(self) -> bool:
        """Nothing more happens."""
        return not self._thread.is_alive()

    def close(self) -> None:
        """End the sink properly, and wait. Raises what went wrong with it."""
        self.end()
        self._wait()
        if self._thread.is_alive():
            self.warnings.append(f"{self.sink.name} did not take its last pictures and was left")
        if self._error is not None:
            raise self._error

    def _wait(self) -> None:
        """For the sink's thread, until ``leave_s`` after the end was asked for."""
        if self.sink.leave_s is None or self._ended_s is None:
            self._thread.join()
        else:
            self._thread.join(max(0.0, self._ended_s + self.sink.leave_s - time.monotonic()))

    def _run(self) -> None:
        try:
            while (picture := self._waiting.take()) is not None:
                self.sink.show(picture)
                if not picture.held:
                    self.ages.note(picture.captured_s)
            self.warnings += self.sink.finish()
        except BaseException as exc:  # noqa: BLE001 - raised by show() and close()
            self._error = exc
            self.sink.abort()
