"""The coded video stream of an output file: settings, colour tags, times, pictures in, packets out."""

from __future__ import annotations

import os
from fractions import Fraction
from typing import Any

from av import Packet
from av.container import OutputContainer
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from sfumato.kernels.formats import PixelFormat
from sfumato.stream.errors import SinkError
from sfumato.stream.frame import Frame
from sfumato.stream.media.colour import FULL, LIMITED, MATRIX_CODES, ColourTags, tags_for
from sfumato.stream.media.encoders import Choice, home_of
from sfumato.stream.media.palette import Palette
from sfumato.stream.media.planes import PLANAR, Converter, frame_of, frame_on
from sfumato.stream.media.source import Source
from sfumato.stream.media.streams import useful_metadata
from sfumato.stream.media.turn import Turn

TURNING_FORMATS = {"mp4", "mov", "ipod", "matroska", "webm"}
"""Containers that can tell a player to turn the picture."""

RATE_MAX = 1000
"""Rates above are an invention of the container; encoders plan with 25 instead."""

MPEG4_TICKS_MAX = 65535
"""MPEG-4 part 2 stores its clock in 16 bits."""


SLICED_FROM_PX = 64
"""FFV1 frames with a shorter side than this are coded in one piece…"""

ONE_SLICE_PX = (352, 288)
"""…unless they are wider or higher than this: then FFmpeg wants four slices or more."""

STRIP_PX, STRIP_LENGTH_PX = 32, 64
"""SVT-AV1 (4.1) never returns from strips narrower than the one and longer than the other."""


class VideoCoder:
    """Adds a video stream to a container and encodes frames into packets for it."""

    def __init__(
        self,
        container: OutputContainer,
        suffix: str,
        like: Source,
        choice: Choice,
        pixels: PixelFormat,
        av_name: str,
        size_px: tuple[int, int],
        threads: int | None,
    ) -> None:
        self.first_s = self.last_s = Fraction(0)
        """Times of the first and the last frame, as the encoder's clock can tell them."""
        self.worst_s = Fraction(0)
        """How far a time had to be moved at most."""
        self._pixels = pixels
        self._av_name = av_name
        self._choice = choice
        self._size_px = size_px
        self._durations: dict[int, int] = {}
        self._last_tick: int | None = None
        self._palette: Palette | None = None
        self._convert = Converter()
        self._turn = None
        if like.carried.display_matrix and container.format.name not in TURNING_FORMATS:
            self._turn = Turn(like.carried.display_matrix)
        self._in_place = choice.encoder.copies and self._turn is None and av_name in PLANAR.values()
        """Frames need not be copied: the encoder does."""
        self._rate = _sane_rate(like.info.frame_rate)
        self.stream = self._add(container, suffix)
        self._set_up(container.format.name, like, threads)

    def encode(self, frame: Frame) -> list[Packet[Any]]:
        """Packets that are ready after this frame; encoders hold some back."""
        picture = self._picture(frame)
        self._stamp(picture, frame)
        return self._timed(self.stream.encode(picture))

    def flush(self) -> list[Packet[Any]]:
        """The packets that the encoder held back."""
        return self._timed(self.stream.encode(None))

    @property
    def coded_size_px(self) -> tuple[int, int]:
        """(width, height) of the coded picture: turned where the file cannot say so, and even
        where the encoder cannot do without."""
        width, height = self._size_px
        chroma = self._pixels.chroma
        if self._turn is not None:
            width, height = self._turn.size(width, height)
            chroma = self._turn.pixels(self._pixels).chroma
        if self._choice.encoder.even_sizes:
            width += width % 2 if chroma in ("420", "422") else 0
            height += height % 2 if chroma == "420" else 0
        return width, height

    def _add(self, container: OutputContainer, suffix: str) -> VideoStream:
        codec = self._choice.codec
        if codec == "libsvtav1":
            os.environ.setdefault("SVT_LOG", "0")  # it prints past FFmpeg's log
            _refuse_strip(self.coded_size_px)
        options = dict(self._choice.options)
        if codec == "ffv1" and _is_small(self._size_px):
            options["slices"] = "1"  # FFmpeg's default asks for more slices than such a frame holds
        try:
            stream = container.add_stream(codec, rate=self._rate, options=options)
        except ValueError:
            raise SinkError(
                f"{suffix} files cannot hold {codec}; {home_of(codec, suffix)}"
            ) from None
        if not isinstance(stream, VideoStream):
            raise SinkError(f"--codec {codec} is no video encoder")
        return stream

    def _set_up(self, format_name: str, like: Source, threads: int | None) -> None:
        stream, context = self.stream, self.stream.codec_context
        stream.width, stream.height = self.coded_size_px
        stream.pix_fmt = self._coded_format()
        self._time_base = self._choose_clock(format_name, like.info.time_base)
        context.time_base = stream.time_base = self._time_base
        # PyAV's default makes x264 cut pictures into slices, which costs quality.
        context.thread_type = "AUTO"
        if threads is not None:
            context.thread_count = threads
        if self._choice.qscale is not None:
            context.qmin = context.qmax = self._choice.qscale
        if self._choice.codec == "libx265" and format_name in ("mp4", "mov"):
            context.codec_tag = "hvc1"  # QuickTime plays HEVC under this name only
        if self._av_name in PLANAR.values():
            self._tag(context, like.carried.tags)
        self._orient(like)
        stream.metadata.update(useful_metadata(like.carried.stream_metadata))

    def _coded_format(self) -> str:
        if self._turn is None or self._av_name not in PLANAR.values():
            return self._av_name
        turned = self._turn.pixels(self._pixels)
        return PLANAR[turned.chroma, turned.bits]

    def _orient(self, like: Source) -> None:
        self.sample_aspect = like.carried.sample_aspect
        if self.sample_aspect is not None:
            if self._turn is not None and self._turn.transposes:
                self.sample_aspect = 1 / self.sample_aspect
            self.stream.codec_context.sample_aspect_ratio = self.sample_aspect
        if like.carried.display_matrix and self._turn is None:
            self.stream.set_display_matrix(like.carried.display_matrix)

    def _choose_clock(self, format_name: str, time_base: Fraction) -> Fraction:
        """The source's ticks, unless the file's own clock is the frame count or too coarse."""
        even = ("avi", "mpeg", "mpeg1video", "mpeg2video", "yuv4mpegpipe")
        if format_name in even or self._choice.codec in even:
            return 1 / self._rate
        if format_name == "gif":
            return Fraction(1, 100)
        if self._choice.codec == "mpeg4" and time_base.denominator > MPEG4_TICKS_MAX:
            return Fraction(1, 60000)
        return time_base

    def _tag(self, context: VideoCodecContext, tags: ColourTags) -> None:
        if MATRIX_CODES.get(tags.matrix) != self._pixels.matrix:
            tags = tags_for(self._pixels.matrix, self._size_px[1], full_range=False)
        context.colorspace = tags.matrix
        context.color_primaries = tags.primaries
        context.color_trc = tags.transfer
        context.color_range = FULL if self._pixels.full_range else LIMITED

    def _picture(self, frame: Frame) -> VideoFrame:
        planes, pixels = frame.planes, self._pixels
        if self._in_place and (picture := frame_on(planes, pixels)) is not None:
            return picture
        if self._turn is not None:
            planes, pixels = self._turn.planes(planes, pixels), self._turn.pixels(pixels)
        picture = frame_of(planes, pixels, self.coded_size_px)
        if self._av_name == "pal8":
            self._palette = self._palette or Palette(self.coded_size_px)
            return self._palette.reduce(self._convert.to_rgb(picture, pixels))
        if self._av_name not in PLANAR.values():
            return self._convert.to_rgb(picture, pixels, self._av_name)
        return picture

    def _stamp(self, picture: VideoFrame, frame: Frame) -> None:
        """Put the frame's time on the encoder's clock, where it has to rise."""
        time_s = frame.pts * frame.time_base
        tick = round(time_s / self._time_base)
        if self._last_tick is not None and tick <= self._last_tick:
            tick = self._last_tick + 1
        else:
            self.first_s = self.first_s if self._last_tick is not None else tick * self._time_base
        self._last_tick = tick
        self.last_s = tick * self._time_base
        self.worst_s = max(self.worst_s, abs(self.last_s - time_s))
        length_s = frame.duration * frame.time_base or 1 / self._rate
        picture.pts, picture.time_base = tick, self._time_base
        picture.duration = self._durations[tick] = max(1, round(length_s / self._time_base))

    def _timed(self, packets: list[Packet[Any]]) -> list[Packet[Any]]:
        """Give packets their frame's duration, which some encoders lose: a file whose last frame
        lasts no time is too short by one."""
        for packet in packets:
            duration = self._durations.pop(packet.pts, 0) if packet.pts is not None else 0
            packet.duration = packet.duration or duration
        return packets


def _is_small(size_px: tuple[int, int]) -> bool:
    """Whether FFV1 has to code frames of (width, height) in one piece."""
    width, height = size_px
    return min(size_px) < SLICED_FROM_PX and width <= ONE_SLICE_PX[0] and height <= ONE_SLICE_PX[1]


def _refuse_strip(size_px: tuple[int, int]) -> None:
    if min(size_px) < STRIP_PX and max(size_px) > STRIP_LENGTH_PX:
        width, height = size_px
        raise SinkError(
            f"libsvtav1 does not take {width}x{height} pictures; try another --codec, such as ffv1"
        )


def _sane_rate(rate: Fraction | None) -> Fraction:
    return rate if rate is not None and 0 < rate <= RATE_MAX else Fraction(25)
