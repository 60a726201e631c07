"""What file sinks want to know of a source, from the first picture of a live run."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from sfumato.stream.frame import Frame, VideoInfo
from sfumato.stream.media.carried import Carried
from sfumato.stream.media.colour import ColourTags
from sfumato.stream.media.source import Source

TICKS = Fraction(1, 90_000)
"""The clock of what is written: MPEG's."""


class LikeFirst(Source):
    """A source in name only: size, format and rate of what is about to be written."""

    def __init__(self, first: Frame, tags: ColourTags, fps: float | None = None) -> None:
        rate = Fraction(fps).limit_denominator(1001) if fps else None
        self.info = VideoInfo(first.width_px, first.height_px, first.pixels, rate, TICKS)
        self.carried = Carried(tags=tags)
        self.warnings: list[str] = []
        self.trailing_packets: tuple[Any, ...] = ()

    @property
    def skipped(self) -> int:
        """None are read, so none are damaged."""
        return 0

    def frames(self) -> Iterator[Frame]:
        """None."""
        return iter(())

    def close(self) -> None:
        """Nothing to let go of."""


class RealTimes:
    """Presentation times from the moments at which pictures were taken."""

    def __init__(self) -> None:
        self._first_s: float | None = None
        self._last = -1
        self.step = 0
        """Ticks between the last two pictures."""

    def __call__(self, captured_s: float) -> int:
        """Ticks since the first picture; always more than the last time."""
        if self._first_s is None:
            self._first_s = captured_s
        before = self._last
        self._last = max(before + 1, round((captured_s - self._first_s) / TICKS))
        self.step = self._last - max(0, before)
        return self._last
