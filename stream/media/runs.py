"""Short runs of a video's frames, from here and there, without reading all that lies between."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import chain, islice
from pathlib import Path
from time import thread_time

import av
from av.error import FFmpegError
from av.video.frame import VideoFrame

from sfumato.stream.frame import Frame
from sfumato.stream.media.decode import Decoder
from sfumato.stream.media.errors import reading
from sfumato.stream.media.normal import Normalizer
from sfumato.stream.media.source import local
from sfumato.stream.media.streams import choose_video

NEVER = -(2**62)
"""Before any time, in ticks."""


class Runs:
    """The film of one file, to look into; who opens it closes it.

    One thread decodes, so that the time which the caller's thread takes is what decoding costs.
    """

    def __init__(self, path: Path) -> None:
        """Raises :class:`SourceError` where :class:`~.reader.VideoReader` does."""
        self._name = str(path)
        self._normal: Normalizer | None = None
        self._last = NEVER
        with reading(self._name):
            self._container = av.open(local(path), "r", metadata_errors="replace")
            self._video, _ = choose_video(self._name, self._container)
            self._video.codec_context.thread_count = 1
            self._decoder = Decoder(self._name, self._container, self._video, (), strict=False)
        self._pictures = self._decoder.pictures()

    def close(self) -> None:
        """Let go of the file."""
        self._container.close()

    def at(self, time_s: float, frames: int, *, skip_s: float) -> Iterator[Frame]:
        """So many frames in a row from ``time_s`` after the beginning on; fewer where the film ends,
        and none that an earlier run gave.

        Frames between the keyframe before that time, or the end of the last run if that is nearer,
        and the time are decoded and dropped for ``skip_s`` of this thread's time at most: the run
        begins earlier where that does not reach. Where seeking is impossible it goes on from the
        last one.
        """
        with reading(self._name):
            wanted = self._go_to(time_s)
            first = self._first_from(wanted, thread_time() + skip_s)
            pictures = () if first is None else islice(chain([first], self._pictures), frames)
            for picture in pictures:
                self._last = _ticks(picture, self._last + 1)
                yield self._frame(picture)

    def _first_from(self, wanted: int, until_s: float) -> VideoFrame | None:
        """The picture of that time, or the one that has come when the thread's clock says
        ``until_s``; None at the end and where that was seen before."""
        for picture in self._pictures:
            ticks, late = _ticks(picture, self._last + 1), thread_time() > until_s
            if ticks > self._last and (late or ticks >= wanted):
                return picture
            if late:
                return None
        return None

    def _go_to(self, time_s: float) -> int:
        """Get as near to a time as keyframes allow; the time in ticks of the stream."""
        start, base = self._video.start_time, self._video.time_base
        if start is None or not base:
            return NEVER
        wanted = start + round(time_s / base)
        if time_s > 0 and not self._passed_keyframe(wanted):
            try:
                self._container.seek(wanted, stream=self._video)
            except (FFmpegError, OSError, OverflowError):
                return NEVER
            self._pictures = self._decoder.pictures()
        return wanted

    def _passed_keyframe(self, wanted: int) -> bool:
        """Whether the keyframe before a time is behind us, as far as the file has an index."""
        entries = self._video.index_entries
        place = entries.search_timestamp(wanted)
        return place >= 0 and entries[place].timestamp <= self._last

    def _frame(self, picture: VideoFrame) -> Frame:
        self._normal = self._normal or Normalizer(picture)
        planes, owner = self._normal.planes(picture)
        base = Fraction(self._video.time_base or 1)
        return Frame(planes, self._normal.pixels, self._last, base, keep=owner)


def _ticks(picture: VideoFrame, otherwise: int) -> int:
    """When a picture is shown, in ticks of its stream; ``otherwise`` where it does not say."""
    found = picture.pts if picture.pts is not None else picture.dts
    return otherwise if found is None else found
