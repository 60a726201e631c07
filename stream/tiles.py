"""Cut a frame into overlapping tiles of one shape: integers only.

An axis is planned once and used twice. Tiles carry a halo as wide as the network sees, so two
neighbours agree exactly where they overlap and each simply gives its own pixels. With less overlap
than that they differ, and are feathered over all of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.stream.errors import SettingsError

TILE_PX = 64
"""Tile widths and heights are multiples of this, save where one tile covers the axis: it ends with
the frame and its halo, or small frames would be dearer per pixel than large ones."""
UNIT = 256
"""Feather weights are integers that sum to this at every pixel of an axis."""


@dataclass(frozen=True, slots=True)
class Span:
    """One tile along one axis, in pixels of the frame."""

    origin: int
    """Where the tile begins; negative where its halo reaches past the frame."""
    start: int
    """First pixel this tile gives."""
    stop: int
    """One past the last pixel it gives."""
    weights: NDArray[np.uint16] | None = field(default=None, compare=False)
    """Feather weights of the pixels it gives; None where it gives them alone."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A rectangle of the frame: one span per axis."""

    x: Span
    y: Span


def align_up(value: int, multiple: int) -> int:
    """The smallest multiple of ``multiple`` that is at least ``value``."""
    return -(-value // multiple) * multiple


def whole_axis(length: int, radius: int, multiple: int) -> int:
    """The tile that covers ``length`` pixels and their halo, a multiple of ``multiple``."""
    even = even_multiple(multiple)
    return align_up(length + 2 * align_up(radius, even), even)


def even_multiple(multiple: int) -> int:
    """The least even multiple of ``multiple``: chroma comes in pairs."""
    return multiple if multiple % 2 == 0 else 2 * multiple


def plan_axis(
    length: int, tile: int, radius: int, overlap: int, multiple: int, trim: int = 0
) -> list[Span]:
    """Cover ``length`` pixels with tiles of ``tile`` pixels that share ``overlap`` with the next.

    ``radius`` is the receptive field's; ``overlap`` of twice that, made even, makes the result exact. Origins
    are even multiples of ``multiple``. ``trim``: what the network takes off a tile's ends, and so
    no tile gives. Raises :class:`SettingsError` for a tile that would be all halo, and an overlap
    that would leave gaps.
    """
    multiple = even_multiple(multiple)
    margin = align_up(radius, multiple)  # at the frame's own edges, whatever the overlap
    overlap, trim = align_up(overlap, multiple), align_up(trim, multiple)
    if overlap < 2 * trim:
        raise SettingsError(
            f"--overlap {overlap} leaves gaps, as this style's network takes {trim} pixels off each "
            f"side of a tile: use at least {2 * trim}, or leave it out"
        )
    step = (tile - overlap) // multiple * multiple
    if step < max(multiple, overlap) and length + 2 * margin > tile:
        raise SettingsError(
            f"--tile {tile} leaves no room between overlaps of {overlap} pixels: "
            f"use at least {align_up(2 * overlap + multiple, TILE_PX)}"
        )
    origins = [-margin]
    while origins[-1] + tile - margin < length and origins[-1] + step + trim < length:
        origins.append(origins[-1] + step)
    half = align_up(overlap // 2, multiple)
    if overlap >= 2 * margin:  # each gives its own part, split in the middle of the overlap
        cuts = [0, *(origin + half for origin in origins[1:]), length]
        return [
            Span(origin, start, stop)
            for origin, (start, stop) in zip(origins, pairwise(cuts), strict=True)
        ]
    return _feathered(origins, length, tile, overlap, trim)


def _feathered(origins: list[int], length: int, tile: int, overlap: int, trim: int) -> list[Span]:
    spans = []
    overlap -= 2 * trim
    for i, origin in enumerate(origins):
        start = 0 if i == 0 else origin + trim
        stop = length if i == len(origins) - 1 else origin + tile - trim
        weights = np.full(stop - start, UNIT, np.uint16)
        if i > 0:
            weights[:overlap] = ramp(overlap)[: len(weights)]
        if i < len(origins) - 1:
            weights[len(weights) - overlap :] = UNIT - ramp(overlap)
        spans.append(Span(origin, start, min(stop, length), weights[: min(stop, length) - start]))
    return spans


def ramp(overlap: int) -> NDArray[np.uint16]:
    """Rising feather weights, uint16 (overlap,), equal for both pixels of a chroma pair."""
    pairs = np.arange(overlap // 2)
    return np.repeat((2 * pairs + 1) * UNIT // overlap, 2).astype(np.uint16)


def plan_tiles(
    width_px: int,
    height_px: int,
    tile_px: tuple[int, int],
    *,
    radius_px: int,
    overlap_px: int,
    multiple: int,
    trim_px: int = 0,
) -> list[Tile]:
    """All tiles of a frame, row by row; see :func:`plan_axis`."""
    xs, ys = (
        plan_axis(length, tile, radius_px, overlap_px, multiple, trim_px)
        for length, tile in zip((width_px, height_px), tile_px, strict=True)
    )
    return [Tile(x, y) for y in ys for x in xs]
