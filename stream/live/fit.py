"""Frames of any size and format brought to the one that a sink was opened with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

from sfumato.kernels.formats import PixelFormat
from sfumato.stream.buffers import PlanePool
from sfumato.stream.convert import FromRgb, Recode, ToRgb, resize
from sfumato.stream.frame import Frame, Plane


class Fit:
    """Gives frames of one size and format. What fits already is passed on as it is."""

    def __init__(self, size_px: tuple[int, int], pixels: PixelFormat) -> None:
        self._size_px, self._pixels = size_px, pixels
        self._recode = cache(partial(_recoder, pixels))

    def __call__(self, frame: Frame) -> Frame:
        """The frame, or a new one."""
        if frame.pixels != self._pixels:
            planes = self._recode(frame.pixels)(frame)
            frame = replace(frame, planes=planes, pixels=self._pixels, keep=None)
        if (frame.width_px, frame.height_px) != self._size_px:
            planes = PlanePool(*self._size_px, self._pixels).acquire()
            resize(frame.planes, planes)
            frame = replace(frame, planes=planes, keep=None)
        return frame


def _recoder(ours: PixelFormat, theirs: PixelFormat) -> Callable[[Frame], tuple[Plane, ...]]:
    if (ours.matrix, ours.full_range) == (theirs.matrix, theirs.full_range):
        return Recode(theirs, ours)
    to_rgb, from_rgb = ToRgb(theirs), FromRgb(ours)
    return lambda frame: from_rgb(to_rgb(frame))


def even_420(frame: Frame) -> tuple[tuple[int, int], PixelFormat]:
    """The size and format that streams and cameras take: even, 8 bit, 4:2:0."""
    size_px = (max(2, frame.width_px & ~1), max(2, frame.height_px & ~1))
    return size_px, replace(frame.pixels, chroma="420", bits=8)
