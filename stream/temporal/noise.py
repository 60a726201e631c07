"""How noisy the sensor is, told from the frames themselves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_STEADY = 0.05  # squared codes; what changed less, letterbox bars and clipped skies, tells nothing
_EVEN = 1.5  # 64 noisy samples give 1.15; moving clips of all kinds 1.6 to 7
_RISE = 2.0  # growth of the estimate in one frame, at most, once there is one
_FALL = 0.05  # how fast it follows downwards: inter-coded frames are calmer than keyframes
_LEAST = 0.15  # squared codes: less is a codec's rounding, and the source counts as noiseless
_MOST = 100.0  # a webcam at night: a standard deviation of 10 codes
_COMMON = 0.5  # a sensor's noise is in most of the picture


class NoiseMeter:
    """Follows the variance of a source's noise, in squared codes of 8 bit; 0 is noiseless.

    Noise spreads evenly: the blocks of a still scene differ by their statistics only, while what
    moves changes each block by as much as it has texture. So the calmest quarter of the blocks is
    looked at: where it is even, it is noise; where it is not, it is motion, and the estimate stays
    as it was or falls. Pictures without noise (drawings, screens) stand still exactly in places.
    """

    def __init__(self) -> None:
        self.variance = 0.0

    def __call__(self, squares: NDArray[np.float32], means: NDArray[np.float32]) -> float:
        """The variance after one more frame.

        ``squares``, ``means``: of the difference between two pictures with noise of their own, per
        block; the mean is taken out, since noise has none and light has little else.
        """
        seen = calmest_quarter(np.subtract(squares, means * means, dtype=np.float32))
        if seen is None:
            return self.variance
        level, even = seen
        level = min(level / 2, _MOST)  # of two pictures
        if level < _LEAST:
            level = 0.0
        if level < self.variance:
            self.variance += (level - self.variance) * _FALL
            self.variance *= self.variance >= _LEAST
        elif even:
            self.variance = min(level, self.variance * _RISE) if self.variance else level
        return self.variance


def calmest_quarter(change: NDArray[np.float32]) -> tuple[float, bool] | None:
    """(change at the calmest quarter of the blocks, whether all calmer ones are much like it).

    None where most blocks stand still exactly: nothing is known then.
    """
    changed = change[change > _STEADY]
    tenth, quarter = changed.size // 10, changed.size // 4
    if quarter == 0:
        return None
    if changed.size < _COMMON * change.size:
        return 0.0, True
    ranked = np.partition(changed, (tenth, quarter))
    calm = float(ranked[quarter])
    return calm, calm <= _EVEN * float(ranked[tenth])
