"""A live run: a source is read, the newest frame painted, pictures handed out while they are fresh."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from dataclasses import replace
from threading import Event
from typing import Self

from sfumato.stream.errors import Stopped
from sfumato.stream.frame import Frame
from sfumato.stream.live.inputs import Input
from sfumato.stream.live.mark import held
from sfumato.stream.live.painter import LivePainter, Painted
from sfumato.stream.live.reader import LiveReader, Patience
from sfumato.stream.live.settings import LiveSettings, check_duration

HELD_S = 0.5
"""How often the last picture is shown again while the source is silent."""


class LiveRun:
    """Reader and painter, and what comes out of them. A context manager."""

    def __init__(
        self,
        source: Input,
        settings: LiveSettings | None = None,
        *,
        patience: Patience | None = None,
        duration_s: float | None = None,
        stop: Event | None = None,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        """``stop``, or ``duration_s`` after the first picture, ends the run; ``note`` is told what
        happens to the source. Raises :class:`StyleError` and :class:`SettingsError`."""
        check_duration(duration_s)
        self.stop = stop or Event()
        self._duration_s = duration_s
        self.painter = LivePainter(settings, note)
        self.reader = LiveReader(source, self._offer, patience, note=note)
        self._waits = source.paced
        self._last: Painted | None = None
        self._shown_s = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def pictures(self, tick_s: float = 0.1) -> Generator[Painted | None, None, None]:
        """Each painted picture, once; None at least every ``tick_s`` while there is none.

        While the source is silent the last picture comes again and again with a small mark and
        ``held`` set. Ends with the source, the duration, or ``stop``. Raises
        :class:`SourceError`, :class:`StyleError` and :class:`Stopped` (before the first picture).
        """
        self.reader.start(self.stop)
        ends_s: float | None = None
        while not self.stop.is_set() and (ends_s is None or time.monotonic() < ends_s):
            picture = self.painter.take(tick_s)
            if picture is None and self.reader.state == "ended" and self.painter.idle:
                self.reader.check()
                return
            if picture is not None:
                self._last, self._shown_s = picture, time.monotonic()
            if ends_s is None and picture is not None and self._duration_s is not None:
                ends_s = time.monotonic() + self._duration_s
            yield picture or self._held()
        if self._last is None:
            raise Stopped("stopped as asked")

    def close(self) -> None:
        """Stop reading and painting, and join the threads."""
        self.painter.close()  # the reader may be waiting for it
        self.reader.close()

    def _offer(self, frame: Frame, captured_s: float) -> None:
        """To the painter; what has a pace of its own waits at its first picture until that one can
        be painted."""
        if self._waits:
            self._waits = False
            self.painter.prepare(frame)
            captured_s = time.monotonic()
        self.painter.offer(frame, captured_s)

    def _held(self) -> Painted | None:
        """The last picture again, if the source is silent and it is time."""
        now_s = time.monotonic()
        last = self._last
        if last is None or self.reader.state not in ("stalled", "reconnecting"):
            return None
        if now_s - self._shown_s < HELD_S:
            return None
        self._shown_s = now_s
        if not last.held:
            last = self._last = replace(last, frame=held(last.frame), held=True)
        return last
