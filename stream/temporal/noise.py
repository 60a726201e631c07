"""How noisy the sensor is, told from the frames themselves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.hold import Blocks, blocks_shape, survey
from sfumato.stream.buffers import release, share
from sfumato.stream.frame import Frame

Mask = NDArray[np.bool_]

PERIOD_FRAMES = 8
"""The estimate is renewed once in so many frames."""

_APART_FRAMES = 4  # between the pictures that tell noise from motion
_GROWTH = 1.5  # of a still block's difference when the pictures are farther apart, at most
_STEADY = 0.05  # squared codes; what changes less was skipped by a codec, or is a letterbox bar
_EVEN_AT_ONCE = 1.5  # of the calmest quarter's edges: 64 noisy samples give 1.15, motion 1.6 to 7
_EVEN = (
    3.0  # median over tenth of the still blocks: coded noise gives up to 2.5, motion 3.3 and more
)
_CODED = 2.5  # upper quarter over median, at most, where a codec left more noise in some blocks
_COMMON = 0.2  # of the blocks should tell
_FALL = 0.5  # how much of a lower estimate is believed at once
_LEAST = 0.15  # squared codes: less is rounding, and the source counts as noiseless
_MOST = 100.0  # a webcam at night: a standard deviation of 10 codes


class NoiseMeter:
    """Follows the variance of a source's noise on each plane, in squared codes of 8 bit.

    Two pictures of a still block differ by noise, no matter how far apart they are; where something
    moves they differ more and more, or in some blocks much more than in others. What is equal to
    the sample (drawings, screens) has no noise: then all variances are 0.
    """

    def __init__(self, planes: int) -> None:
        self.variances = [0.0] * planes
        self._frames = 0
        self._past: Frame | None = None
        self._near: list[Blocks] = []

    def __call__(self, frame: Frame) -> list[float]:
        """Take note of the next frame; the variances found so far."""
        place = self._frames % PERIOD_FRAMES
        self._frames += 1
        if place == 0:
            self.close()
            self._past = share(frame)
        elif place in (1, _APART_FRAMES) and self._past is not None:
            spread = _incoherent(frame, self._past)
            if place == 1:
                self._near = spread
            else:
                self._renew(self._near, spread)
            if self._frames == 2:
                self._begin(spread)
        return self.variances

    def close(self) -> None:
        """Let go of the frame that later ones are compared with."""
        if self._past is not None:
            release(self._past)
            self._past = None

    def _begin(self, spread: list[Blocks]) -> None:
        """From the first two frames: hold from the start where the noise is plain to see."""
        told = spread[0] > _STEADY
        ranked = np.sort(spread[0][told])
        tenth, quarter = ranked.size // 10, ranked.size // 4
        if ranked.size < told.size / 2 or ranked[quarter] > _EVEN_AT_ONCE * ranked[tenth]:
            return
        calm = told & (spread[0] <= ranked[2 * quarter])
        self._take([_level(plane, calm) for plane in spread])

    def _renew(self, near: list[Blocks], far: list[Blocks]) -> None:
        still = far[0] <= _GROWTH * near[0] + _STEADY
        told = still & (far[0] > _STEADY)
        if told.sum() > max(_COMMON * told.size, still.sum() / 2):
            tenth, median = np.percentile(far[0][told], (10, 50))
            if median <= _EVEN * tenth:
                self._take([_level(plane, told) for plane in far])
        elif still.sum() > _COMMON * still.size:
            self._take([0.0] * len(far))

    def _take(self, levels: list[float]) -> None:
        """Rise at once, fall by and by; all planes are noisy or none is."""
        for plane, level in enumerate(levels):
            before = self.variances[plane]
            share_of_new = 1.0 if level > before else _FALL
            self.variances[plane] = min(before + (level - before) * share_of_new, _MOST)
        if self.variances[0] < _LEAST:
            self.variances = [0.0] * len(levels)


def _incoherent(frame: Frame, past: Frame) -> list[Blocks]:
    """Variance within each block of the difference of two frames, per plane: light has none."""
    shape = blocks_shape(frame.width_px, frame.height_px)
    maps = np.empty((3, *shape), np.float32)
    spread: list[Blocks] = []
    for now, before in zip(frame.planes, past.planes, strict=True):
        survey(now, before, frame.pixels.bits, maps)
        spread.append(np.subtract(maps[0], maps[1] * maps[1], dtype=np.float32))
    return spread


def _level(spread: Blocks, told: Mask) -> float:
    """Variance of the noise in one picture, from those blocks of the difference of two."""
    median, upper = np.percentile(spread[told], (50, 75))
    return float(min(upper, _CODED * median)) / 2
