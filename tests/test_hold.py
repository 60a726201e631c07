"""Holding still: the kernels against their oracles, and what a viewer would see."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.kernels.formats import PixelFormat
from sfumato.kernels.hold import blocks_shape, settle, survey
from sfumato.stream.buffers import release
from sfumato.stream.frame import Frame, Plane
from sfumato.stream.temporal.hold import Hold, Seen, spread
from tests import oracle

PICTURE = 90 + 40 * np.sin(np.arange(144) / 11)[:, None] + np.linspace(0, 50, 192)
FORMATS = [
    PixelFormat(),
    PixelFormat(bits=10),
    PixelFormat(chroma="422"),
    PixelFormat(chroma="444", bits=10),
    PixelFormat(chroma="grey"),
]


def frame(luma: NDArray[np.floating], pixels: PixelFormat = FORMATS[0], tint: float = 0) -> Frame:
    """A frame of a luma picture in codes of 8 bit, its chroma drawn after it."""
    height_px, width_px = luma.shape
    unit = 2 ** (pixels.bits - 8)
    planes: list[Plane] = []
    for number, (rows, columns) in enumerate(pixels.plane_shapes(width_px, height_px)):
        part = luma[:: -(-height_px // rows), :: -(-width_px // columns)]
        codes = part + tint if number == 0 else 128 + (part - 120) / 3 + tint
        planes.append(as_plane((codes * unit).round().clip(0, 256 * unit - 1), pixels.bits))
    return Frame(tuple(planes), pixels, 0, Fraction(1, 30))


def noisy(
    luma: NDArray[np.floating], sigma: float, rng: np.random.Generator, pixels: PixelFormat
) -> Frame:
    """The frame with noise of its own on every plane, in codes of 8 bit."""
    clean, unit = frame(luma, pixels), 2 ** (pixels.bits - 8)
    planes: list[Plane] = []
    for plane in clean.planes:
        codes = plane + rng.normal(0, sigma * unit, plane.shape).round()
        planes.append(as_plane(codes.clip(0, 256 * unit - 1), pixels.bits))
    return Frame(tuple(planes), pixels, 0, Fraction(1, 30))


def as_plane(codes: NDArray[Any], bits: int) -> Plane:
    """The codes in the type of a plane."""
    return codes.astype(np.uint8) if bits == 8 else codes.astype(np.uint16)


def hold_all(frames: list[Frame], hold: Hold | None = None) -> list[Seen]:
    """What comes of each frame. Leases are kept, so that the planes stay as they are."""
    hold = hold or Hold()
    seen = [hold(each) for each in frames]
    hold.close()
    return seen


@st.composite
def plane_pairs(draw: st.DrawFn) -> tuple[int, Plane, Plane, tuple[int, int]]:
    """(bits, a plane, another, shape of the block map), luma or halved chroma of odd sizes."""
    bits = draw(st.sampled_from([8, 10]))
    luma = draw(st.tuples(st.integers(1, 37), st.integers(1, 43)))
    halved = draw(st.tuples(st.booleans(), st.booleans()))
    shape = tuple(-(-size // 2) if half else size for size, half in zip(luma, halved, strict=True))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    far = draw(st.sampled_from([1, 5, 400]))
    first = rng.integers(0, 2**bits, shape)
    other = (first + rng.integers(-far, far + 1, shape)).clip(0, 2**bits - 1)
    return bits, as_plane(first, bits), as_plane(other, bits), blocks_shape(luma[1], luma[0])


@given(plane_pairs())
@settings(max_examples=40, deadline=None)
def test_survey_is_the_oracles(pair: tuple[int, Plane, Plane, tuple[int, int]]) -> None:
    bits, now, shown, blocks = pair
    maps = np.empty((3, *blocks), np.float32)
    wide = np.zeros((now.shape[0], 2 * now.shape[1] + 3), now.dtype)
    wide[:, : 2 * now.shape[1] : 2] = now
    for view in (now, wide[:, : 2 * now.shape[1] : 2]):
        survey(view, shown, bits, maps)
        np.testing.assert_allclose(maps, oracle.survey(now, shown, bits, blocks), rtol=1e-5)


@given(plane_pairs(), st.integers(0, 99), st.booleans())
@settings(max_examples=40, deadline=None)
def test_settle_is_the_oracles(
    pair: tuple[int, Plane, Plane, tuple[int, int]], seed: int, follow: bool
) -> None:
    _, now, shown, blocks = pair
    rng = np.random.default_rng(seed)
    moving = (rng.random(blocks) < 0.3).astype(np.uint8)
    phase = rng.normal(0, 2, blocks).astype(np.float32)
    shift = rng.normal(0, 2, blocks).astype(np.float32) if follow else None
    out = np.empty_like(now)
    settle(now, shown, moving, shift, phase, out)
    expected = oracle.settle(now, shown, moving, shift, phase)
    wrong = out != expected  # float32 against float64, right at a threshold
    assert wrong.mean() <= 0.01 if wrong.size > 200 else wrong.sum() <= 1
    assert np.abs(out.astype(int) - expected).max() <= 1


def test_shapes_that_disagree_are_refused() -> None:
    plane = np.zeros((16, 16), np.uint8)
    with pytest.raises(ValueError, match=r"shown\.shape"):
        survey(plane, plane[:8], 8, np.empty((3, 2, 2), np.float32))
    with pytest.raises(ValueError, match="blocks"):
        survey(plane, plane, 8, np.empty((3, 3, 2), np.float32))
    moving, phase = np.zeros((2, 2), np.uint8), np.zeros((2, 2), np.float32)
    with pytest.raises(ValueError, match=r"out\.shape"):
        settle(plane, plane, moving, None, phase, plane[:, :8].copy())
    with pytest.raises(ValueError, match=r"phase\.shape"):
        settle(plane, plane, moving, None, phase[:1], plane.copy())


@pytest.mark.parametrize("pixels", FORMATS, ids=str)
@pytest.mark.parametrize("sigma", [2.0, 4.0])
def test_a_still_noisy_scene_stands_still(pixels: PixelFormat, sigma: float) -> None:
    rng = np.random.default_rng(0)
    frames = [noisy(PICTURE, sigma, rng, pixels) for _ in range(60)]
    seen = hold_all(frames)
    for plane in range(len(frames[0].planes)):
        before = np.var([f.planes[plane] for f in frames], axis=0).mean()
        after = np.var([s.frame.planes[plane] for s in seen], axis=0).mean()
        assert after <= 0.02 * before
    assert np.mean([s.changed.mean() for s in seen[1:]]) < 0.01
    assert abs(seen[-1].variance ** 0.5 - sigma) < 0.15 * sigma


@pytest.mark.parametrize("pixels", FORMATS, ids=str)
def test_without_noise_frames_pass_as_they_are(pixels: PixelFormat) -> None:
    frames = []
    for step in range(20):
        scene = PICTURE.copy()
        scene[40:90, 5 * step : 5 * step + 30] = 200
        frames.append(frame(scene, pixels))
    for before, now, seen in zip([None, *frames], frames, hold_all(frames), strict=False):
        for got, plane in zip(seen.frame.planes, now.planes, strict=True):
            np.testing.assert_array_equal(got, plane)
        if before is not None:
            blocks = blocks_shape(192, 144)
            unequal = np.zeros(blocks, np.bool_)
            for one, other in zip(before.planes, now.planes, strict=True):
                unequal |= oracle.survey(one, other, pixels.bits, blocks)[0] > 0
            np.testing.assert_array_equal(seen.changed, unequal)


def test_hold_off_passes_noise_and_still_measures_it() -> None:
    rng = np.random.default_rng(0)
    frames = [noisy(PICTURE, 3.0, rng, FORMATS[0]) for _ in range(12)]
    seen = hold_all(frames, Hold(still=False))
    for each, source in zip(seen, frames, strict=True):
        assert all(a is b for a, b in zip(each.frame.planes, source.planes, strict=True))
    assert 8 < seen[-1].variance < 10
    assert all(each.changed.all() for each in seen)


@pytest.mark.parametrize("sigma", [2.0, 4.0])
@pytest.mark.parametrize("slope", [1.0, -1.0])
@pytest.mark.parametrize("bits", [8, 10])
def test_slow_light_is_followed_without_patches(sigma: float, slope: float, bits: int) -> None:
    """One code a second at 30 fps, for ten seconds."""
    rng = np.random.default_rng(0)
    pixels, hold = PixelFormat(bits=bits), Hold()
    unit, worst, late = 2.0 ** (bits - 8), 0.0, []
    for number in range(300):
        truth = PICTURE + slope * number / 30
        seen = hold(noisy(truth, sigma, rng, pixels))
        error = seen.frame.planes[0] / unit - truth
        worst = max(worst, abs(error.mean()))
        late.append(error)
        release(seen.frame)
    hold.close()
    assert worst <= 1.0
    blocks = (late[-1] - late[0]).reshape(18, 8, 24, 8).mean((1, 3))
    assert blocks.std() < 0.075 * sigma  # the frozen noise apart, neighbours rise alike
    assert late[-1].std() < 1.15 * late[0].std()


@pytest.mark.parametrize("sigma", [2.0, 4.0])
@pytest.mark.parametrize("contrast", [15, 60, -40])
def test_what_moves_leaves_no_ghost(sigma: float, contrast: float) -> None:
    rng = np.random.default_rng(0)
    hold, pixels = Hold(), FORMATS[0]
    for step in range(60):
        scene = PICTURE.copy()
        if step >= 10:
            scene[50:90, 3 * (step - 10) : 3 * (step - 10) + 24] += contrast
        seen = hold(noisy(scene, sigma, rng, pixels))
        error = (seen.frame.planes[0] - scene)[50:90]
        release(seen.frame)
        if step > 21:
            here = 3 * (step - 10)
            assert abs(error[:, here - 33 : here - 9].mean()) < 1.2  # three frames behind it
            assert (
                abs(error[:, here : here + 24].mean()) < 2.6
            )  # three columns of a faint edge may come a frame late
    hold.close()


def test_a_change_of_colour_alone_is_seen() -> None:
    rng = np.random.default_rng(0)
    frames = [noisy(PICTURE, 2.0, rng, FORMATS[0]) for _ in range(12)]
    red = frames[-1].planes[2].copy()
    red[20:40, 30:60] += 8
    changed = Frame((*frames[-1].planes[:2], red), FORMATS[0], 0, Fraction(1, 30))
    seen = hold_all([*frames, changed])[-1]
    assert seen.changed[6:9, 8:14].all()
    np.testing.assert_array_equal(seen.frame.planes[2][22:38, 32:58], red[22:38, 32:58])


def test_a_cut_shows_the_new_picture_as_it_is() -> None:
    rng = np.random.default_rng(0)
    other = 60 + 150 * (np.indices(PICTURE.shape).sum(0) // 24 % 2)
    frames = [noisy(PICTURE, 3.0, rng, FORMATS[0]) for _ in range(10)]
    frames += [noisy(other.astype(float), 3.0, rng, FORMATS[0]) for _ in range(3)]
    seen = hold_all(frames)
    assert [each.cut for each in seen].index(True) == 10
    np.testing.assert_array_equal(seen[10].frame.planes[0], frames[10].planes[0])


def test_another_size_begins_anew() -> None:
    small = PICTURE[:40, :50]
    seen = hold_all([frame(PICTURE), frame(small), frame(small)])
    assert [each.first for each in seen] == [True, True, False]
    assert not seen[2].changed.any() and seen[2].frame.planes is seen[1].frame.planes


def test_the_same_frames_give_the_same_result() -> None:
    def frames() -> list[Frame]:
        rng = np.random.default_rng(7)
        return [noisy(PICTURE + step / 10, 3.0, rng, FORMATS[0]) for step in range(30)]

    for one, other in zip(hold_all(frames()), hold_all(frames()), strict=True):
        for a, b in zip(one.frame.planes, other.frame.planes, strict=True):
            np.testing.assert_array_equal(a, b)


def test_spread_takes_the_eight_neighbours() -> None:
    mask = np.zeros((5, 6), np.bool_)
    mask[2, 3] = mask[0, 0] = True
    expected = np.zeros_like(mask)
    expected[1:4, 2:5] = expected[:2, :2] = True
    np.testing.assert_array_equal(spread(mask), expected)
