"""Slow light: what each block's mean does while the block stands still."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.hold import Blocks, block_sides

Mask = NDArray[np.bool_]

LUMA_STEP, CHROMA_STEP = 0.75, 1.6
"""A mean that jumps by so many codes of 8 bit is a change, however little noise there is. Codecs move
whole blocks of chroma by a code at a time."""

FOLLOWED_FRAMES = 8
"""Light is followed in every so many frames, so that tiles rest in between."""

_SETTLED_FRAMES = 12  # over which the mean that a block had when it was held is found out
_MEAN_FRAMES = 6.0  # of the running mean after that
_WEIGHTS = np.array(  # of a new mean, by the frames since the block was held
    [1.0, *(1 / age for age in range(1, _SETTLED_FRAMES + 1)), 1 / _MEAN_FRAMES], np.float32
)
_TAIL = 5.6  # standard deviations: one false alarm in some ten seconds of 720p
_LEAST_DRIFT = 1 / 3  # of the least jump: codecs let chroma that is still wander by half a code
_DRIFT_SHARE = (
    0.1  # of the noise's standard deviation: 6 of the running mean's over the blocks around
)


class Light:
    """The light on one plane since each block was held.

    A block's running mean, less the one found when it was held, is how far the light has drifted.
    The drift of neighbours is averaged, and once it is more than noise can make it, the held
    samples are told to ``shift`` by it.
    """

    def __init__(
        self, plane_shape: tuple[int, ...], blocks: tuple[int, ...], bits: int, step: float
    ) -> None:
        """``step``: the least jump of a mean that counts, in codes of 8 bit."""
        self.shift: Blocks | None = None
        """Codes of the plane to rise by now; None where no block follows."""
        self.phase: Blocks = np.zeros(blocks, np.float32)
        """Codes risen by before."""
        self.follows: Mask = np.zeros(blocks, np.bool_)
        """Blocks that shift now."""
        self.change: Blocks = np.zeros(blocks, np.float32)
        """What the shift adds to the change of a frame, in squared codes of 8 bit."""
        samples = _samples(plane_shape, blocks)
        self.energy_tail = _chi_square_tail(samples)
        self._mean_tail = (_TAIL / np.sqrt(samples)).astype(np.float32)
        self._step = np.float32(step)
        self._unit = 2.0 ** (bits - 8)
        self._age = np.zeros(blocks, np.int32)
        self._mean = np.zeros(blocks, np.float32)
        self._held = np.zeros(blocks, np.float32)
        self._frames = 0

    def steps(self, mean: Blocks, variance: float) -> Blocks:
        """How far the ``mean`` difference jumped, over what noise can make it; ``variance``: of a
        difference of two samples."""
        limit = np.maximum(self._mean_tail * np.float32(variance**0.5), self._step)
        return np.asarray(np.abs(mean - self._held) / limit, np.float32)

    def __call__(self, mean: Blocks, moving: Mask, variance: float) -> None:
        """Take in the ``mean`` difference of each block from what is shown; what moves begins anew.

        ``variance``: of the noise, in squared codes of 8 bit.
        """
        self._frames += 1
        still = ~moving
        self._age += 1
        self._age *= still
        self._mean += (mean - self._mean) * _WEIGHTS[np.minimum(self._age, _SETTLED_FRAMES + 1)]
        self._mean *= still
        np.copyto(self._held, self._mean, where=self._age == _SETTLED_FRAMES)
        self._held *= still
        self._look(variance)

    def _look(self, variance: float) -> None:
        if self.shift is not None:
            self.shift = None
            self.follows, self.change = np.zeros_like(self.follows), np.zeros_like(self.change)
        if self._frames % FOLLOWED_FRAMES:
            return
        known = self._age > _SETTLED_FRAMES
        if not known.any():
            return
        own = (self._mean - self._held) * known
        around = _average(own, known)
        far = np.abs(around) > max(_LEAST_DRIFT * self._step, _DRIFT_SHARE * variance**0.5)
        self.follows = far & known
        if self.follows.any():
            # The neighbours' drift alone would leave a block that lags behind them there for ever.
            rise = np.where(self.follows, (own + around) / 2, 0).astype(np.float32)
            self.change = np.abs(rise) + 8 * rise * rise
            self.shift = rise * np.float32(self._unit)

    def forget(self) -> None:
        """Nothing is held any more."""
        if self._frames:
            self._frames = 0
            self._age[:] = 0
            for blocks in (self._mean, self._held):
                blocks[:] = 0

    def followed(self) -> None:
        """The held samples have shifted."""
        if self.shift is not None:
            self.phase += self.shift
            self._mean -= self.shift / np.float32(self._unit)


def _samples(plane_shape: tuple[int, ...], blocks: tuple[int, ...]) -> NDArray[np.float64]:
    """How many samples of the plane each block holds."""
    sides = block_sides(plane_shape, blocks)[::-1]
    rows, columns = (
        np.minimum(size - np.arange(count) * side, side)
        for size, count, side in zip(plane_shape, blocks, sides, strict=True)
    )
    return np.multiply.outer(rows, columns).astype(float)


def _chi_square_tail(samples: NDArray[np.float64]) -> Blocks:
    """Mean square of so many unit normals that only one in some 10^8 exceeds (Wilson, Hilferty)."""
    spread = 2 / (9 * samples)
    return np.asarray((1 - spread + _TAIL * np.sqrt(spread)) ** 3, np.float32)


def _average(values: Blocks, known: Mask) -> Blocks:
    """Mean over the known blocks among each block and its neighbours, the nearer the heavier."""
    total, count = _binomial(values), _binomial(known.astype(np.float32))
    return np.asarray(total / np.maximum(count, 1), np.float32)


def _binomial(values: Blocks) -> Blocks:
    """Sums with weights 1, 2, 1 along both axes."""
    tall = 2 * values
    tall[1:] += values[:-1]
    tall[:-1] += values[1:]
    wide = 2 * tall
    wide[:, 1:] += tall[:, :-1]
    wide[:, :-1] += tall[:, 1:]
    return wide
