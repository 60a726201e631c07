"""Videos: anything FFmpeg can open, frame by frame, with what lies beside the picture."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from itertools import chain
from pathlib import Path
from threading import Event, Lock
from typing import Any

import av
from av import Packet
from av.container import InputContainer
from av.error import FFmpegError
from av.video.frame import VideoFrame

from sfumato.stream.count import count
from sfumato.stream.errors import SourceError
from sfumato.stream.frame import Frame, VideoInfo
from sfumato.stream.media.carried import Carried
from sfumato.stream.media.clock import Clock, Cut
from sfumato.stream.media.colour import refuse_colour
from sfumato.stream.media.decode import Decoder
from sfumato.stream.media.errors import OPEN_TIMEOUT_S, READ_TIMEOUT_S, reading
from sfumato.stream.media.intake import StandardInput, is_cut_off
from sfumato.stream.media.normal import Normalizer
from sfumato.stream.media.part import chapters_in, cut_of, frames_in, rest_beside, time_base_of
from sfumato.stream.media.riders import Load, Riders
from sfumato.stream.media.side_data import display_matrix, has_captions
from sfumato.stream.media.source import Source, local
from sfumato.stream.media.streams import choose_video, side_streams

LOOK_FOR_CAPTIONS = (0, 12)
"""Which pictures are searched for closed captions: television has them in every one."""

LARGE_PX = 4_000_000
"""Pixels of a frame from which one thread decodes: to paint it takes many times as long, and each
further thread holds one frame more."""


class VideoReader(Source):
    """One video stream of a container; see :class:`~sfumato.stream.media.source.Source`."""

    def __init__(
        self,
        name: str,
        *,
        start_s: float = 0,
        duration_s: float | None = None,
        strict: bool = False,
        decoder_threads: int = 1,
        stop: Event | None = None,
    ) -> None:
        self.name = "standard input" if name == "pipe:0" else name
        self.warnings: list[str] = []
        self.trailing_packets: tuple[Packet[Any], ...] = ()
        self._riders = Riders()
        self._covers: dict[int, bytes] = {}
        self._strict = strict
        self._delivered = 0
        self._captions = False
        self._wish = start_s, duration_s
        self._decoder_threads = decoder_threads
        self._busy = Lock()
        self._piped = StandardInput(stop) if name == "pipe:0" else None
        self._place = self._piped or name
        self._container = _open(self._place, self.name)
        try:
            with reading(self.name):
                self._choose()
                self._seek()
                self._pictures = self._look_at_first(Path(name))
        except BaseException:
            self.close()
            raise

    @property
    def skipped(self) -> int:
        """See :class:`~sfumato.stream.media.source.Source`."""
        return self._decoder.skipped

    def frames(self) -> Iterator[Frame]:
        """See :class:`~sfumato.stream.media.source.Source`."""
        self._riders.keep = False
        with reading(self.name):
            while (read := self._read()) is not None:
                yield self._frame(*read)
            self.trailing_packets = tuple(self._riders.load())
            self._sum_up()

    def hand_packets_to(self, take: Callable[[Load], None]) -> None:
        """See :class:`~sfumato.stream.media.source.Source`."""
        self._riders.take = take

    def close(self) -> None:
        """See :class:`~sfumato.stream.media.source.Source`."""
        if self._busy.acquire(blocking=False):
            self._container.close()
            self._busy.release()
        # Else another thread hangs in a read: closing under its feet would crash the process.

    def _read(self) -> tuple[VideoFrame, int] | None:
        with self._busy:
            return next(self._pictures, None)

    def _choose(self) -> None:
        self._video, self._notes = choose_video(self.name, self._container)
        self._side = side_streams(self._container, self._video)
        context = self._video.codec_context
        context.thread_type = "AUTO"
        large = context.width * context.height >= LARGE_PX
        context.thread_count = 1 if large else self._decoder_threads
        if self._strict:
            context.options = {"err_detect": "explode"}
        self._time_base = time_base_of(self._video)
        rate = self._video.average_rate or self._video.guessed_rate
        self._rate = Fraction(rate) if rate else None
        self._clock = Clock(self._time_base, self._rate)
        self._decoder = Decoder(
            self.name,
            self._container,
            self._video,
            self._side,
            strict=self._strict,
            beside=self._riders.add,
            covers=self._covers,
        )

    def _seek(self) -> None:
        """Go to the last keyframe before the wanted part."""
        self._cut = self._riders.cut = cut_of(self._container, self._video, *self._wish)
        start_s = self._cut.start_s
        self._sought = False
        if start_s is not None and self._video.start_time is not None and self._can_seek():
            self._sought = True  # what fails may have moved on, too
            with suppress(FFmpegError, OSError, OverflowError):
                self._container.seek(int(start_s / self._time_base), stream=self._video)

    def _can_seek(self) -> bool:
        """Whether it is worth trying. In a pipe FFmpeg says yes and reads on to somewhere: there,
        what comes before the part has to be read and dropped."""
        place = self._place
        return isinstance(place, str) and ("://" in place or Path(place).is_file())

    def _open_again(self) -> None:
        """Go back to the beginning, at addresses that cannot seek too."""
        self._container.close()
        self._container = _open(self._place, self.name)
        self._riders.clear()
        self._choose()

    def _look_at_first(self, path: Path) -> Iterator[tuple[VideoFrame, int]]:
        """Learn from the first picture what the container does not say."""
        self._riders.keep = not path.is_file()
        pictures = self._wanted()
        first = next(pictures, None)
        if first is None:
            raise SourceError(f"{self.name} holds no picture{self._why_empty()}")
        picture, pts = first
        if self._riders.dropped:  # read again once there is a sink to take what comes before
            self._open_again()
            self._seek()
            self._cut.begin_at(pts * self._time_base)
            pictures = self._wanted()
        else:
            pictures = chain([first], pictures)
        refuse_colour(self.name, picture)
        self._normal = Normalizer(picture)
        self.info = self._describe(picture)
        self.carried = self._carry(picture, path if path.is_file() else None)
        return pictures

    def _describe(self, picture: VideoFrame) -> VideoInfo:
        return VideoInfo(
            width_px=picture.width,
            height_px=picture.height,
            pixels=self._normal.pixels,
            frame_rate=self._rate,
            time_base=self._time_base,
            frames_estimate=frames_in(self._container, self._video, self._cut, self._rate),
            guessed_colour=self._normal.guessed,
            notes=(*self._notes, *self._normal.notes),
            decoder_threads=self._video.codec_context.thread_count,
        )

    def _carry(self, picture: VideoFrame, path: Path | None) -> Carried:
        aspect = self._video.sample_aspect_ratio
        return Carried(
            path=path,
            tags=self._normal.tags,
            rgb=self._normal.rgb,
            display_matrix=display_matrix(picture),
            sample_aspect=Fraction(aspect) if aspect and aspect != 1 else None,
            side_streams=self._side,
            covers=self._covers,
            metadata=dict(self._container.metadata),
            stream_metadata=dict(self._video.metadata),
            chapters=chapters_in(self._container, self._cut),
        )

    def _why_empty(self) -> str:
        if self.skipped:
            return f" that can be decoded ({count(self.skipped, 'damaged packet')})"
        return "" if self._cut == Cut() else " in the wanted part; check --start and --duration"

    def _wanted(self) -> Iterator[tuple[VideoFrame, int]]:
        """The pictures of the cut, each with its timestamp on the source's clock."""
        begun = False
        for picture in self._from_keyframe():
            pts = self._clock.stamp(picture.pts if picture.pts is not None else picture.dts)
            time_s = pts * self._time_base
            if self._cut.is_before(time_s):
                continue
            if self._cut.end_s is not None and time_s >= self._cut.end_s:
                packets = self._decoder.packets()
                for packet in rest_beside(packets, self._side, self._cut.end_s):
                    self._riders.add(packet)
                return
            if not begun:
                self._cut.begin_at(time_s)
                begun = True
            yield picture, pts

    def _from_keyframe(self) -> Iterator[VideoFrame]:
        """All pictures from the seek on; from the beginning if the seek went too far."""
        pictures = self._decoder.pictures()
        start_s = self._cut.start_s
        if start_s is None or not self._sought:
            return pictures
        first = next(pictures, None)
        if first is not None and first.pts is not None and first.pts * self._time_base <= start_s:
            return chain([first], pictures)
        self._open_again()
        return self._decoder.pictures()

    def _frame(self, picture: VideoFrame, pts: int) -> Frame:
        if self._delivered in LOOK_FOR_CAPTIONS:
            self._captions |= has_captions(picture)
        self._delivered += 1
        planes, owner = self._normal.planes(picture)
        return Frame(
            planes=planes,
            pixels=self._normal.pixels,
            pts=pts - round(self._cut.shift_s / self._time_base),
            time_base=self._time_base,
            duration=picture.duration or 0,
            keep=owner,
            side_packets=self._riders.load(),
        )

    def _sum_up(self) -> None:
        """Say at the end what went wrong on the way."""
        if self.skipped:
            self.warnings.append(f"damaged packets or pictures skipped: {self.skipped}")
        if self._cut_off():
            self.warnings.append("the last picture was cut off and is left out")
        if self._decoder.gave_up:
            self.warnings.append("the end of the file is damaged beyond reading")
        if self._clock.repaired:
            self.warnings.append(
                f"timestamps that did not rise and were moved: {self._clock.repaired}"
            )
        if seams := self._decoder.timeline.seams:
            self.warnings.append(
                f"recordings were joined: times run on across {count(seams, 'seam')}"
            )
        self.warnings += self._normal.warnings()
        if self._captions:
            self.warnings.append("closed captions inside the picture are not copied")
        promised = self._video.frames
        if self._cut == Cut() and self._decoder.packets_read < promised:
            self.warnings.append(
                f"the file ends early, after {self._decoder.packets_read} of {promised} pictures"
            )

    def _cut_off(self) -> bool:
        """Whether the last picture was not whole. Raises SourceError where that is an error."""
        end_bytes = self._decoder.end_bytes
        size_bytes = self._container.size if self._piped is None else self._piped.size_bytes
        if end_bytes is None or not is_cut_off(self._container, size_bytes, end_bytes):
            return False
        if self._strict:
            raise SourceError(
                f"{self.name} ends in mid-picture; leave out --strict to do without that picture"
            )
        return True


def _open(source: str | StandardInput, label: str) -> InputContainer:
    """Open a container; addresses get a timeout, files are spared its cost."""
    remote = isinstance(source, str) and "://" in source
    timeout = (OPEN_TIMEOUT_S, READ_TIMEOUT_S) if remote else None
    place = local(source) if isinstance(source, str) and not remote else source
    with reading(label):
        return av.open(place, "r", metadata_errors="replace", timeout=timeout)
