"""What to paint of each frame, and whether finding that out pays."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from sfumato.models.spec import StyleSpec
from sfumato.stream.plan import Plan
from sfumato.stream.temporal.hold import Mask, Seen
from sfumato.stream.temporal.reuse import PatchChooser, Patches, Reach, cheaper_px, tile_cost_px
from sfumato.stream.tiles import Tile


@dataclass(frozen=True, slots=True)
class Portion:
    """The part of one frame that is painted anew."""

    tiles: tuple[Tile, ...]
    fresh: Mask
    """Blocks that may be painted otherwise than in the frame before."""
    patch_px: tuple[int, int] | None = None
    """The shape of the tiles where they are patches; None where they are the plan's."""


class Repaint:
    """Chooses the :class:`Portion` of each frame. One plan, one frame size."""

    def __init__(self, plan: Plan, size_px: tuple[int, int], spec: StyleSpec, *, on: bool) -> None:
        """``on`` False: every frame is painted as a whole."""
        self.plan, self._on = plan, on
        self.patches: Patches | None = None
        """In use; set by whoever has a network ready for their shape."""
        local = spec.norm == "none"
        self._reach = Reach(plan, size_px, spec.radius_px, local=local)
        self._chooser: PatchChooser | None = None
        if on and local and plan.exact and plan.patches:
            self._chooser = PatchChooser(size_px, spec.radius_px, spec.multiple, plan.patch_px)
        self.balance = Balance()

    def whole(self, seen: Seen) -> Portion:
        """All of a frame."""
        return Portion(self.plan.tiles, np.ones_like(seen.changed))

    def __call__(self, seen: Seen) -> Portion:
        """What to paint when the frame before is there to copy from."""
        if not self._on or not self.balance.pays():
            return self.whole(seen)
        started_s = perf_counter()
        portion = self._portion(seen)
        done_px = self._cost_px(portion)
        whole_px = len(self.plan.tiles) * tile_cost_px(self.plan.tile_px)
        self.balance.add(perf_counter() - started_s, whole_px - done_px)
        return portion

    def _cost_px(self, portion: Portion) -> int:
        return len(portion.tiles) * tile_cost_px(portion.patch_px or self.plan.tile_px)

    def _portion(self, seen: Seen) -> Portion:
        fresh = self._reach.fresh(seen.changed)
        tiles = self._reach.tiles(seen.changed, fresh)
        plan_px = len(tiles) * tile_cost_px(self.plan.tile_px)
        patches = self.patches
        if patches is None or not tiles or fresh.all():
            return Portion(tiles, fresh)
        if cheaper_px(patches, fresh, plan_px) >= plan_px:
            return Portion(tiles, fresh)
        return Portion(tuple(patches.over(fresh) or ()), fresh, patches.shape_px)

    def better_patches(self, seen: Seen, portion: Portion) -> Patches | None:
        """Patches that suit recent frames clearly better than those in use, now and then."""
        if self._chooser is None or not portion.tiles or portion.fresh.all():
            return None
        tiles = self._reach.tiles(seen.changed, portion.fresh)
        if not self._chooser.note(portion.fresh, len(tiles) * tile_cost_px(self.plan.tile_px)):
            return None
        best = self._chooser.best(self.patches)
        return None if best is self.patches else best


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
