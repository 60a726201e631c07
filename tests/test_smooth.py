"""Smoothing over time: against a NumPy oracle, and against what a viewer would see."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.kernels.formats import PixelFormat
from sfumato.kernels.smooth import (
    BLOCK_PX,
    COHERENCE,
    STATE_BITS,
    blend,
    blocks_shape,
    keep_from_change,
    measure_change,
)
from sfumato.stream.errors import SettingsError
from sfumato.stream.frame import Frame, Plane
from sfumato.stream.temporal.smooth import LEAST_NOISE, Smoother, noise_level

Blocks = NDArray[np.float32]


def change_oracle(luma: Plane, past: Plane, bits: int) -> Blocks:
    """Squared change of each block, one block at a time."""
    rows, columns = blocks_shape(luma.shape[1], luma.shape[0])
    step = (luma.astype(float) - past.astype(float)) * 2.0 ** (8 - bits)
    change = np.empty((rows, columns))
    for y in range(rows):
        for x in range(columns):
            block = step[y * BLOCK_PX :, x * BLOCK_PX :][:BLOCK_PX, :BLOCK_PX]
            change[y, x] = (block**2).mean() + COHERENCE * block.mean() ** 2
    return change.astype(np.float32)


def keep_oracle(change: Blocks, low: float, high: float, most: float) -> Blocks:
    """Largest of the 3×3 neighbours, through a smoothstep."""
    rows, columns = change.shape
    padded = np.pad(change, 1, mode="edge")
    shifted = [padded[y : y + rows, x : x + columns] for y in range(3) for x in range(3)]
    calm = ((high - np.max(shifted, axis=0)) / (high - low)).clip(0, 1)
    keep: Blocks = (most * calm**2 * (3 - 2 * calm)).astype(np.float32)
    return keep


def blend_oracle(plane: Plane, bits: int, keep: Blocks, state: NDArray[np.uint16]) -> None:
    """Interpolate the map, mix, round."""
    unit = 2.0 ** (STATE_BITS - bits)
    weights = keep.astype(float)
    for axis in (0, 1):
        blocks, samples = weights.shape[axis], plane.shape[axis]
        side = 8 if samples > 4 * blocks else 4
        place = (np.arange(samples) + 0.5) / side - 0.5
        before = np.floor(place).astype(int)
        share = (place - before).reshape((-1, 1) if axis == 0 else (1, -1))
        lower = weights.take(before.clip(0, blocks - 1), axis)
        upper = weights.take((before + 1).clip(0, blocks - 1), axis)
        weights = lower + (upper - lower) * share
    mixed = weights * state + (1 - weights) * plane * unit
    state[...] = np.floor(mixed + 0.5)
    plane[...] = np.floor(state / unit + 0.5)


@st.composite
def luma_pairs(draw: st.DrawFn) -> tuple[int, Plane, Plane]:
    """(bits, this luma, the last one), of odd sizes, near each other or not."""
    bits = draw(st.sampled_from([8, 10]))
    shape = draw(st.tuples(st.integers(1, 35), st.integers(1, 41)))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    spread = draw(st.sampled_from([1, 4, 300]))
    past = rng.integers(0, 2**bits, shape)
    luma = (past + rng.integers(-spread, spread + 1, shape)).clip(0, 2**bits - 1)
    if bits == 8:
        return bits, luma.astype(np.uint8), past.astype(np.uint8)
    return bits, luma.astype(np.uint16), past.astype(np.uint16)


@given(luma_pairs())
@settings(max_examples=40, deadline=None)
def test_change_is_the_oracles_and_the_past_moves_on(pair: tuple[int, Plane, Plane]) -> None:
    bits, luma, past = pair
    expected = change_oracle(luma, past, bits)
    padded = np.zeros((luma.shape[0], luma.shape[1] + 5), luma.dtype)[:, : luma.shape[1]]
    padded[...] = luma
    change = np.empty_like(expected)
    measure_change(padded, past, bits, change)
    np.testing.assert_allclose(change, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(past, luma)


@given(luma_pairs(), st.integers(1, 2))
@settings(max_examples=40, deadline=None)
def test_keep_and_blend_are_the_oracles(pair: tuple[int, Plane, Plane], halved: int) -> None:
    bits, luma, past = pair
    change = change_oracle(luma, past, bits)
    keep = keep_from_change(change, 3.0, 30.0, 0.9)
    assert keep.dtype == np.float32
    np.testing.assert_allclose(keep, keep_oracle(change, 3.0, 30.0, 0.9), atol=1e-6)
    now, before = luma[::halved, ::halved].copy(), past[::halved, ::halved]
    state = np.multiply(before, 1 << (STATE_BITS - bits), dtype=np.uint16)
    expected, expected_state = now.copy(), state.copy()
    blend_oracle(expected, bits, keep, expected_state)
    blend(now, bits, keep, state)
    assert np.abs(state.astype(int) - expected_state).max() <= 1  # float32 against float64
    assert np.abs(now.astype(int) - expected).max() <= 1
    assert np.mean(now != expected) < 0.02


def test_blend_takes_planes_with_gaps_between_samples() -> None:
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 256, (20, 60), dtype=np.uint8)
    keep = np.full(blocks_shape(60, 40), 0.5, np.float32)
    state = np.full((20, 30), 100 << 7, np.uint16)
    expected = pairs[:, ::2].copy()
    blend(expected, 8, keep, state.copy())
    kept = pairs[:, 1::2].copy()
    blend(pairs[:, ::2], 8, keep, state)
    np.testing.assert_array_equal(pairs[:, ::2], expected)
    np.testing.assert_array_equal(pairs[:, 1::2], kept)


def test_shapes_that_disagree_are_refused() -> None:
    plane = np.zeros((16, 16), np.uint8)
    change = np.zeros((2, 2), np.float32)
    with pytest.raises(ValueError, match=r"past\.shape"):
        measure_change(plane, plane[:8], 8, change)
    with pytest.raises(ValueError, match=r"change\.shape"):
        measure_change(plane, plane.copy(), 8, change[:1])
    with pytest.raises(ValueError, match=r"state\.shape"):
        blend(plane, 8, change, np.zeros((8, 8), np.uint16))


def frame(luma: NDArray[np.floating], bits: int = 8, chroma: float = 128) -> Frame:
    """A 4:2:0 frame of a luma picture in 8-bit codes."""
    scale = 2 ** (bits - 8)
    codes = (luma * scale).round().clip(0, 256 * scale - 1)
    half = np.full((-(-luma.shape[0] // 2), -(-luma.shape[1] // 2)), round(chroma * scale))
    planes: tuple[Plane, ...] = tuple(
        plane.astype(np.uint8) if bits == 8 else plane.astype(np.uint16)
        for plane in (codes, half, half)
    )
    return Frame(planes, PixelFormat(bits=bits), 0, Fraction(1, 25))


def smoothed(
    smoother: Smoother, luma: NDArray[np.floating], bits: int = 8, cut: bool = False
) -> NDArray[np.float64]:
    """Luma in 8-bit codes after smoothing a painting that equals its source."""
    out = smoother(frame(luma, bits), frame(luma, bits), cut=cut)
    return out.planes[0] / 2.0 ** (bits - 8)


BACKGROUND = 90 + 40 * np.sin(np.arange(96) / 11)[:, None] + np.linspace(0, 50, 128)


@pytest.mark.parametrize("bits", [8, 10])
def test_identical_frames_stay_identical(bits: int) -> None:
    smoother = Smoother(1.0)
    rng = np.random.default_rng(0)
    source, painting = frame(BACKGROUND, bits), frame(rng.uniform(0, 255, (96, 128)), bits, 77)
    for _ in range(300):
        copy = Frame(tuple(p.copy() for p in painting.planes), painting.pixels, 0, Fraction(1, 25))
        out = smoother(source, copy, cut=False)
        for plane, expected in zip(out.planes, painting.planes, strict=True):
            np.testing.assert_array_equal(plane, expected)


@pytest.mark.parametrize("sigma", [1.0, 3.0, 6.0])
def test_noise_boils_a_quarter_as_much(sigma: float) -> None:
    rng = np.random.default_rng(0)
    smoother = Smoother(1.0)
    sources = [(BACKGROUND + rng.normal(0, sigma, BACKGROUND.shape)).round() for _ in range(50)]
    outs = [smoothed(smoother, source) for source in sources]
    boiling = np.abs(np.diff(outs[20:], axis=0)).mean()
    assert boiling < np.abs(np.diff(sources[20:], axis=0)).mean() / 4


def test_strength_0_touches_nothing() -> None:
    smoother = Smoother(0.0)
    smoother(frame(BACKGROUND), frame(BACKGROUND), cut=False)
    painted = frame(255 - BACKGROUND)
    before = [plane.copy() for plane in painted.planes]
    assert smoother(frame(BACKGROUND), painted, cut=False) is painted
    for plane, expected in zip(painted.planes, before, strict=True):
        np.testing.assert_array_equal(plane, expected)


@pytest.mark.parametrize("strength", [-0.1, 1.5, float("nan")])
def test_strength_outside_0_to_1_is_refused(strength: float) -> None:
    with pytest.raises(SettingsError, match="strength"):
        Smoother(strength)


def test_nothing_of_the_last_shot_shows_after_a_cut() -> None:
    smoother = Smoother(1.0)
    for _ in range(5):
        smoothed(smoother, BACKGROUND)
    new = BACKGROUND + 1  # so near that only the cut can tell
    np.testing.assert_array_equal(smoothed(smoother, new, cut=True), new.round())
    np.testing.assert_array_equal(smoothed(smoother, new), new.round())


@pytest.mark.parametrize("contrast", [20, 60, -60])
def test_what_moves_leaves_no_ghost(contrast: float) -> None:
    rng = np.random.default_rng(0)
    smoother = Smoother(1.0)
    for step in range(40):
        scene = BACKGROUND.copy()
        scene[30:54, 2 * step : 2 * step + 20] += contrast
        out = smoothed(smoother, (scene + rng.normal(0, 1, scene.shape)).round())
        if step > 5:
            trail = (out - scene)[30:54, 2 * step - 10 : 2 * step]
            assert abs(trail.mean()) < 0.8
            assert abs((out - scene)[30:54, 2 * step : 2 * step + 20].mean()) < 0.8


@pytest.mark.parametrize("bits", [8, 10])
def test_slow_light_is_followed(bits: int) -> None:
    smoother = Smoother(1.0)
    rising = [smoothed(smoother, BACKGROUND + step * 0.25, bits) for step in range(120)]
    last = BACKGROUND + 119 * 0.25
    assert abs((rising[-1] - last).mean()) < 3
    steady = [smoothed(smoother, last, bits) for _ in range(60)]
    np.testing.assert_allclose(steady[-1], last, atol=0.51)


def test_a_new_size_begins_anew() -> None:
    smoother = Smoother(1.0)
    smoothed(smoother, BACKGROUND)
    small = BACKGROUND[:31, :17] + 1
    np.testing.assert_array_equal(smoothed(smoother, small), small.round())


def test_noise_is_told_from_motion() -> None:
    rng = np.random.default_rng(0)
    noise = (rng.chisquare(64, (40, 60)) / 64 * 18).astype(np.float32)
    level = LEAST_NOISE
    for _ in range(6):
        level = noise_level(noise, level)
    assert 15 < level < 20
    motion = rng.lognormal(3, 1.2, (40, 60)).astype(np.float32)
    assert noise_level(motion, LEAST_NOISE) == LEAST_NOISE
    assert noise_level(np.zeros((40, 60), np.float32), 7.0) == 7.0
