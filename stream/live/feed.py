"""The pictures of one opened source, as frames that know when they were taken."""

from __future__ import annotations

import time
from collections.abc import Iterator
from fractions import Fraction
from threading import Event

from av.container import InputContainer
from av.video.frame import VideoFrame

from sfumato.kernels.formats import PixelFormat
from sfumato.stream.frame import Frame, Plane, VideoInfo
from sfumato.stream.live.clock import ArrivalClock, PacedClock
from sfumato.stream.live.inputs import Input
from sfumato.stream.media.colour import ColourTags, is_full_range, refuse_colour
from sfumato.stream.media.decode import Decoder
from sfumato.stream.media.errors import reading
from sfumato.stream.media.intake import is_cut_off
from sfumato.stream.media.normal import Normalizer
from sfumato.stream.media.side_data import display_matrix
from sfumato.stream.media.streams import choose_video
from sfumato.stream.media.turn import Turn

MICROSECOND = Fraction(1, 1_000_000)

FRESH_S = 5.0
"""A camera's own time stamp that is older is on another clock."""


class Feed:
    """Decodes one container until it ends. Used from one thread; who opens it closes it."""

    def __init__(self, source: Input, container: InputContainer, stop: Event) -> None:
        """Raises :class:`SourceError` where there is no video in it."""
        self._source, self._container, self._stop = source, container, stop
        with reading(source.name):
            self._video, self.notes = choose_video(source.name, container)
            context = self._video.codec_context
            context.thread_type = "SLICE"  # threads by frame hold back a picture each
            self._decoder = Decoder(source.name, container, self._video, (), strict=False)
            rate = self._video.average_rate or self._video.guessed_rate
        self._rate = Fraction(rate) if rate else None  # `info` is asked for by other threads, later
        self._normal: Normalizer | None = None
        self._turn: Turn | None = None
        self._kind: tuple[str, int, int, int, bool] | None = None
        self._paced = PacedClock() if source.paced else None
        self._arrivals = ArrivalClock()
        self.has_sound = bool(container.streams.audio)
        self._reading_s = 0.0
        self._delivered = 0
        self.cut_off = False
        """The last picture was not whole; known at the end."""

    @property
    def info(self) -> VideoInfo | None:
        """What is known since the first picture."""
        normal = self._normal
        if normal is None:
            return None
        width_px, height_px = normal.size_px
        if self._turn is not None:
            width_px, height_px = self._turn.size(width_px, height_px)
        return VideoInfo(
            width_px,
            height_px,
            self._pixels(normal),
            frame_rate=self._rate,
            time_base=MICROSECOND,
            guessed_colour=normal.guessed,
            notes=(*self.notes, *normal.notes),
        )

    @property
    def tags(self) -> ColourTags:
        """How the pictures' colours are tagged."""
        return ColourTags() if self._normal is None else self._normal.tags

    @property
    def decode_ms(self) -> float:
        """Milliseconds that reading and decoding a picture takes; waiting for it is in it."""
        return 1e3 * self._reading_s / max(1, self._delivered)

    @property
    def damaged(self) -> int:
        """Packets and pictures that were left out."""
        return self._decoder.skipped

    @property
    def moved(self) -> int:
        """How often reading fell behind a recording's own pace."""
        return 0 if self._paced is None else self._paced.moved

    @property
    def hurried(self) -> bool:
        """Whether a recording came through a pipe as fast as it could be read."""
        return self._source.kind == "pipe" and self._arrivals.hurried

    def frames(self) -> Iterator[tuple[Frame, float]]:
        """Each picture and when it was taken, in seconds of ``time.monotonic``.

        Waits until a picture is due where the source is paced. Ends when the source does, or soon
        after ``stop`` is set. Raises :class:`SourceError`.
        """
        begun_s = time.monotonic()
        for picture in self._pictures():
            now_s = time.monotonic()
            if self._paced is None:
                captured_s = self._captured_s(picture, now_s)
            else:
                self._reading_s += now_s - begun_s
                captured_s = self._paced.due_s(self._time_s(picture), now_s)
                self._stop.wait(max(0.0, captured_s - now_s))
            if self._stop.is_set():
                return
            self._delivered += 1
            yield self._frame(picture), captured_s
            begun_s = time.monotonic()
            if self._paced is not None and self._delivered == 1:  # nobody waits with later ones
                self._paced.pause(begun_s - captured_s)
        self.cut_off = self._ends_in_mid_picture()

    def close(self) -> None:
        """Let go of the source; only once :meth:`frames` has ended."""
        self._container.close()

    def _pictures(self) -> Iterator[VideoFrame]:
        with reading(self._source.name):
            yield from self._decoder.pictures()

    def _ends_in_mid_picture(self) -> bool:
        end_bytes, read_bytes = self._decoder.end_bytes, self._source.read_bytes
        size_bytes = self._container.size if read_bytes is None else read_bytes()
        return end_bytes is not None and is_cut_off(self._container, size_bytes, end_bytes)

    def _captured_s(self, picture: VideoFrame, now_s: float) -> float:
        time_s = self._time_s(picture)
        if self._source.kind == "camera" and 0 <= now_s - time_s < FRESH_S:
            return time_s  # the kernel's own stamp, on this very clock
        return self._arrivals.captured_s(time_s, now_s)

    def _time_s(self, picture: VideoFrame) -> float:
        stamp = picture.pts if picture.pts is not None else picture.dts
        if stamp is None:
            rate = self._video.average_rate or Fraction(25)
            return self._delivered / float(rate)
        return float(stamp * Fraction(self._video.time_base or MICROSECOND))

    def _frame(self, picture: VideoFrame) -> Frame:
        normal = self._normal_for(picture)
        planes, owner = normal.planes(picture)
        if self._turn is not None:
            planes = _upright(self._turn, planes, normal.pixels)
        pts = round(self._time_s(picture) / MICROSECOND)
        return Frame(planes, self._pixels(normal), pts, MICROSECOND, keep=owner)

    def _normal_for(self, picture: VideoFrame) -> Normalizer:
        """Pictures may change size and format on the way: adaptive streams do that."""
        kind = (
            picture.format.name,
            picture.width,
            picture.height,
            picture.colorspace,
            is_full_range(picture),
        )
        if self._normal is None or kind != self._kind:
            refuse_colour(self._source.name, picture)
            self._normal, self._kind = Normalizer(picture), kind
            matrix = display_matrix(picture)
            self._turn = Turn(matrix) if matrix else None
        return self._normal

    def _pixels(self, normal: Normalizer) -> PixelFormat:
        return normal.pixels if self._turn is None else self._turn.pixels(normal.pixels)


def _upright(turn: Turn, planes: tuple[Plane, ...], pixels: PixelFormat) -> tuple[Plane, ...]:
    return tuple(plane.copy(order="C") for plane in turn.planes(planes, pixels))
