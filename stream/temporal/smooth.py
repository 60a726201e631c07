"""Smoothing over time: what stands still in the source stands still in the painting."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.formats import PixelFormat
from sfumato.kernels.smooth import (
    STATE_BITS,
    blend,
    blocks_shape,
    keep_from_change,
    measure_change,
)
from sfumato.stream.errors import SettingsError
from sfumato.stream.frame import Frame, Plane

MOST_KEPT = 0.9
"""Share of the past kept at strength 1 where nothing changes: what flickers falls to a quarter, and
half of a new tone is there after seven frames."""

STILL = 2.0
"""A block that changed by less than this many times the noise is still: smoothed in full."""

MOVING = 6.0
"""A block that changed by more than this many times the noise moves: not smoothed at all."""

LEAST_NOISE, MOST_NOISE = 2.0, 100.0
"""Bounds of the noise estimate, in squared codes of 8 bit: compression's own rounding, and a webcam
at night (a standard deviation of about 6 codes)."""

_STEADY = 0.05  # blocks that changed less, letterbox bars and clipped skies, tell nothing of noise
_EVEN = 1.5  # 64 noisy samples give 1.15; moving clips of all kinds 1.6 to 7
_RISE = 2.0  # growth of the noise estimate in one frame, at most


class Smoother:
    """Exponential smoothing of painted frames, weaker wherever their source changed.

    Frames come in display order. How much of the past is kept at a pixel follows from how much the
    *source* changed around it since the frame before, measured against the clip's own noise, so
    that noise is smoothed away and what moves is not smeared. Equal frames in give equal frames
    out. The output is remembered with 5 (10 bit) to 7 (8 bit) bits below a code, so that a slow
    change gets through.
    """

    def __init__(self, strength: float) -> None:
        """``strength`` 0 (off) … 1 (calmest)."""
        if not 0 <= strength <= 1:
            raise SettingsError(f"{strength = } of smoothing should be from 0 (off) to 1")
        self.strength = strength
        self._past: _Past | None = None
        self._noise = LEAST_NOISE

    def __call__(self, source: Frame, painted: Frame, *, cut: bool) -> Frame:
        """``painted`` smoothed in place, or untouched at strength 0 and on a new shot's first frame.

        ``source``: the frame that ``painted`` was made from, with luma of the same size; ``cut``: it
        begins a new shot, and nothing of the last one may show.
        """
        if self.strength == 0:
            return painted
        past = self._past
        if cut or past is None or not past.fits(source, painted):
            self._past = _Past(source, painted)
            return painted
        # Motion compensation belongs here: move past.luma and past.planes along the motion from the
        # last source frame to this one; the change below then measures what the motion leaves.
        measure_change(source.planes[0], past.luma, source.pixels.bits, past.change)
        self._noise = noise_level(past.change, self._noise)
        low, high = STILL * self._noise, MOVING * self._noise
        keep = keep_from_change(past.change, low, high, MOST_KEPT * self.strength)
        for plane, state in zip(painted.planes, past.planes, strict=True):
            blend(plane, painted.pixels.bits, keep, state)
        return painted


def noise_level(change: NDArray[np.float32], before: float) -> float:
    """Squared change that noise alone causes, from the calmest quarter of ``change``.

    Noise spreads evenly: the blocks of a still scene differ by their statistics only, while what
    moves changes each block by as much as it has texture. An uneven quarter is motion, and the
    estimate stays as it was ``before`` (or falls).
    """
    changed = change[change > _STEADY]
    tenth, quarter = changed.size // 10, changed.size // 4
    if quarter == 0:
        return before
    ranked = np.partition(changed, (tenth, quarter))
    calm = float(ranked[quarter])
    if calm > _EVEN * ranked[tenth]:
        calm = min(calm, before)
    return min(max(calm, LEAST_NOISE), MOST_NOISE, before * _RISE)


class _Past:
    """The last source luma and the last output, and room for the change between frames."""

    def __init__(self, source: Frame, painted: Frame) -> None:
        self.pixels: tuple[PixelFormat, PixelFormat] = (source.pixels, painted.pixels)
        self.luma: Plane = source.planes[0].copy(order="C")
        steps = np.uint16(1 << (STATE_BITS - painted.pixels.bits))
        self.planes = [np.multiply(plane, steps, dtype=np.uint16) for plane in painted.planes]
        self.change = np.empty(blocks_shape(source.width_px, source.height_px), np.float32)

    def fits(self, source: Frame, painted: Frame) -> bool:
        """False where size or format changed in mid-stream."""
        return (
            self.pixels == (source.pixels, painted.pixels)
            and self.luma.shape == source.planes[0].shape
            and [plane.shape for plane in self.planes] == [p.shape for p in painted.planes]
        )
