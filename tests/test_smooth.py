"""Smoothing over time: against a NumPy oracle, and against what a viewer would see."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.kernels.formats import PixelFormat
from sfumato.kernels.hold import BLOCK_PX, blocks_shape
from sfumato.kernels.smooth import NEAR, STATE_BITS, blend, keep_from_change
from sfumato.stream.errors import SettingsError
from sfumato.stream.frame import Frame, Plane
from sfumato.stream.temporal.hold import COHERENCE, Hold
from sfumato.stream.temporal.smooth import Smoother

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
    """Interpolate the map, mix, go all the way where it is not far, round."""
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
    target = plane * unit
    mixed = np.floor(weights * state + (1 - weights) * target + 0.5)
    state[...] = np.where(np.abs(target - state) <= NEAR, target, mixed)
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
    active, painted = np.ones(keep.shape, np.bool_), now
    now = np.zeros_like(now)
    blend(painted, bits, keep, state, active, now)
    rest = state != np.multiply(painted, 1 << (STATE_BITS - bits), dtype=np.uint16)
    np.testing.assert_array_equal(active, in_blocks(rest, keep.shape))
    assert np.abs(state.astype(int) - expected_state).max() <= 1  # float32 against float64
    assert np.abs(now.astype(int) - expected).max() <= 1
    assert np.mean(now != expected) < 0.02


def in_blocks(samples: NDArray[np.bool_], blocks: tuple[int, ...]) -> NDArray[np.bool_]:
    """The blocks that hold any of the samples."""
    down, across = (
        8 if size > 4 * count else 4 for size, count in zip(samples.shape, blocks, strict=True)
    )
    found = np.zeros(blocks, np.bool_)
    for y, x in np.argwhere(samples):
        found[y // down, x // across] = True
    return found


@given(luma_pairs(), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_blocks_at_rest_are_left_out(pair: tuple[int, Plane, Plane], seed: int) -> None:
    """Leaving out the blocks that the map says are at rest changes nothing, to the bit."""
    bits, luma, past = pair
    keep = keep_from_change(change_oracle(luma, past, bits), 3.0, 30.0, 0.9)
    states = [np.multiply(past, 1 << (STATE_BITS - bits), dtype=np.uint16) for _ in range(2)]
    outs = [np.zeros_like(luma) for _ in range(2)]
    active = np.ones(keep.shape, np.bool_)
    painted = past.copy()
    where = np.random.default_rng(seed).random(keep.shape) < 0.3
    fresh = np.repeat(np.repeat(where, BLOCK_PX, 0), BLOCK_PX, 1)[: luma.shape[0], : luma.shape[1]]
    painted[fresh] = luma[fresh]
    for _ in range(4):
        blend(painted, bits, keep, states[0], np.ones_like(active), outs[0])
        blend(painted, bits, keep, states[1], active, outs[1])
        np.testing.assert_array_equal(states[0], states[1])
        np.testing.assert_array_equal(outs[0], outs[1])


def test_blend_takes_planes_with_gaps_between_samples() -> None:
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 256, (20, 60), dtype=np.uint8)
    keep = np.full(blocks_shape(60, 40), 0.5, np.float32)
    state = np.full((20, 30), 100 << 7, np.uint16)
    out, expected = np.empty((2, 20, 30), np.uint8)
    blend(pairs[:, ::2].copy(), 8, keep, state.copy(), np.ones(keep.shape, np.bool_), expected)
    blend(pairs[:, ::2], 8, keep, state, np.ones(keep.shape, np.bool_), out)
    np.testing.assert_array_equal(out, expected)


def test_shapes_that_disagree_are_refused() -> None:
    plane = np.zeros((16, 16), np.uint8)
    keep, active = np.zeros((2, 2), np.float32), np.ones((2, 2), np.bool_)
    state = np.zeros((16, 16), np.uint16)
    with pytest.raises(ValueError, match=r"state\.shape"):
        blend(plane, 8, keep, state[:8], active, plane.copy())
    with pytest.raises(ValueError, match=r"active\.shape"):
        blend(plane, 8, keep, state, active[:1], plane.copy())


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


class Both:
    """A smoother, and what tells it of the source."""

    def __init__(self, strength: float) -> None:
        self.smoother = Smoother(strength)
        self.hold = Hold(still=False)

    def __call__(self, source: Frame, painted: Frame, *, cut: bool) -> Frame:
        seen = self.hold(source)
        everywhere = np.ones_like(seen.changed)
        return self.smoother(painted, seen.change, everywhere, cut=cut, variance=seen.variance)


def smoothed(
    smoother: Both, luma: NDArray[np.floating], bits: int = 8, cut: bool = False
) -> NDArray[np.float64]:
    """Luma in 8-bit codes after smoothing a painting that equals its source."""
    out = smoother(frame(luma, bits), frame(luma, bits), cut=cut)
    return out.planes[0] / 2.0 ** (bits - 8)


BACKGROUND = 90 + 40 * np.sin(np.arange(96) / 11)[:, None] + np.linspace(0, 50, 128)


@pytest.mark.parametrize("bits", [8, 10])
def test_identical_frames_stay_identical(bits: int) -> None:
    smoother = Both(1.0)
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
    smoother = Both(1.0)
    sources = [(BACKGROUND + rng.normal(0, sigma, BACKGROUND.shape)).round() for _ in range(50)]
    outs = [smoothed(smoother, source) for source in sources]
    boiling = np.abs(np.diff(outs[20:], axis=0)).mean()
    assert boiling < np.abs(np.diff(sources[20:], axis=0)).mean() / 4


def test_strength_0_touches_nothing() -> None:
    smoother = Both(0.0)
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
    smoother = Both(1.0)
    for _ in range(5):
        smoothed(smoother, BACKGROUND)
    new = BACKGROUND + 1  # so near that only the cut can tell
    np.testing.assert_array_equal(smoothed(smoother, new, cut=True), new.round())
    np.testing.assert_array_equal(smoothed(smoother, new), new.round())


@pytest.mark.parametrize("contrast", [20, 60, -60])
def test_what_moves_leaves_no_ghost(contrast: float) -> None:
    rng = np.random.default_rng(0)
    smoother = Both(1.0)
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
    smoother = Both(1.0)
    rising = [smoothed(smoother, BACKGROUND + step * 0.25, bits) for step in range(120)]
    last = BACKGROUND + 119 * 0.25
    assert abs((rising[-1] - last).mean()) < 3
    steady = [smoothed(smoother, last, bits) for _ in range(60)]
    np.testing.assert_allclose(steady[-1], last, atol=0.51)


def test_a_new_size_begins_anew() -> None:
    smoother = Both(1.0)
    smoothed(smoother, BACKGROUND)
    small = BACKGROUND[:31, :17] + 1
    np.testing.assert_array_equal(smoothed(smoother, small), small.round())
