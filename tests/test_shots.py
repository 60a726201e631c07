"""Hard cuts are found; fades, flashes, pans and noise are none."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.kernels.formats import PixelFormat
from sfumato.stream.frame import Frame
from sfumato.stream.temporal.shots import CutDetector

Picture = NDArray[np.float64]
SIZE = (144, 256)


def scene(seed: int, rows: int = SIZE[0], columns: int = SIZE[1]) -> Picture:
    """Luma 0…255 that looks like a shot: large soft shapes and small sharp ones."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:rows, :columns]
    picture = np.full((rows, columns), 110.0)
    for size in (90, 90, 60, 40, *[16] * 30):
        at_y, at_x = rng.uniform(0, rows), rng.uniform(0, columns)
        inside = np.hypot(y - at_y, x - at_x) < size * rng.uniform(0.5, 1)
        picture[inside] += rng.uniform(-70, 70)
    return picture.clip(16, 235)


def cuts(pictures: Iterable[Picture], bits: int = 8) -> list[int]:
    """Indices of the frames that begin a shot."""
    detect = CutDetector()
    found = []
    for index, picture in enumerate(pictures):
        codes = (picture.clip(0, 255) * 2 ** (bits - 8)).round()
        luma = codes.astype(np.uint8 if bits == 8 else np.uint16)
        pixels = PixelFormat(chroma="grey", bits=bits)
        if detect(Frame((luma,), pixels, index, Fraction(1, 25))):
            found.append(index)
    return found


@pytest.mark.parametrize("bits", [8, 10])
def test_hard_cuts_are_found_at_their_frame(bits: int) -> None:
    shots = [[scene(seed)] * 4 for seed in range(8)]
    assert cuts((p for shot in shots for p in shot), bits) == [4, 8, 12, 16, 20, 24, 28]


def test_a_cut_in_noise_is_found() -> None:
    rng = np.random.default_rng(1)
    pictures = [scene(seed) + rng.normal(0, 6, SIZE) for seed in [1] * 5 + [2] * 5]
    assert cuts(pictures) == [5]


def test_cross_fades_and_fades_to_black_are_no_cuts() -> None:
    a, b = scene(1), scene(2)
    across = [a + (b - a) * t for t in np.linspace(0, 1, 15)]
    down = [b * t for t in np.linspace(1, 0, 15)]
    assert cuts([*across, *down, *[b * 0] * 3, *down[::-1]]) == []


def test_black_between_two_shots_is_one_cut() -> None:
    assert cuts([scene(1)] * 3 + [scene(1) * 0] * 3 + [scene(2)] * 3) == [6]


@pytest.mark.parametrize("flash", [1.3, 1.8, 20.0])
def test_a_flash_is_no_cut(flash: float) -> None:
    bright = scene(3) * flash
    assert cuts([scene(3)] * 4 + [bright, bright] + [scene(3)] * 4) == []


def test_a_frame_between_two_of_one_shot_is_at_most_one_cut() -> None:
    assert cuts([scene(3)] * 4 + [scene(4)] + [scene(3)] * 4) == [4]


@pytest.mark.parametrize("step", [(0, 3), (0, 20), (6, 9)])
def test_a_pan_is_no_cut(step: tuple[int, int]) -> None:
    wide = scene(5, 300, 700)
    down, right = step
    frames = [wide[i * down :, i * right :][: SIZE[0], : SIZE[1]] for i in range(20)]
    assert cuts(frames) == []


def test_still_frames_and_tiny_frames() -> None:
    assert cuts([scene(6)] * 5) == []
    assert cuts([scene(6)[:1, :1]] * 3) == []
    assert cuts([scene(6)[:5, :9]] * 3 + [scene(7)[:5, :9]]) == []
