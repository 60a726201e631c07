"""Where live pictures go: files, standard output, nowhere; and what ``--sink`` may name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from sfumato.stream.errors import SinkError
from sfumato.stream.live.fit import Fit
from sfumato.stream.live.like import TICKS, LikeFirst, RealTimes
from sfumato.stream.live.outlet import LiveSink
from sfumato.stream.live.painter import Painted
from sfumato.stream.media.colour import ColourTags
from sfumato.stream.media.sink import Sink, check_target, open_sink

PRESET = "superfast"
"""How hard the encoder of a recording works: painting needs the processor more."""

MakeSink = Callable[[str], LiveSink]


class NullLive(LiveSink):
    """Takes pictures and drops them."""

    name = "null"
    takes_held = False
    leave_s: float | None = None

    def show(self, picture: Painted) -> None:
        """See :class:`LiveSink`."""

    def finish(self) -> list[str]:
        """See :class:`LiveSink`."""
        return []

    def abort(self) -> None:
        """See :class:`LiveSink`."""


class FileLive(LiveSink):
    """A recording, or y4m on standard output, begun with the first picture.

    Times are those at which the pictures were taken; pictures of another size or format are
    brought to the first one's.
    """

    takes_held = False
    leave_s: float | None = None

    def __init__(
        self,
        target: str,
        tags: Callable[[], ColourTags] = ColourTags,
        *,
        fps: float | None = None,
        overwrite: bool = False,
    ) -> None:
        """Raises :class:`SinkError` for what cannot be written to."""
        self.name = "standard output" if target == "-" else target
        self._target, self._tags, self._fps, self._overwrite = target, tags, fps, overwrite
        self._times = RealTimes()
        self._sink: Sink | None = None
        self._fit: Fit | None = None
        if target != "-":
            check_target(Path(target), None, overwrite=overwrite)

    def show(self, picture: Painted) -> None:
        """See :class:`LiveSink`."""
        if self._sink is None or self._fit is None:
            self._sink, self._fit = self._begin(picture)
        frame = self._fit(picture.frame)
        pts = self._times(picture.captured_s)
        self._sink.write(replace(frame, pts=pts, time_base=TICKS, duration=0, side_packets=()))

    def finish(self) -> list[str]:
        """See :class:`LiveSink`."""
        if self._sink is None:
            raise SinkError(f"{self.name} would be empty: no picture came")
        self._sink.close()
        return self._sink.warnings

    def abort(self) -> None:
        """See :class:`LiveSink`."""
        if self._sink is not None:
            self._sink.abort()

    def _begin(self, picture: Painted) -> tuple[Sink, Fit]:
        like = LikeFirst(picture.frame, self._tags(), self._fps)
        preset = PRESET if Path(self._target).suffix.lower() in (".mp4", ".mkv", ".mov") else None
        sink = open_sink(
            self._target,
            like=like,
            preset=preset,
            overwrite=self._overwrite,
            encoder_threads=1,
        )
        return sink, Fit(sink.size_px, sink.pixels)
