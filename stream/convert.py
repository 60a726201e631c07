"""Between planes and RGB arrays, and between sizes: the kernels put to other uses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.crisp import crisp
from sfumato.kernels.formats import PixelFormat, TensorFormat
from sfumato.kernels.gather import Gather
from sfumato.kernels.scatter import Scatter
from sfumato.stream.buffers import PlanePool
from sfumato.stream.frame import Frame, Plane

RGB8 = TensorFormat()
"""Interleaved RGB codes: a picture is a tensor of one-pixel cells."""


class ToRgb:
    """Frames of one format → uint8 (height, width, 3) arrays of RGB codes 0…255."""

    def __init__(self, pixels: PixelFormat) -> None:
        self._gather = Gather(pixels, RGB8)

    def __call__(self, frame: Frame) -> NDArray[np.uint8]:
        """A new array each time: the caller may keep it."""
        rgb = np.empty((1, frame.height_px, frame.width_px, 3), np.uint8)
        self._gather(frame.planes, 0, 0, rgb)
        picture: NDArray[np.uint8] = rgb[0]
        return picture


class FromRgb:
    """uint8 (height, width, 3) arrays of RGB codes → planes of one format."""

    def __init__(self, pixels: PixelFormat) -> None:
        self._scatter = Scatter(pixels, RGB8)
        self._pixels = pixels

    def __call__(self, rgb: NDArray[np.uint8]) -> tuple[Plane, ...]:
        """New planes each time."""
        height_px, width_px, _ = rgb.shape
        planes = PlanePool(width_px, height_px, self._pixels).acquire()
        tensor = np.ascontiguousarray(rgb)[None]
        self._scatter(tensor, 0, 0, 0, 0, width_px, height_px, planes)
        return planes


class Recode:
    """Frames of one format → planes of another with the same matrix and range."""

    def __init__(self, source: PixelFormat, target: PixelFormat) -> None:
        tensor = TensorFormat(dtype="float32")
        self._gather = Gather(source, tensor)
        self._scatter = Scatter(target, tensor)
        self._target = target

    def __call__(self, frame: Frame) -> tuple[Plane, ...]:
        """New planes each time."""
        width_px, height_px = frame.width_px, frame.height_px
        rgb = np.empty((1, height_px, width_px, 3), np.float32)
        self._gather(frame.planes, 0, 0, rgb)
        planes = PlanePool(width_px, height_px, self._target).acquire()
        self._scatter(rgb, 0, 0, 0, 0, width_px, height_px, planes)
        return planes


def resize(planes: tuple[Plane, ...], into: tuple[Plane, ...]) -> None:
    """Fill ``into`` with ``planes`` brought to its size: area average down, bicubic up."""
    import cv2  # 40 MB that most jobs do not need

    for plane, target in zip(planes, into, strict=True):
        rows, columns = target.shape
        smaller = rows * columns < plane.size
        method = cv2.INTER_AREA if smaller else cv2.INTER_CUBIC
        target[...] = cv2.resize(np.ascontiguousarray(plane), (columns, rows), interpolation=method)


def enlarge(painting: Frame, into: tuple[Plane, ...]) -> None:
    """Fill ``into`` with a painting brought to its size, with edges that stay steep."""
    import cv2

    for plane, target in zip(painting.planes, into, strict=True):
        if plane.shape == target.shape:
            target[...] = plane
            continue
        rows, columns = target.shape
        grown = cv2.resize(np.ascontiguousarray(plane), (columns, rows))  # linear
        times = (target.size / plane.size) ** 0.5
        crisp(np.asarray(grown, plane.dtype), painting.pixels.bits, times, target)


class Enlarger:
    """Paintings at the size of a pool's planes. One that comes again is not enlarged again."""

    def __init__(self, pool: PlanePool) -> None:
        self._pool = pool
        self._planes: tuple[Plane, ...] = ()
        self._before: tuple[Plane, ...] = ()

    def __call__(self, painting: Frame) -> Frame:
        """``painting`` enlarged, in planes that hold until the next call."""
        again = self._before and all(map(np.array_equal, painting.planes, self._before))
        if not again:
            self._planes = self._planes or self._pool.acquire()
            enlarge(painting, self._planes)
            self._before = tuple(plane.copy() for plane in painting.planes)
        return replace(painting, planes=self._planes)
