"""Plane buffers of painted frames, allocated once and used again."""

from __future__ import annotations

from threading import Lock
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.formats import PixelFormat
from sfumato.stream.frame import Frame, Plane

Code = TypeVar("Code", np.uint8, np.uint16)


class Sums:
    """Integer accumulators for feathered tiles, one per plane, and the lock that guards them."""

    def __init__(self, shapes: list[tuple[int, int]]) -> None:
        self.planes: tuple[NDArray[np.uint32], ...] = tuple(np.zeros(s, np.uint32) for s in shapes)
        self.lock = Lock()


def new_planes(width_px: int, height_px: int, pixels: PixelFormat) -> tuple[Plane, ...]:
    """Planes of a frame, one behind the other in one piece of memory, as encoders like them."""
    shapes = pixels.plane_shapes(width_px, height_px)
    samples = sum(rows * columns for rows, columns in shapes)
    if pixels.bits == 8:
        return _parts(np.empty(samples, np.uint8), shapes)
    return _parts(np.empty(samples, np.uint16), shapes)


def _parts(memory: NDArray[Code], shapes: list[tuple[int, int]]) -> tuple[NDArray[Code], ...]:
    parts, start = [], 0
    for rows, columns in shapes:
        stop = start + rows * columns
        parts.append(memory[start:stop].reshape(rows, columns))
        start = stop
    return tuple(parts)


class PlanePool:
    """Hands out planes of one size and format. Used from one thread only."""

    def __init__(self, width_px: int, height_px: int, pixels: PixelFormat) -> None:
        self.pixels = pixels
        self.size_px = (width_px, height_px)
        self._shapes = pixels.plane_shapes(width_px, height_px)
        self._free: list[tuple[Plane, ...]] = []
        self._free_sums: list[Sums] = []

    def acquire(self) -> tuple[Plane, ...]:
        """Planes with whatever they held before."""
        return self._free.pop() if self._free else new_planes(*self.size_px, self.pixels)

    def release(self, planes: tuple[Plane, ...]) -> None:
        """Take planes back; the caller no longer uses them."""
        self._free.append(planes)

    def sums(self) -> Sums:
        """Accumulators, all zero."""
        if not self._free_sums:
            return Sums(self._shapes)
        sums = self._free_sums.pop()
        for plane in sums.planes:
            plane.fill(0)
        return sums

    def release_sums(self, sums: Sums) -> None:
        """Take accumulators back."""
        self._free_sums.append(sums)

    def lease(self) -> Lease:
        """Planes that may be shared."""
        return Lease(self)


class Lease:
    """Planes of a pool with several users; the last one to release them gives them back."""

    def __init__(self, pool: PlanePool) -> None:
        self.planes = pool.acquire()
        self._pool = pool
        self._users = 1

    def share(self) -> Self:
        """One more user."""
        self._users += 1
        return self

    def release(self) -> None:
        """One user less."""
        self._users -= 1
        if self._users == 0:
            self._pool.release(self.planes)


def share(frame: Frame) -> Frame:
    """``frame`` with one more user of its planes, where they are leased."""
    if isinstance(frame.keep, Lease):
        frame.keep.share()
    return frame


def release(frame: Frame) -> None:
    """One user less of the planes of ``frame``, where they are leased."""
    if isinstance(frame.keep, Lease):
        frame.keep.release()
