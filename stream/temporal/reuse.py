"""Which parts of a frame to paint anew; everything else is copied from the painting before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.hold import BLOCK_PX
from sfumato.models.spec import StyleSpec, computed_px
from sfumato.stream.plan import Plan
from sfumato.stream.temporal.hold import Mask
from sfumato.stream.tiles import Span, Tile, align_up, even_multiple

TILE_COST_PX = 4_000
"""What starting a tile costs beside its pixels: about as much as painting so many."""

WORTH = 0.85
"""Patches are used where they cost less than this share of the plan's own tiles."""

MOST_CUTS = 5
"""How often a patch is cut in two, and its parts again: 32 patches at most."""

Rect = tuple[int, int, int, int]
"""left, top, right, bottom, the last two excluded; in pixels of luma unless said otherwise."""

Ints = NDArray[np.int64] | np.int64


def tile_cost_px(shape_px: tuple[int, int], trim_px: int) -> int:
    """What painting a tile costs, in pixels; ``trim_px`` is what the network takes off its sides."""
    return computed_px(*shape_px, trim_px) + TILE_COST_PX


class Reach:
    """How far a change in the source shows in the painting."""

    def __init__(
        self, plan: Plan, size_px: tuple[int, int], farthest_px: int, *, local: bool
    ) -> None:
        """``farthest_px``: how far a change shows, within cells that are painted as a whole;
        ``local`` False: it shows everywhere, as with norms over the whole frame."""
        self.plan, self.size_px, self.farthest_px = plan, size_px, farthest_px
        self._local = local

    def fresh(self, changed: Mask) -> Mask:
        """Blocks of the painting that a change in these blocks of the source may reach."""
        if not changed.any() or changed.all():
            return changed
        if not self._local:
            return np.ones_like(changed)
        if self.plan.exact:
            return _grown(changed, -(-self.farthest_px // BLOCK_PX))
        fresh = np.zeros_like(changed)
        for tile in self._feathered(changed):
            fresh[_blocks(*_given(tile))] = True
        return fresh

    def tiles(self, changed: Mask, fresh: Mask) -> tuple[Tile, ...]:
        """Tiles of the plan that give any ``fresh`` pixel."""
        if fresh.all():
            return self.plan.tiles
        if self.plan.exact or not changed.any():
            return tuple(tile for tile in self.plan.tiles if fresh[_blocks(*_given(tile))].any())
        touched = [_given(tile) for tile in self._feathered(changed)]
        return tuple(  # with all that are feathered into them, so that the sums are whole
            tile for tile in self.plan.tiles if any(_overlap(_given(tile), r) for r in touched)
        )

    def _feathered(self, changed: Mask) -> Iterator[Tile]:
        """Tiles whose window, and what is mirrored into it at the frame's edges, changed."""
        width_px, height_px = self.plan.tile_px
        for tile in self.plan.tiles:
            left, right = _window(tile.x.origin, width_px, self.size_px[0])
            top, bottom = _window(tile.y.origin, height_px, self.size_px[1])
            if changed[_blocks(left, top, right, bottom)].any():
                yield tile


def _window(origin: int, tile: int, length: int) -> tuple[int, int]:
    """The part of an axis that a tile reads."""
    stop = origin + tile
    mirrored = 2 * length - stop - 1  # the farthest pixel that shows again behind the frame's end
    return max(0, min(origin, mirrored)), min(length, max(stop, 1 - origin))


def _given(tile: Tile) -> Rect:
    return tile.x.start, tile.y.start, tile.x.stop, tile.y.stop


def _overlap(one: Rect, other: Rect) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _blocks(left: int, top: int, right: int, bottom: int) -> tuple[slice, slice]:
    """The blocks that a rectangle touches."""
    return (
        slice(top // BLOCK_PX, -(-bottom // BLOCK_PX)),
        slice(left // BLOCK_PX, -(-right // BLOCK_PX)),
    )


def _grown(mask: Mask, blocks: int) -> Mask:
    """``mask`` grown by so many blocks to all sides."""
    for axis in (0, 1):
        grown = mask.copy()
        for step in range(1, blocks + 1):
            ahead, behind = [slice(None)] * 2, [slice(None)] * 2
            ahead[axis], behind[axis] = slice(step, None), slice(None, -step)
            grown[tuple(ahead)] |= mask[tuple(behind)]
            grown[tuple(behind)] |= mask[tuple(ahead)]
        mask = grown
    return mask


def kept(tiles: Iterable[Tile], size_px: tuple[int, int]) -> Iterator[Rect]:
    """The rectangles of a frame that none of the ``tiles`` gives."""
    rects = [_given(tile) for tile in tiles]
    edges = sorted({0, size_px[1], *(r[1] for r in rects), *(r[3] for r in rects)})
    for top, bottom in pairwise(edges):
        left = 0
        for start, stop in sorted((r[0], r[2]) for r in rects if r[1] <= top and r[3] >= bottom):
            if start > left:
                yield left, top, start, bottom
            left = max(left, stop)
        if left < size_px[0]:
            yield left, top, size_px[0], bottom


class Patches:
    """Tiles that fit what is fresh, each with a shape of its own. For plans that are exact."""

    def __init__(self, size_px: tuple[int, int], spec: StyleSpec, most_px: int) -> None:
        """``most_px``: pixels of the largest tile that the network's buffers hold."""
        self._size_px, self._most_px, self._trim_px = size_px, most_px, spec.trim_px
        self._even = even_multiple(spec.multiple)
        self._margin = align_up(spec.radius_px, self._even)
        self._cut_px = TILE_COST_PX + computed_px(2 * self._margin, 2 * self._margin, spec.trim_px)
        """What a cut costs at least: one more tile, and the halo at its corners."""

    def over(self, fresh: Mask) -> list[Tile]:
        """Tiles that give every fresh pixel; none where some part of it does not fit any."""
        rects = self._cut(fresh, 0, 0, MOST_CUTS)
        tiles = [Tile(self._span(0, x, x2), self._span(1, y, y2)) for x, y, x2, y2 in rects]
        fits = all(prod(self.window_px(tile)) <= self._most_px for tile in tiles)
        return tiles if fits else []

    def window_px(self, tile: Tile) -> tuple[int, int]:
        """Width and height of what the network sees of one of these tiles."""
        width, height = (
            align_up(span.stop + self._margin, self._even) - span.origin
            for span in (tile.x, tile.y)
        )
        return width, height

    def _span(self, axis: int, first: int, last: int) -> Span:
        start = first * BLOCK_PX // self._even * self._even
        stop = min(align_up(last * BLOCK_PX, self._even), self._size_px[axis])
        return Span(start - self._margin, start, stop)

    def _cost_px(self, columns: Ints, rows: Ints) -> NDArray[np.float64]:
        """What patches over so many blocks cost, in pixels painted."""
        halo, trim = 2 * self._margin, self._trim_px
        width, height = (np.asarray(side * BLOCK_PX + halo, np.float64) for side in (columns, rows))
        area = width * height
        too_large = area > self._most_px  # by its square, so that it is halved first
        return np.where(too_large, area * area, computed_px(width, height, trim)) + TILE_COST_PX

    def _cut(self, fresh: Mask, left: int, top: int, cuts: int) -> Iterator[Rect]:
        """Rectangles of blocks around all that is fresh, cut in two wherever that is cheaper."""
        rows, columns = np.flatnonzero(fresh.any(1)), np.flatnonzero(fresh.any(0))
        if not rows.size:
            return
        y, y2, x, x2 = rows[0], rows[-1] + 1, columns[0], columns[-1] + 1
        fresh, left, top = fresh[y:y2, x:x2], left + int(x), top + int(y)
        height, width = fresh.shape
        whole_px = self._cost_px(np.int64(width), np.int64(height))
        spared_px = (fresh.size - np.count_nonzero(fresh)) * BLOCK_PX**2  # by any cuts, at most
        if cuts == 0 or (spared_px < self._cut_px and whole_px < self._most_px):
            yield left, top, left + width, top + height
            return
        across, down = self._halves(fresh.T), self._halves(fresh)
        best = min(across.min(initial=np.inf), down.min(initial=np.inf))
        if best >= whole_px:
            yield left, top, left + width, top + height
        elif across.min(initial=np.inf) == best:
            place = int(across.argmin()) + 1
            yield from self._cut(fresh[:, :place], left, top, cuts - 1)
            yield from self._cut(fresh[:, place:], left + place, top, cuts - 1)
        else:
            place = int(down.argmin()) + 1
            yield from self._cut(fresh[:place], left, top, cuts - 1)
            yield from self._cut(fresh[place:], left, top + place, cuts - 1)

    def _halves(self, fresh: Mask) -> NDArray[np.float64]:
        """What two patches cost where ``fresh`` is cut after its first, second… row of blocks."""
        lines, length = fresh.shape
        used = fresh.any(1)
        first = np.where(used, fresh.argmax(1), length)
        last = np.where(used, length - fresh[:, ::-1].argmax(1), 0)
        place = np.arange(lines)
        above = np.maximum.accumulate(np.where(used, place + 1, 0))
        below = lines - np.minimum.accumulate(np.where(used, place, lines)[::-1])[::-1]
        spread = np.maximum.accumulate(last) - np.minimum.accumulate(first)
        first, last = first[::-1], last[::-1]
        behind = (np.maximum.accumulate(last) - np.minimum.accumulate(first))[::-1]
        upper, lower = (spread[:-1], above[:-1]), (behind[1:], below[1:])
        return self._cost_px(*upper) + self._cost_px(*lower)
