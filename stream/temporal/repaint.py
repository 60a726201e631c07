"""What to paint of each frame, and whether finding that out pays."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from time import perf_counter

import numpy as np

from sfumato.models.spec import StyleSpec
from sfumato.stream.plan import Plan
from sfumato.stream.temporal.hold import Mask, Seen
from sfumato.stream.temporal.reuse import WORTH, Patches, Reach, tile_cost_px
from sfumato.stream.tiles import Tile


@dataclass(frozen=True, slots=True)
class Portion:
    """The part of one frame that is painted anew."""

    tiles: tuple[Tile, ...]
    windows_px: tuple[tuple[int, int], ...]
    """Width and height of what the network sees of each tile."""
    fresh: Mask
    """Blocks that may be painted otherwise than in the frame before."""
    plan_tiles: int
    """Tiles of the plan that it was made by."""
    patched: bool = False
    """The tiles are patches, not the plan's."""

    def cost_px(self, trim_px: int) -> int:
        """What painting it costs, in pixels; see :func:`.reuse.tile_cost_px`."""
        return sum(tile_cost_px(window_px, trim_px) for window_px in self.windows_px)


class Repaint:
    """Chooses the :class:`Portion` of each frame. One plan, one frame size."""

    def __init__(
        self, plan: Plan, size_px: tuple[int, int], spec: StyleSpec, *, on: bool, patches: bool
    ) -> None:
        """``on`` False: every frame is painted as a whole. ``patches`` False: only by the plan's own
        tiles, as with networks that take no others."""
        self.plan, self._on, self._trim_px = plan, on, spec.trim_px
        local = spec.norm != "whole-frame"
        # The last cell may end behind the frame, and what it sees there is mirrored once more.
        self._reach = Reach(plan, size_px, spec.radius_px + spec.multiple - 1, local=local)
        self._patches: Patches | None = None
        if local and plan.exact and patches:
            self._patches = Patches(size_px, spec, prod(plan.tile_px))
        self.balance = Balance()

    def whole(self, seen: Seen) -> Portion:
        """All of a frame."""
        return self._by_plan(self.plan.tiles, np.ones_like(seen.changed))

    def __call__(self, seen: Seen) -> Portion:
        """What to paint when the frame before is there to copy from."""
        if not self._on or not self.balance.pays():
            return self.whole(seen)
        started_s = perf_counter()
        portion = self._portion(seen)
        whole_px = len(self.plan.tiles) * tile_cost_px(self.plan.tile_px, self._trim_px)
        spared_px = whole_px - portion.cost_px(self._trim_px)
        self.balance.add(perf_counter() - started_s, spared_px)
        return portion

    def _portion(self, seen: Seen) -> Portion:
        fresh = self._reach.fresh(seen.changed)
        by_plan = self._by_plan(self._reach.tiles(seen.changed, fresh), fresh)
        if self._patches is None or not by_plan.tiles or fresh.mean() > WORTH:
            return by_plan
        tiles = self._patches.over(fresh)
        windows_px = tuple(map(self._patches.window_px, tiles))
        patches = Portion(tuple(tiles), windows_px, fresh, by_plan.plan_tiles, patched=True)
        cheap = patches.cost_px(self._trim_px) < WORTH * by_plan.cost_px(self._trim_px)
        return patches if tiles and cheap else by_plan

    def _by_plan(self, tiles: tuple[Tile, ...], fresh: Mask) -> Portion:
        windows_px = (self.plan.tile_px,) * len(tiles)
        return Portion(tiles, windows_px, fresh, len(self.plan.tiles))


class Balance:
    """Time spent on looking for what to copy, against the time that copying saved."""

    TRIAL_FRAMES = 48
    """Frames after which the two are compared."""
    REST_FRAMES = 240
    """Frames painted as a whole where looking did not pay, before it is tried again."""

    def __init__(self) -> None:
        self.second_per_px = 0.0
        """What painting a pixel takes; set from what tiles took."""
        self._spent_s = 0.0
        self._saved_px = 0
        self._frames = 0
        self._rest = 0

    def pays(self) -> bool:
        """Whether to look at the next frame."""
        if self._rest:
            self._rest -= 1
        return self._rest == 0

    def add(self, spent_s: float, saved_px: int) -> None:
        """One frame was looked at."""
        self._spent_s += spent_s
        self._saved_px += saved_px
        self._frames += 1
        if self._frames == self.TRIAL_FRAMES:
            if self._spent_s > self._saved_px * self.second_per_px:
                self._rest = self.REST_FRAMES
            self._spent_s, self._saved_px, self._frames = 0.0, 0, 0
