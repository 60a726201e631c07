"""FFmpeg's frames as our planes, and back, copying only where the layout demands it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

import numpy as np
from av.video.format import VideoFormat
from av.video.frame import VideoFrame
from av.video.reformatter import Interpolation, VideoReformatter
from numpy.lib.stride_tricks import as_strided

from sfumato.kernels.formats import Matrix, PixelFormat
from sfumato.stream.frame import Plane
from sfumato.stream.media.colour import FULL, LIMITED, SWSCALE_CODES, is_full_range, is_rgb

Chroma = Literal["420", "422", "444", "grey"]

PLANAR: dict[tuple[Chroma, int], str] = {
    ("420", 8): "yuv420p",
    ("422", 8): "yuv422p",
    ("444", 8): "yuv444p",
    ("grey", 8): "gray",
    ("420", 10): "yuv420p10le",
    ("422", 10): "yuv422p10le",
    ("444", 10): "yuv444p10le",
    ("grey", 10): "gray10le",
}
"""FFmpeg's name of each of our layouts."""

SWSCALE_FLAGS = (
    Interpolation.BICUBIC
    | Interpolation.ACCURATE_RND
    | Interpolation.BITEXACT
    | Interpolation.FULL_CHR_H_INT
    | Interpolation.FULL_CHR_H_INP
)
"""Rounding is exact and chroma is never sampled by halves: quality before speed, once per frame."""

OPAQUE = 255
"""Alpha of a pixel that hides what is behind it."""

_DIRECT: dict[str, tuple[Chroma, int]] = {
    **{name: key for key, name in PLANAR.items()},
    "yuvj420p": ("420", 8),
    "yuvj422p": ("422", 8),
    "yuvj444p": ("444", 8),
    "nv12": ("420", 8),
    "nv21": ("420", 8),
    "nv16": ("422", 8),
    "nv24": ("444", 8),
    "p010le": ("420", 10),
    "p210le": ("422", 10),
}
_SEMI_PLANAR = {"nv12", "nv21", "nv16", "nv24", "p010le", "p210le"}
_HIGH_BITS = {"p010le": 6, "p210le": 6}


@dataclass(frozen=True, slots=True)
class Layout:
    """How frames of one FFmpeg format become ours."""

    chroma: Chroma
    bits: int
    direct: bool
    """The planes are used as they are; otherwise libswscale converts."""

    @property
    def av_name(self) -> str:
        """FFmpeg's format with these planes."""
        return PLANAR[self.chroma, self.bits]


def layout_of(frame: VideoFrame) -> Layout:
    """The nearest of our layouts that loses no chroma resolution, and no bits up to ten."""
    if (known := _DIRECT.get(frame.format.name)) is not None:
        return Layout(known[0], known[1], direct=True)
    components = VideoFormat(frame.format.name, 16, 16).components
    bits = 10 if max((part.bits for part in components), default=8) > 8 else 8
    if is_rgb(frame):
        return Layout("444", bits, direct=False)
    colours = [part for part in components if not part.is_alpha][1:]
    chroma = _nearest_chroma(16 // colours[0].width, 16 // colours[0].height) if colours else "grey"
    return Layout(chroma, bits, direct=False)


def planes_of(frame: VideoFrame) -> tuple[Plane, ...]:
    """Views of the Y, U and V samples of a frame whose layout is direct.

    The views belong to the decoder, which may still predict from them: read, don't write.
    P010 keeps its ten bits on top, so its planes are shifted copies.
    """
    name = frame.format.name
    views = _views(frame)
    if name in _SEMI_PLANAR:
        luma, pairs = views
        even, odd = pairs[:, 0::2], pairs[:, 1::2]
        views = [luma, odd, even] if name == "nv21" else [luma, even, odd]
    if shift := _HIGH_BITS.get(name):
        views = [np.right_shift(view, shift, dtype=np.uint16) for view in views]
    return tuple(views)


class Converter:
    """Conversions by libswscale, whose state is kept from frame to frame: it is large."""

    def __init__(self) -> None:
        self._scaler = VideoReformatter()
        self._to_rgb = VideoReformatter()

    def to_pixels(
        self, frame: VideoFrame, pixels: PixelFormat, size_px: tuple[int, int]
    ) -> VideoFrame:
        """The frame in another format, size, matrix or range."""
        rgb = is_rgb(frame)
        return self._scaler.reformat(
            frame,
            *size_px,
            format=PLANAR[pixels.chroma, pixels.bits],
            src_colorspace=None if rgb else _swscale_code(frame, pixels.matrix),
            dst_colorspace=SWSCALE_CODES[pixels.matrix],
            src_color_range=FULL if rgb or is_full_range(frame) else LIMITED,
            dst_color_range=FULL if pixels.full_range else LIMITED,
            interpolation=SWSCALE_FLAGS,
            threads=1,
        )

    def to_rgb(self, frame: VideoFrame, pixels: PixelFormat, name: str = "rgb24") -> VideoFrame:
        """One of our frames as RGB of the given FFmpeg format."""
        return self._to_rgb.reformat(
            frame,
            format=name,
            src_colorspace=SWSCALE_CODES[pixels.matrix],
            src_color_range=FULL if pixels.full_range else LIMITED,
            dst_color_range=FULL,
            interpolation=SWSCALE_FLAGS,
            threads=1,
        )

    def over_black(self, frame: VideoFrame) -> VideoFrame:
        """An RGB frame with its transparent parts painted over black."""
        rgba = self._to_rgb.reformat(frame, format="rgba", threads=1).to_ndarray()
        alpha = rgba[..., 3:].astype(np.uint16)
        if alpha.min() == OPAQUE:
            return frame
        rgb = ((rgba[..., :3] * alpha + OPAQUE // 2) // OPAQUE).astype(np.uint8)
        return VideoFrame.from_ndarray(rgb, format="rgb24")


def frame_of(
    planes: tuple[Plane, ...], pixels: PixelFormat, size_px: tuple[int, int]
) -> VideoFrame:
    """A new FFmpeg frame with copies of the planes.

    Args:
        planes: Y, U, V as :class:`~sfumato.stream.frame.Frame` has them.
        size_px: (width, height) of the new frame; columns and rows that the planes lack repeat
            the last one.
    """
    frame = VideoFrame(*size_px, PLANAR[pixels.chroma, pixels.bits])
    for rows, plane in zip(_views(frame), planes, strict=True):
        height, width = plane.shape
        rows[:height, :width] = plane
        rows[:height, width:] = rows[:height, width - 1 : width]
        rows[height:] = rows[height - 1]
    frame.color_range = FULL if pixels.full_range else LIMITED
    return frame


def frame_on(planes: tuple[Plane, ...], pixels: PixelFormat) -> VideoFrame | None:
    """An FFmpeg frame on the planes' own memory: for encoders that are done with it at once.

    None where the planes are not one piece of a kind that PyAV takes.
    """
    height, width = planes[0].shape
    if (pixels.chroma, pixels.bits) != ("420", 8) or width % 2 or height % 2:
        return None
    if not _in_one_piece(planes):
        return None
    luma = np.asarray(planes[0], np.uint8)  # which it is
    piece = as_strided(luma, (height * 3 // 2, width), writeable=False)
    frame = VideoFrame.from_numpy_buffer(piece, format="yuv420p")
    frame.color_range = FULL if pixels.full_range else LIMITED
    return frame


def has_alpha(frame: VideoFrame) -> bool:
    """Whether pixels of the frame may be transparent."""
    return frame.format.has_palette or any(part.is_alpha for part in frame.format.components)


def _in_one_piece(planes: tuple[Plane, ...]) -> bool:
    """Whether each plane begins in memory where the one before ends."""
    luma = planes[0]
    starts = accumulate((plane.nbytes for plane in planes), initial=luma.ctypes.data)
    return luma.base is not None and all(
        plane.base is luma.base and plane.flags.c_contiguous and plane.ctypes.data == start
        for plane, start in zip(planes, starts, strict=False)
    )


def _views(frame: VideoFrame) -> list[Plane]:
    """2-D views of the planes without their padding; semi-planar chroma has both in a row."""
    name = frame.format.name
    wide = _DIRECT[name][1] == 10
    views: list[Plane] = []
    for plane in frame.planes:
        data = memoryview(plane)
        samples = np.frombuffer(data, np.uint16) if wide else np.frombuffer(data, np.uint8)
        rows = samples.reshape(plane.height, abs(plane.line_size) // samples.itemsize)
        width = plane.width * (2 if views and name in _SEMI_PLANAR else 1)
        views.append((rows[::-1] if plane.line_size < 0 else rows)[:, :width])
    return views


def _nearest_chroma(across: int, down: int) -> Chroma:
    """Ours for chroma planes that are so many times smaller than luma."""
    if down > 1:
        return "420" if across > 1 else "444"
    return "422" if across > 1 else "444"


def _swscale_code(frame: VideoFrame, matrix: Matrix) -> int:
    """The frame's own matrix where libswscale knows it, else the one taken for it."""
    return {4: 4, 5: 5, 6: 5, 7: 7, 1: 1, 9: 9}.get(frame.colorspace, SWSCALE_CODES[matrix])
