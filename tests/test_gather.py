"""Gathered tensors: against the oracle to the bit, against the standards within one code."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.kernels.formats import PixelFormat, TensorFormat
from sfumato.kernels.gather import Gather
from tests import oracle
from tests.pictures import (
    FORMATS,
    PIXELS,
    STORAGES,
    TENSORS,
    Array,
    formats,
    noise_planes,
    seeds,
    sizes_px,
    storages,
    store,
    texture,
)

RGB8 = TensorFormat(layout="NHWC", cell=4)


def gathered(
    planes: list[Array], pixels: PixelFormat, tensor: TensorFormat, x_px: int = 0, y_px: int = 0,
    cells: tuple[int, int] = (1, 1),
) -> Array:  # fmt: skip
    channels = (4 if tensor.grain else 3) * tensor.cell**2
    rows, columns = cells
    shape = (rows, columns, channels) if tensor.layout == "NHWC" else (channels, rows, columns)
    out = np.full((1, *shape), 77, tensor.dtype)
    Gather(pixels, tensor, texture(tensor))(planes, x_px, y_px, out)
    return out


def assert_like_oracle(
    planes: list[Array], storage: str, pixels: PixelFormat, tensor: TensorFormat,
    x_px: int, y_px: int, cells: tuple[int, int],
) -> None:  # fmt: skip
    got = gathered(store(planes, storage), pixels, tensor, x_px, y_px, cells)
    height_px, width_px = cells[0] * tensor.cell, cells[1] * tensor.cell
    grain = texture(tensor)
    want = oracle.gather(planes, pixels, tensor, grain, x_px, y_px, width_px, height_px)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(("pixels", "tensor"), FORMATS, ids=str)
def test_every_tensor_format_matches_the_oracle(pixels: PixelFormat, tensor: TensorFormat) -> None:
    assert_like_oracle(noise_planes(pixels, 37, 23, 1), "padded", pixels, tensor, -7, -5, (5, 6))


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("pixels", PIXELS, ids=str)
def test_every_pixel_format_and_storage_matches_the_oracle(
    pixels: PixelFormat, storage: str
) -> None:
    assert_like_oracle(noise_planes(pixels, 35, 19, 2), storage, pixels, RGB8, 3, -2, (6, 9))


@settings(deadline=None, max_examples=120)
@given(formats, storages, sizes_px, seeds, st.data())
def test_any_window_matches_the_oracle(
    both: tuple[PixelFormat, TensorFormat], storage: str, size_px: tuple[int, int], seed: int,
    data: st.DataObject,
) -> None:  # fmt: skip
    pixels, tensor = both
    planes = noise_planes(pixels, *size_px, seed)
    x_px = data.draw(st.integers(-3 * size_px[0], 3 * size_px[0]), "x_px")
    y_px = data.draw(st.integers(-3 * size_px[1], 3 * size_px[1]), "y_px")
    cells = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 40 // tensor.cell)), "cells")
    assert_like_oracle(planes, storage, pixels, tensor, x_px, y_px, cells)


@pytest.mark.parametrize("size_px", [(1, 1), (1, 9), (9, 1), (2, 2), (3, 1)])
def test_strips_fill_windows_many_times_their_size(size_px: tuple[int, int]) -> None:
    planes = noise_planes(PIXELS[0], *size_px, 3)
    assert_like_oracle(planes, "plain", PIXELS[0], RGB8, -21, -17, (11, 12))


def test_far_windows_show_the_same_as_near_ones() -> None:
    pixels, tensor = PixelFormat(), TENSORS[1]
    planes = noise_planes(pixels, 17, 9, 4)
    far_x_px, far_y_px = 32 * 256 * 1000, -16 * 256 * 1000  # whole periods of frame and grain
    near = gathered(planes, pixels, tensor, 3, 1, (4, 4))
    far = gathered(planes, pixels, tensor, 3 + far_x_px, 1 + far_y_px, (4, 4))
    np.testing.assert_array_equal(near, far)


BARS = {
    # 100 % yellow, cyan, green, magenta, red, blue, white, black as 8-bit Y, U, V.
    ("bt601", False): {
        "yellow": (210, 16, 146), "cyan": (170, 166, 16), "green": (145, 54, 34),
        "magenta": (106, 202, 222), "red": (81, 90, 240), "blue": (41, 240, 110),
        "white": (235, 128, 128), "black": (16, 128, 128),
    },
    ("bt709", False): {
        "yellow": (219, 16, 138), "cyan": (188, 154, 16), "green": (173, 42, 26),
        "magenta": (78, 214, 230), "red": (63, 102, 240), "blue": (32, 240, 118),
        "white": (235, 128, 128), "black": (16, 128, 128),
    },
    ("bt601", True): {
        "yellow": (226, 0, 149), "cyan": (179, 171, 0), "green": (150, 44, 21),
        "magenta": (105, 212, 235), "red": (76, 85, 255), "blue": (29, 255, 107),
        "white": (255, 128, 128), "black": (0, 128, 128),
    },
    ("bt709", True): {
        "yellow": (237, 0, 140), "cyan": (201, 157, 0), "green": (182, 30, 12),
        "magenta": (73, 226, 244), "red": (54, 99, 255), "blue": (18, 255, 116),
        "white": (255, 128, 128), "black": (0, 128, 128),
    },
}  # fmt: skip
BAR_COLOURS = {
    "yellow": (255, 255, 0), "cyan": (0, 255, 255), "green": (0, 255, 0),
    "magenta": (255, 0, 255), "red": (255, 0, 0), "blue": (0, 0, 255),
    "white": (255, 255, 255), "black": (0, 0, 0),
}  # fmt: skip


@pytest.mark.parametrize("key", BARS, ids=str)
def test_colour_bars_have_their_well_known_values(key: tuple[str, bool]) -> None:
    pixels = PixelFormat(matrix=key[0], full_range=key[1])  # type: ignore[arg-type]
    for name, codes in BARS[key].items():
        planes = [np.full((4, 4), codes[0], np.uint8)]
        planes += [np.full((2, 2), code, np.uint8) for code in codes[1:]]
        got = oracle.unpack(gathered(planes, pixels, RGB8), RGB8)
        # A code of chroma is worth up to 2.2 codes of colour: bars are rounded to whole codes.
        assert np.abs(got.astype(int) - BAR_COLOURS[name]).max() <= 2, name
        grey = name in ("white", "black")
        assert not grey or np.array_equal(got[0, 0], BAR_COLOURS[name]), name


@pytest.mark.parametrize("pixels", PIXELS, ids=str)
def test_colours_are_the_standards_within_one_code(pixels: PixelFormat) -> None:
    planes = noise_planes(pixels, 32, 16, 5)
    got = oracle.unpack(gathered(planes, pixels, RGB8, 0, 0, (4, 8)), RGB8)
    codes = np.stack(oracle.full_size(planes, pixels), axis=-1)
    want = np.clip(oracle.standard_rgb(codes, pixels), 0, 1) * 255
    assert np.abs(got - want).max() < 0.501


def test_float_colours_are_the_standards_within_a_ten_thousandth() -> None:
    pixels, tensor = PixelFormat(bits=10), TensorFormat("NCHW", "float32", black=0, white=1)
    planes = noise_planes(pixels, 32, 16, 6)
    got = oracle.unpack(gathered(planes, pixels, tensor, 0, 0, (16, 32)), tensor)
    codes = np.stack(oracle.full_size(planes, pixels), axis=-1)
    want = np.clip(oracle.standard_rgb(codes, pixels), 0, 1)
    np.testing.assert_allclose(got, want, atol=1e-6)


def test_grey_pixels_have_three_equal_colours() -> None:
    for pixels in PIXELS:
        planes = noise_planes(pixels, 32, 16, 8)
        for plane in planes[1:]:
            plane[:] = 128 << (pixels.bits - 8)
        rgb = oracle.unpack(gathered(planes, pixels, RGB8, 0, 0, (4, 8)), RGB8)
        assert np.array_equal(rgb, rgb[..., :1].repeat(3, axis=-1)), pixels


def test_one_gather_serves_many_threads() -> None:
    pixels, tensor = PIXELS[0], TENSORS[1]
    planes = noise_planes(pixels, 97, 61, 9)
    gather = Gather(pixels, tensor, texture(tensor))

    def tile(x_px: int) -> Array:
        out = np.zeros((1, 16, 16, 64), np.uint8)
        gather(planes, x_px, -3, out)
        return out

    with ThreadPoolExecutor(4) as pool:
        tiles = list(pool.map(tile, range(-40, 40)))
    for x_px, got in zip(range(-40, 40), tiles, strict=True):
        np.testing.assert_array_equal(got, tile(x_px))


def test_read_only_planes_are_fine() -> None:
    planes = noise_planes(PIXELS[0], 8, 8, 1)
    want = gathered(planes, PIXELS[0], RGB8)
    for plane in planes:
        plane.flags.writeable = False
    np.testing.assert_array_equal(gathered(planes, PIXELS[0], RGB8), want)


def test_flipped_planes_are_copied() -> None:
    planes = noise_planes(PIXELS[0], 8, 8, 1)
    want = gathered([np.ascontiguousarray(p[::-1, ::-1]) for p in planes], PIXELS[0], RGB8)
    np.testing.assert_array_equal(gathered([p[::-1, ::-1] for p in planes], PIXELS[0], RGB8), want)


def test_what_does_not_fit_is_refused() -> None:
    planes = noise_planes(PIXELS[0], 8, 8, 1)
    gather = Gather(PIXELS[0], RGB8)
    with pytest.raises(ValueError, match="48 channels, NHWC"):
        gather(planes, 0, 0, np.zeros((1, 2, 2, 47), np.uint8))
    with pytest.raises(ValueError, match="contiguous uint8"):
        gather(planes, 0, 0, np.zeros((1, 2, 2, 48), np.float32))
    with pytest.raises(ValueError, match="should be"):
        gather(planes[:2], 0, 0, np.zeros((1, 2, 2, 48), np.uint8))
    with pytest.raises(ValueError, match="uint16 should be uint8"):
        gather([p.astype(np.uint16) for p in planes], 0, 0, np.zeros((1, 2, 2, 48), np.uint8))
    with pytest.raises(ValueError, match="grain"):
        Gather(PIXELS[0], replace(RGB8, grain=True))
