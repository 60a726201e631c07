"""Strength: exact at both ends, rounded between."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.kernels.formats import PixelFormat
from sfumato.kernels.mix import mix
from tests import oracle
from tests.pictures import (
    PIXELS,
    noise_planes,
    seeds,
    sizes_px,
    storages,
    store,
)


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(PIXELS), sizes_px, storages, storages, seeds, st.floats(0, 1))
def test_mixed_planes_match_the_oracle(
    pixels: PixelFormat, size_px: tuple[int, int], storage: str, other: str, seed: int,
    strength: float,
) -> None:  # fmt: skip
    source = noise_planes(pixels, *size_px, seed)
    painted = noise_planes(pixels, *size_px, seed + 1)
    planes = store([plane.copy() for plane in painted], other)
    mix(store(source, storage), planes, strength, planes)
    for got, below, above in zip(planes, source, painted, strict=True):
        np.testing.assert_array_equal(got, oracle.mix(below, above, strength))


def test_both_ends_are_exact() -> None:
    source, painted = (noise_planes(PixelFormat(bits=10), 16, 8, seed) for seed in (1, 2))
    for strength, want in ((0, source), (1, painted)):
        planes = [np.zeros_like(plane) for plane in source]
        mix(source, painted, strength, planes)
        for got, plane in zip(planes, want, strict=True):
            np.testing.assert_array_equal(got, plane)


@pytest.mark.parametrize("strength", [-0.1, 1.1, float("nan")])
def test_strength_outside_its_range_is_refused(strength: float) -> None:
    planes = noise_planes(PixelFormat(), 4, 4, 1)
    with pytest.raises(ValueError, match="within 0…1"):
        mix(planes, planes, strength, planes)
