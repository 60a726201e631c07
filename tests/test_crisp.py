"""Paintings brought back to full size: against a NumPy oracle, and against plain interpolation."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.kernels.crisp import FLAT, crisp
from sfumato.kernels.formats import PixelFormat
from sfumato.stream.buffers import PlanePool
from sfumato.stream.convert import Enlarger, enlarge
from sfumato.stream.frame import Frame
from tests import oracle
from tests.pictures import PIXELS, noise_planes, seeds, storages, store

Array = NDArray[Any]

SCALES = (2.0, 4 / 3, 1.13, 10.0)
"""Enlargements: the governor's two, and what `--scale` may ask for."""


def made_crisp(grown: Array, bits: int, times: float) -> Array:
    out = np.empty_like(grown)
    crisp(grown, bits, times, out)
    return out


def enlarged(plane: Array, times: float, bits: int = 8) -> tuple[Array, Array]:
    """A grey picture as `--scale` shows it, and as bicubic interpolation would."""
    pixels = PixelFormat(chroma="grey", bits=bits)
    height, width = (round(size * times) for size in plane.shape)
    planes = PlanePool(width, height, pixels).acquire()
    enlarge(Frame((plane,), pixels, 0, Fraction(1)), planes)
    return planes[0], np.asarray(cv2.resize(plane, (width, height), interpolation=cv2.INTER_CUBIC))


@st.composite
def pictures(draw: st.DrawFn) -> tuple[Array, int]:
    """A plane of any size, noise of any strength over a few even fields, and its bits."""
    bits = draw(st.sampled_from([8, 10]))
    height, width = draw(st.tuples(st.integers(1, 37), st.integers(1, 41)))
    rng = np.random.default_rng(draw(seeds))
    fields = rng.integers(0, 1 << bits, (5, 5)).repeat(8, 0).repeat(9, 1)[:height, :width]
    noise = rng.normal(0, draw(st.sampled_from([0.0, 1.0, 60.0])), fields.shape)
    codes = np.rint(fields + noise).clip(0, (1 << bits) - 1)
    return codes.astype(np.uint8 if bits == 8 else np.uint16), bits


@settings(deadline=None, max_examples=60)
@given(pictures(), st.sampled_from(SCALES))
def test_crisp_is_the_oracle_to_the_bit(picture: tuple[Array, int], times: float) -> None:
    grown, bits = picture
    np.testing.assert_array_equal(made_crisp(grown, bits, times), oracle.crisp(grown, bits, times))


@settings(deadline=None, max_examples=40)
@given(pictures(), st.sampled_from(SCALES))
def test_nothing_is_beyond_what_lies_around_it(picture: tuple[Array, int], times: float) -> None:
    """No halo, no ringing, and no code that the range of the video does not have."""
    grown, bits = picture
    window = np.ones((7, 7), np.uint8)
    got = made_crisp(grown, bits, times)
    assert np.all(got >= cv2.erode(grown, window))
    assert np.all(got <= cv2.dilate(grown, window))


@settings(deadline=None, max_examples=30)
@given(pictures(), st.sampled_from(SCALES), st.sampled_from([0, 1, (0, 1)]))
def test_a_mirrored_picture_is_mirrored(
    picture: tuple[Array, int], times: float, axes: int | tuple[int, int]
) -> None:
    grown, bits = picture
    mirrored = made_crisp(np.ascontiguousarray(np.flip(grown, axes)), bits, times)
    np.testing.assert_array_equal(mirrored, np.flip(made_crisp(grown, bits, times), axes))


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(PIXELS), st.tuples(st.integers(1, 24), st.integers(1, 20)), storages, seeds,
       st.sampled_from(SCALES), st.booleans())  # fmt: skip
def test_every_format_and_size_is_filled(
    pixels: PixelFormat, size_px: tuple[int, int], storage: str, seed: int, times: float, even: bool
) -> None:
    """An even picture stays as it is, and noise stays within its own limits."""
    small = noise_planes(pixels, *size_px, seed)
    if even:
        small = [np.full_like(plane, plane[0, 0]) for plane in small]
    width, height = (max(size, round(size * times)) for size in size_px)
    into = PlanePool(width, height, pixels).acquire()
    for plane in into:
        plane.fill(0)
    enlarge(Frame(tuple(store(small, storage)), pixels, 0, Fraction(1)), into)
    for plane, result in zip(small, into, strict=True):
        assert plane.min() <= result.min()
        assert plane.max() >= result.max()


@pytest.mark.parametrize("times", [2, 4 / 3])
@pytest.mark.parametrize("slope", [0.0, 0.3, 1.0])
def test_lines_are_steeper_than_by_bicubic_interpolation(times: float, slope: float) -> None:
    """Samples are more of the line or of the ground, less between, and go beyond neither."""
    rows, columns = np.indices((60, 60))
    distance = np.abs(columns - 20 - slope * rows / 2) / np.hypot(1, slope / 2)
    line = np.rint(230 - 100 * (3 - distance).clip(0, 2)).astype(np.uint8)
    ours, cubic = (plane[8:-8, 8:-8] for plane in enlarged(line, times))
    shares = [((plane - 30.0) / 200).clip(0, 1) for plane in (ours, cubic)]
    between = [np.mean(share * (1 - share)) for share in shares]
    assert between[0] < 0.85 * between[1]
    assert 30 <= ours.min() <= 34
    assert ours.max() == 230


@pytest.mark.parametrize("times", [2, 4 / 3])
@pytest.mark.parametrize("bits", [8, 10])
def test_faint_noise_does_not_grow(times: float, bits: int) -> None:
    """What boils below the codes that make an edge boils less than by bicubic interpolation."""
    rng, unit = np.random.default_rng(1), 1 << (bits - 8)
    dtype = np.uint8 if bits == 8 else np.uint16
    noise = np.rint(unit * (100 + rng.uniform(-FLAT / 2, FLAT / 2, (80, 80)))).astype(dtype)
    ours, cubic = enlarged(noise, times, bits)
    assert ours.std() < cubic.std()


@pytest.mark.parametrize("times", SCALES)
def test_a_small_change_stays_small(times: float) -> None:
    """Nothing flips: one code more here and there is a few codes more at most."""
    rng = np.random.default_rng(2)
    grown = rng.integers(0, 256, (12, 12), dtype=np.uint8)
    grown = np.asarray(cv2.resize(grown, None, fx=8, fy=8))
    changed = np.minimum(grown, 254) + rng.integers(0, 2, grown.shape, dtype=np.uint8)
    before, after = (made_crisp(p, 8, times).astype(int) for p in (grown, changed))
    assert np.abs(after - before).max() <= 8


def test_a_painting_that_comes_again_or_anew_is_as_enlarged_for_itself() -> None:
    pixels = PixelFormat()
    pictures = [noise_planes(pixels, 18, 14, seed) for seed in (1, 2)]
    enlarger = Enlarger(PlanePool(31, 27, pixels))
    for number in (0, 0, 1, 1, 0):
        leased = tuple(plane.copy() for plane in pictures[number])
        frame = Frame(leased, pixels, number, Fraction(1))
        alone = PlanePool(31, 27, pixels).acquire()
        enlarge(frame, alone)
        got = enlarger(frame)
        assert got.pts == number
        for plane, expected in zip(got.planes, alone, strict=True):
            np.testing.assert_array_equal(plane, expected)
        for plane in leased:
            plane.fill(0)  # its memory is used for another painting


def test_planes_that_disagree_are_refused() -> None:
    plane = np.zeros((6, 8), np.uint8)
    for other in (
        plane,
        plane[::-1],
        plane[:4],
        plane.astype(np.uint16),
        np.zeros((8, 6), np.uint8),
    ):
        with pytest.raises(ValueError, match="should be another"):
            crisp(plane, 8, 2.0, other)
    with pytest.raises(ValueError, match="contiguous"):
        crisp(plane, 8, 2.0, np.zeros((8, 6), np.uint8).T)
