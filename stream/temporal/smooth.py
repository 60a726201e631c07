"""Smoothing over time: what stands still in the source stands still in the painting."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfumato.kernels.hold import Blocks
from sfumato.kernels.smooth import STATE_BITS, blend, keep_from_change
from sfumato.stream.buffers import new_planes
from sfumato.stream.errors import SettingsError
from sfumato.stream.frame import Frame
from sfumato.stream.temporal.hold import COHERENCE, Mask

MOST_KEPT = 0.9
"""Share of the past kept at strength 1 where nothing changes: what flickers falls to a quarter, and
half of a new tone is there after seven frames."""

STILL = 2.0
"""A block that changed by less than this many times the noise is still: smoothed in full."""

MOVING = 6.0
"""A block that changed by more than this many times the noise moves: not smoothed at all."""

LEAST_NOISE = 2.0
"""Squared codes of 8 bit by which a block may change for nothing: compression's own rounding."""

_ENERGY = 2 * (1 + COHERENCE / 64)  # of a block's change, for noise of variance 1 in both frames


class Smoother:
    """Exponential smoothing of painted frames, weaker wherever their source changed.

    Frames come in display order. How much of the past is kept at a pixel follows from how much the
    *source* changed around it since the frame before, measured against the clip's own noise, so
    that noise is smoothed away and what moves is not smeared. Equal frames in give equal frames
    out. The output is remembered with 5 (10 bit) to 7 (8 bit) bits below a code, so that a slow
    change gets through. Blocks that have come to rest and are painted as before cost nothing.
    """

    def __init__(self, strength: float) -> None:
        """``strength`` 0 (off) … 1 (calmest)."""
        if not 0 <= strength <= 1:
            raise SettingsError(f"{strength = } of smoothing should be from 0 (off) to 1")
        self.strength = strength
        self._past: _Past | None = None

    def __call__(
        self, painted: Frame, change: Blocks, fresh: Mask, *, cut: bool, variance: float = 0.0
    ) -> Frame:
        """``painted`` smoothed, in planes that hold until the next call; itself at strength 0.

        ``change``: how much the source changed in each block since the frame before, in squared
        codes of 8 bit; ``fresh``: blocks that may be painted otherwise than in the last frame;
        ``cut``: nothing of the last frame may show; ``variance``: of the source's noise, in
        squared codes of 8 bit.
        """
        if self.strength == 0:
            return painted
        past = self._past
        if cut or past is None or not past.fits(painted, fresh):
            past = self._past = _Past(painted, fresh.shape)
            return past.shown(painted)
        for active in past.active:
            active |= fresh
        if not any(active.any() for active in past.active):
            return past.shown(painted)
        noise = max(LEAST_NOISE, _ENERGY * variance)
        keep = keep_from_change(change, STILL * noise, MOVING * noise, MOST_KEPT * self.strength)
        for plane, state, out, active in zip(
            painted.planes, past.states, past.planes, past.active, strict=True
        ):
            if active.any():
                blend(plane, painted.pixels.bits, keep, state, active, out)
        return past.shown(painted)


class _Past:
    """The last output, to the fraction of a code, and where it is not yet the painting."""

    def __init__(self, painted: Frame, blocks: tuple[int, ...]) -> None:
        self._pixels = painted.pixels
        steps = np.uint16(1 << (STATE_BITS - painted.pixels.bits))
        self.planes = new_planes(painted.width_px, painted.height_px, painted.pixels)
        for plane, target in zip(painted.planes, self.planes, strict=True):
            np.copyto(target, plane)
        self.states = [np.multiply(plane, steps, dtype=np.uint16) for plane in painted.planes]
        self.active = [np.zeros(blocks, np.bool_) for _ in painted.planes]

    def fits(self, painted: Frame, fresh: Mask) -> bool:
        """False where size or format changed in mid-stream."""
        return (
            self._pixels == painted.pixels
            and self.active[0].shape == fresh.shape
            and [plane.shape for plane in self.planes] == [p.shape for p in painted.planes]
        )

    def shown(self, painted: Frame) -> Frame:
        """The output at the time of ``painted``."""
        return replace(painted, planes=self.planes, keep=None)
