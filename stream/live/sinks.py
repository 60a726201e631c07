"""Where live pictures go: files, standard output, nowhere; and what ``--sink`` may name."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from sfumato.stream.errors import SinkError
from sfumato.stream.live.fit import Fit
from sfumato.stream.live.like import TICKS, LikeFirst, RealTimes
from sfumato.stream.live.outlet import LiveSink
from sfumato.stream.live.painter import Painted
from sfumato.stream.media.colour import ColourTags
from sfumato.stream.media.pipe import Y4mSink
from sfumato.stream.media.sink import Sink, check_target, open_sink, recording_name

PRESET = "superfast"
"""How hard the encoder of a recording works: painting needs the processor more."""

LEAVE_PIPE_S = 2.0
"""How long a pipe that nobody reads any more is waited for."""


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

    def __init__(
        self,
        target: str,
        tags: Callable[[], ColourTags] = ColourTags,
        *,
        source: Path | None = None,
        fps: Callable[[], float | None] = lambda: None,
        overwrite: bool = False,
    ) -> None:
        """``source``: the file that is painted, which is never written to; ``fps``: how many
        pictures a second are promised, asked when the first one comes. Raises :class:`SinkError`
        for what cannot be written to."""
        self.name = "standard output" if target == "-" else target
        self.leave_s: float | None = LEAVE_PIPE_S if target == "-" else None
        self.misses_sound = target != "-"
        self._target, self._tags, self._fps, self._overwrite = target, tags, fps, overwrite
        self._times = RealTimes()
        self._sink: Sink | None = None
        self._fit: Fit | None = None
        if target == "-":
            _check_stdout()
        else:
            check_target(Path(target), source, overwrite=overwrite)

    def show(self, picture: Painted) -> None:
        """See :class:`LiveSink`."""
        if self._sink is None or self._fit is None:
            self._sink, self._fit = self._begin(picture)
        frame = self._fit(picture.frame)
        pts = self._times(picture.captured_s)
        with self._telling():
            self._sink.write(replace(frame, pts=pts, time_base=TICKS, duration=0, side_packets=()))

    def finish(self) -> list[str]:
        """See :class:`LiveSink`."""
        if self._sink is None:
            raise SinkError(f"{self.name} would be empty: no picture came")
        with self._telling():
            self._sink.close()
        return self._sink.warnings

    def abort(self) -> None:
        """See :class:`LiveSink`."""
        if self._sink is not None:
            self._sink.abort()

    @contextmanager
    def _telling(self) -> Generator[None, None, None]:
        """Say of an error where the pictures are that were recorded before it."""
        try:
            yield
        except SinkError as exc:
            rest = recording_name(Path(self._target))
            if not rest.exists():
                raise
            raise SinkError(f"{exc}; {rest} keeps what was recorded until then") from exc

    def _begin(self, picture: Painted) -> tuple[Sink, Fit]:
        like = LikeFirst(picture.frame, self._tags(), self._fps())
        preset = PRESET if Path(self._target).suffix.lower() in (".mp4", ".mkv", ".mov") else None
        if self._target == "-":
            # A file of its own: a thread that hangs in sys.stdout would hang the exit too.
            out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
            sink: Sink = Y4mSink(like, (like.info.width_px, like.info.height_px), out)
        else:
            sink = open_sink(
                self._target,
                like=like,
                preset=preset,
                overwrite=self._overwrite,
                encoder_threads=1,
                recording=True,
            )
        return sink, Fit(sink.size_px, sink.pixels)


def _check_stdout() -> None:
    if sys.stdout is None:
        raise SinkError("standard output is closed; name a file instead of '-'")
    if sys.stdout.isatty():
        raise SinkError("standard output is a terminal; pipe '-' into a program, or name a file")
