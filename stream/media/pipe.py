"""Frames to standard output as YUV4MPEG2, and to nowhere."""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import BinaryIO

from sfumato.kernels.formats import PixelFormat
from sfumato.stream.errors import SinkError
from sfumato.stream.frame import Frame
from sfumato.stream.media.errors import writing
from sfumato.stream.media.sink import Sink, check_frame, painted_pixels
from sfumato.stream.media.source import Source
from sfumato.stream.media.turn import Turn

CHROMA_WORDS = {
    ("420", 8): "420jpeg",
    ("422", 8): "422",
    ("444", 8): "444",
    ("420", 10): "420p10",
    ("422", 10): "422p10",
    ("444", 10): "444p10",
}
"""The C parameter of the stream header (as FFmpeg's yuv4mpegenc.c and mjpegtools have it)."""


class NullSink(Sink):
    """Counts frames and drops them; see :class:`~sfumato.stream.media.sink.Sink`."""

    def __init__(self, pixels: PixelFormat, size_px: tuple[int, int]) -> None:
        self.pixels = pixels
        self.size_px = size_px
        self.frames_written = 0
        self.warnings: list[str] = []

    def write(self, frame: Frame) -> None:
        """See :class:`~sfumato.stream.media.sink.Sink`."""
        check_frame(frame, self.pixels, self.size_px)
        self.frames_written += 1

    def close(self) -> None:
        """See :class:`~sfumato.stream.media.sink.Sink`."""

    def abort(self) -> None:
        """See :class:`~sfumato.stream.media.sink.Sink`."""


class Y4mSink(NullSink):
    """Uncompressed frames for the next program in a pipe. It carries pictures and nothing else."""

    def __init__(self, like: Source, size_px: tuple[int, int], out: BinaryIO | None = None) -> None:
        super().__init__(painted_pixels(like.info.pixels), size_px)
        if out is None and sys.stdout is None:
            raise SinkError("standard output is closed; name a file instead of '-'")
        self._out = out or sys.stdout.buffer
        matrix = like.carried.display_matrix
        self._turn = Turn(matrix) if matrix else None
        self._rate = like.info.frame_rate or Fraction(25)
        self._first_s: Fraction | None = None
        self._uneven = False
        if like.carried.side_streams:
            self.warnings.append("a y4m pipe carries the picture only: no other stream is copied")
        with writing("standard output"):
            self._out.write(self._header(like))

    def write(self, frame: Frame) -> None:
        """See :class:`~sfumato.stream.media.sink.Sink`."""
        check_frame(frame, self.pixels, self.size_px)
        planes = (
            frame.planes if self._turn is None else self._turn.planes(frame.planes, self.pixels)
        )
        self._watch_time(frame)
        with writing("standard output"):
            self._out.write(b"FRAME\n")
            for plane in planes:
                self._out.write(plane.tobytes())
        self.frames_written += 1

    def close(self) -> None:
        """See :class:`~sfumato.stream.media.sink.Sink`."""
        with writing("standard output"):
            self._out.flush()
        if self.frames_written == 0:
            raise SinkError("standard output would be empty: no frame was written")
        if self._uneven:
            self.warnings.append("y4m has no timestamps: uneven frame times became even ones")
            self._uneven = False

    def _header(self, like: Source) -> bytes:
        width, height = self.size_px
        pixels = self.pixels
        aspect = like.carried.sample_aspect or Fraction(1)
        if self._turn is not None:
            width, height = self._turn.size(width, height)
            pixels = self._turn.pixels(pixels)
            aspect = 1 / aspect if self._turn.transposes else aspect
        range_word = "FULL" if pixels.full_range else "LIMITED"
        return (
            f"YUV4MPEG2 W{width} H{height} F{self._rate.numerator}:{self._rate.denominator} Ip "
            f"A{aspect.numerator}:{aspect.denominator} C{CHROMA_WORDS[pixels.chroma, pixels.bits]} "
            f"XCOLORRANGE={range_word}\n"
        ).encode()

    def _watch_time(self, frame: Frame) -> None:
        """Notice frames that are more than half a frame off an even beat."""
        time_s = frame.pts * frame.time_base
        if self._first_s is None:
            self._first_s = time_s
        due_s = self._first_s + self.frames_written / self._rate
        self._uneven |= abs(time_s - due_s) * self._rate > Fraction(1, 2)
