"""Which parts of a frame to paint anew; everything else is copied from the painting before."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.hold import BLOCK_PX
from sfumato.stream.plan import Plan
from sfumato.stream.temporal.hold import Mask
from sfumato.stream.tiles import TILE_PX, Span, Tile, align_up

TILE_COST_PX = 12_000
"""What starting a tile costs beside its pixels: about as much as painting so many."""

WORTH = 0.85
"""Patches are used where they cost less than this share of the plan's own tiles."""

LEAST_PATCH_PX = 2 * TILE_PX
"""Smaller patches are all halo."""

Rect = tuple[int, int, int, int]
"""left, top, right, bottom in pixels of luma, the last two excluded."""


def tile_cost_px(shape_px: tuple[int, int]) -> int:
    """What painting a tile costs, in pixels."""
    return shape_px[0] * shape_px[1] + TILE_COST_PX


class Reach:
    """How far a change in the source shows in the painting."""

    def __init__(
        self, plan: Plan, size_px: tuple[int, int], radius_px: int, *, local: bool
    ) -> None:
        """``local`` False: any change shows everywhere, as with norms over the whole frame."""
        self.plan, self.size_px, self.radius_px = plan, size_px, radius_px
        self._local = local

    def fresh(self, changed: Mask) -> Mask:
        """Blocks of the painting that a change in these blocks of the source may reach."""
        if not changed.any() or changed.all():
            return changed
        if not self._local:
            return np.ones_like(changed)
        if self.plan.exact:
            return _grown(changed, -(-self.radius_px // BLOCK_PX))
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
    """Tiles of one shape, laid freely over whatever is fresh. For plans that are exact."""

    def __init__(
        self, shape_px: tuple[int, int], size_px: tuple[int, int], radius_px: int, multiple: int
    ) -> None:
        self.shape_px = shape_px
        even = multiple if multiple % 2 == 0 else 2 * multiple
        margin = align_up(radius_px, even)
        self._axes = tuple(
            _Axis(tile, length, margin, even)
            for tile, length in zip(shape_px, size_px, strict=True)
        )

    def cost_px(self, count: int) -> int:
        """What so many patches cost, in pixels painted."""
        return count * tile_cost_px(self.shape_px)

    def over(self, fresh: Mask, most: int = 10_000) -> list[Tile] | None:
        """Tiles that give every fresh pixel, shelf by shelf; None if there are more than ``most``."""
        across, down = self._axes
        rows = np.flatnonzero(fresh.any(1))
        tiles: list[Tile] = []
        while rows.size:
            y = down.span(int(rows[0]) * BLOCK_PX)
            shelf = fresh[rows[0] : -(-y.stop // BLOCK_PX)].any(0)
            columns = np.flatnonzero(shelf)
            while columns.size:
                x = across.span(int(columns[0]) * BLOCK_PX)
                tiles.append(Tile(x, y))
                columns = across.beyond(x, columns)
                if len(tiles) > most:
                    return None
            rows = down.beyond(y, rows)
        return tiles


class _Axis:
    """One axis of the patches: where a patch may lie."""

    def __init__(self, tile: int, length: int, margin: int, even: int) -> None:
        self._length = length
        self._tile, self._margin, self._even = tile, margin, even
        self._last = max(-margin, align_up(length + margin - tile, even))

    def span(self, start: int) -> Span:
        """The patch that gives pixels from ``start`` on, moved back where it would leave the frame."""
        origin = min(start // self._even * self._even - self._margin, self._last)
        first = max(0, origin + self._margin)
        return Span(origin, first, min(self._length, origin + self._tile - self._margin))

    def beyond(self, span: Span, blocks: NDArray[np.intp]) -> NDArray[np.intp]:
        """Those of the ``blocks`` that the patch does not give to the end."""
        return blocks[np.minimum((blocks + 1) * BLOCK_PX, self._length) > span.stop]


class PatchChooser:
    """Looks at what recent frames painted anew and picks the shape of patches that suits them."""

    FRAMES = 6
    """Frames looked at."""
    EVERY = 48
    """Frames between two looks, once it has looked."""

    def __init__(
        self, size_px: tuple[int, int], radius_px: int, multiple: int, most_px: int
    ) -> None:
        """``most_px``: pixels of the largest patch, which bounds what its network takes."""
        self._size_px, self._radius_px, self._multiple = size_px, radius_px, multiple
        self._most_px = most_px
        self._recent: deque[tuple[Mask, int]] = deque(maxlen=self.FRAMES)
        self._frames = 0
        self._next = self.FRAMES

    def note(self, fresh: Mask, plan_px: int) -> bool:
        """Note a frame that is fresh in part and costs ``plan_px`` by the plan; is it time to look?"""
        self._frames += 1
        if (
            self._frames + 8 * self.FRAMES > self._next and self._frames % 8 == 0
        ) or self._frames < 8:
            self._recent.append((fresh, plan_px))
        if self._frames < self._next:
            return False
        self._next = self._frames + self.EVERY
        return True

    def best(self, now: Patches | None) -> Patches | None:
        """The patches to use from here on; ``now`` unless others are clearly cheaper."""
        cheapest, least_px = now, WORTH * self._cost_px(now)
        for shape_px in self._shapes():
            patches = Patches(shape_px, self._size_px, self._radius_px, self._multiple)
            cost_px = self._cost_px(patches)
            if cost_px < least_px:
                cheapest, least_px = patches, cost_px
        return cheapest

    def _cost_px(self, patches: Patches | None) -> float:
        return sum(
            plan_px if patches is None else cheaper_px(patches, fresh, plan_px)
            for fresh, plan_px in self._recent
        )

    def _shapes(self) -> Iterator[tuple[int, int]]:
        """Shapes that hold all that was fresh in a frame, or a half or a third of it, per axis."""
        widths, heights = set[int](), set[int]()
        for fresh, _ in self._recent:
            for axis, sizes in ((0, widths), (1, heights)):
                where = np.flatnonzero(fresh.any(axis))
                extent_px = int(where[-1] - where[0] + 1) * BLOCK_PX if where.size else BLOCK_PX
                for parts in (1, 2, 3):
                    size = extent_px // parts + 2 * self._radius_px + 2 * self._multiple
                    sizes.add(max(LEAST_PATCH_PX, align_up(size, TILE_PX)))
        for width, height in product(sorted(widths), sorted(heights)):
            if width * height <= self._most_px:
                yield width, height


def cheaper_px(patches: Patches, fresh: Mask, plan_px: int) -> int:
    """What a frame costs by patches or by the plan, whichever is less."""
    most = int(WORTH * plan_px) // patches.cost_px(1)
    tiles = patches.over(fresh, most)
    return plan_px if tiles is None else patches.cost_px(len(tiles))
