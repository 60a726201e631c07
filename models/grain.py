"""The noise texture that painterly styles shape into strokes, hatching and paper."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

GRAIN_PX = 256
"""The texture is square and tiles the plane: pixel (x, y) shows texel (x mod 256, y mod 256)."""


def grain_texture(seed: int) -> NDArray[np.uint8]:
    """White noise, uint8 (256, 256), the same on every machine and NumPy version for one ``seed``.

    A 32-bit integer hash of the texel's index (the finalizer of MurmurHash3), not a random
    generator: NumPy does not promise its distributions' streams between versions.
    """
    start = np.uint32(seed * 0x9E3779B9 & 0xFFFFFFFF)
    bits = np.arange(GRAIN_PX * GRAIN_PX, dtype=np.uint32) + start
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        bits = (bits ^ (bits >> np.uint32(shift))) * np.uint32(factor)
    return (bits >> np.uint32(24)).astype(np.uint8).reshape(GRAIN_PX, GRAIN_PX)
