"""Turning the pixels of a picture, for files that cannot tell a player to do it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfumato.kernels.formats import PixelFormat
from sfumato.stream.frame import Plane

ONE = 1 << 16
"""1.0 in a display matrix."""


class Turn:
    """One of the eight ways in which a rectangle can lie, from a display matrix.

    FFmpeg's matrix (a b u, c d v, x y w) sends a pixel at column p and row q to column a p + c q
    and row b p + d q; angles between quarter turns are rounded to the nearest.
    """

    def __init__(self, display_matrix: tuple[int, ...]) -> None:
        a, b, _, c, d = display_matrix[:5]
        self.transposes = abs(b) + abs(c) > abs(a) + abs(d)
        """Width and height change places."""
        self._mirror_columns = (c if self.transposes else a) < 0
        self._mirror_rows = (b if self.transposes else d) < 0

    def size(self, width: int, height: int) -> tuple[int, int]:
        """(width, height) after the turn."""
        return (height, width) if self.transposes else (width, height)

    def pixels(self, pixels: PixelFormat) -> PixelFormat:
        """The format after the turn: 4:2:2 halved in rows is nothing we have, so 4:4:4."""
        if self.transposes and pixels.chroma == "422":
            return replace(pixels, chroma="444")
        return pixels

    def planes(self, planes: tuple[Plane, ...], pixels: PixelFormat) -> tuple[Plane, ...]:
        """Turned views of the planes; copies of the chroma where 4:2:2 has to become 4:4:4."""
        if self.transposes and pixels.chroma == "422":
            width = planes[0].shape[1]
            planes = (planes[0], *(_doubled(plane, width) for plane in planes[1:]))
        return tuple(self._turned(plane) for plane in planes)

    def _turned(self, plane: Plane) -> Plane:
        turned: Plane = plane.T if self.transposes else plane
        turned = turned[:, ::-1] if self._mirror_columns else turned
        return turned[::-1] if self._mirror_rows else turned


def _doubled(plane: Plane, width: int) -> Plane:
    doubled: Plane = np.repeat(plane, 2, axis=1)  # type: ignore[assignment]
    return doubled[:, :width]
