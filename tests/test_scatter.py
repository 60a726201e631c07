"""Scattered planes: against the oracle to the bit, back from a gather within one code."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.kernels.formats import PixelFormat, TensorFormat
from sfumato.kernels.gather import Gather
from sfumato.kernels.scatter import Scatter
from tests import oracle
from tests.pictures import (
    FORMATS,
    PIXELS,
    STORAGES,
    TENSORS,
    Array,
    formats,
    gamut_planes,
    noise_planes,
    seeds,
    sizes_px,
    storages,
    store,
)

RGB8 = TensorFormat(layout="NHWC", cell=4)


def noise_tensor(tensor: TensorFormat, cells: tuple[int, int], seed: int) -> Array:
    """Values a little beyond black…white in a tensor of ``cells`` (rows, columns)."""
    rng = np.random.default_rng(seed)
    channels = 3 * tensor.cell**2
    shape = (*cells, channels) if tensor.layout == "NHWC" else (channels, *cells)
    if tensor.dtype == "uint8":
        return rng.integers(0, 256, (1, *shape), np.uint8)
    values = rng.uniform(-0.2, 1.2, (1, *shape)) * (tensor.white - tensor.black) + tensor.black
    return values.astype(np.float32)


def assert_like_oracle(
    pixels: PixelFormat, tensor: TensorFormat, storage: str, size_px: tuple[int, int],
    offset_px: tuple[int, int], at_px: tuple[int, int], seed: int,
) -> None:  # fmt: skip
    """A rectangle of ``size_px`` that ends at the frame's lower right corner."""
    (width, height), (left, top), (x, y) = size_px, offset_px, at_px
    cells = (-(-(top + height) // tensor.cell), -(-(left + width) // tensor.cell))
    tile = noise_tensor(tensor, cells, seed)
    before = noise_planes(pixels, x + width, y + height, seed)
    planes = store([plane.copy() for plane in before], storage)
    Scatter(pixels, tensor)(tile, left, top, x, y, width, height, planes)
    want = oracle.scatter(tile, pixels, tensor, size_px, left, top)
    for number, (got, old, part) in enumerate(zip(planes, before, want, strict=True)):
        down, right = (y >> pixels.shift_y, x >> pixels.shift_x) if number else (y, x)
        old[down:, right:] = part
        np.testing.assert_array_equal(got, old, err_msg=f"plane {number}")


@pytest.mark.parametrize(("pixels", "tensor"), FORMATS, ids=str)
def test_every_tensor_format_matches_the_oracle(pixels: PixelFormat, tensor: TensorFormat) -> None:
    assert_like_oracle(pixels, tensor, "padded", (37, 23), (6, 3), (2, 4), 1)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("pixels", PIXELS, ids=str)
def test_every_pixel_format_and_storage_matches_the_oracle(
    pixels: PixelFormat, storage: str
) -> None:
    assert_like_oracle(pixels, RGB8, storage, (35, 19), (5, 2), (4, 6), 2)


@settings(deadline=None, max_examples=100)
@given(formats, storages, sizes_px, seeds, st.data())
def test_any_rectangle_matches_the_oracle(
    both: tuple[PixelFormat, TensorFormat], storage: str, size_px: tuple[int, int], seed: int,
    data: st.DataObject,
) -> None:  # fmt: skip
    pixels, tensor = both
    offset_px = data.draw(st.tuples(st.integers(0, 9), st.integers(0, 9)), "offset_px")
    halves = data.draw(st.tuples(st.integers(0, 5), st.integers(0, 5)), "halves")
    at_px = (2 * halves[0], 2 * halves[1])
    assert_like_oracle(pixels, tensor, storage, size_px, offset_px, at_px, seed)


def there_and_back(planes: list[Array], pixels: PixelFormat, tensor: TensorFormat) -> list[Array]:
    """Through a tensor just big enough, with no network in between."""
    height_px, width_px = planes[0].shape
    tile = noise_tensor(tensor, (-(-height_px // tensor.cell), -(-width_px // tensor.cell)), 0)
    Gather(pixels, tensor)(planes, 0, 0, tile)
    back = [np.zeros_like(plane) for plane in planes]
    Scatter(pixels, tensor)(tile, 0, 0, 0, 0, width_px, height_px, back)
    return back


@settings(deadline=None, max_examples=100)
@given(st.sampled_from([both for both in FORMATS if not both[1].grain]), sizes_px, seeds)
def test_gather_then_scatter_gives_the_source_within_one_code(
    both: tuple[PixelFormat, TensorFormat], size_px: tuple[int, int], seed: int
) -> None:
    pixels, tensor = both
    planes = gamut_planes(pixels, *size_px, seed)
    steps = abs(tensor.white - tensor.black) if tensor.dtype == "uint8" else np.inf
    # Integer tensors hold 8 bit at most: within one of *their* steps, at 10 bit and short ranges.
    bound = max(1, np.ceil(((1 << pixels.bits) - 1) / steps))
    for plane, back in zip(planes, there_and_back(planes, pixels, tensor), strict=True):
        assert np.abs(plane.astype(int) - back.astype(int)).max() <= bound


@pytest.mark.parametrize("matrix", ["bt601", "bt709", "bt2020"])
@pytest.mark.parametrize("full_range", [False, True])
@pytest.mark.parametrize("chroma", ["420", "422", "444"])
@pytest.mark.parametrize("bits", [8, 10])
def test_every_colour_space_comes_back_within_one_code(
    matrix: str, full_range: bool, chroma: str, bits: int
) -> None:
    pixels = PixelFormat(chroma, bits, matrix, full_range)  # type: ignore[arg-type]
    tensor = RGB8 if bits == 8 else TENSORS[5]
    planes = gamut_planes(pixels, 63, 37, 3)
    back = there_and_back(planes, pixels, tensor)
    for plane, again in zip(planes, back, strict=True):
        assert np.abs(plane.astype(int) - again.astype(int)).max() <= 1


@pytest.mark.parametrize("pixels", PIXELS, ids=str)
def test_without_clipping_any_code_comes_back(pixels: PixelFormat) -> None:
    tensor = TensorFormat("NCHW", "float32", clip=False)
    planes = noise_planes(pixels, 33, 17, 7)
    for plane, again in zip(planes, there_and_back(planes, pixels, tensor), strict=True):
        np.testing.assert_array_equal(plane, again)


@pytest.mark.parametrize("pixels", PIXELS, ids=str)
def test_codes_are_the_standards_within_one(pixels: PixelFormat) -> None:
    tile = noise_tensor(RGB8, (5, 6), 4)
    rgb = oracle.unpack(tile, RGB8) / 255
    planes = [np.zeros(s, np.uint8 if pixels.bits == 8 else np.uint16)
              for s in pixels.plane_shapes(24, 20)]  # fmt: skip
    Scatter(pixels, RGB8)(tile, 0, 0, 0, 0, 24, 20, planes)
    want = oracle.standard_yuv(rgb, pixels)
    step_y, step_x = 1 << pixels.shift_y, 1 << pixels.shift_x
    blocks = want.reshape(20 // step_y, step_y, 24 // step_x, step_x, 3).mean(axis=(1, 3))
    for plane, codes in zip(planes, (want[..., 0], blocks[..., 1], blocks[..., 2]), strict=False):
        assert np.abs(plane - codes).max() < 0.51


def test_not_a_number_becomes_the_lower_end() -> None:
    tensor = TensorFormat("NCHW", "float32", white=1)
    planes = [np.full(s, 9, np.uint8) for s in PIXELS[0].plane_shapes(4, 4)]
    Scatter(PIXELS[0], tensor)(np.full((1, 3, 4, 4), np.nan, np.float32), 0, 0, 0, 0, 4, 4, planes)
    assert (planes[0] == 16).all()
    assert (planes[1] == 128).all()


def ramp(length: int, rise: int, fall: int) -> Array:
    """Weights over ``length`` pixels, constant over pairs: up over ``rise``, down over ``fall``."""
    pairs = np.arange(length) // 2 * 2
    up = np.clip((pairs + 1) * 256 // max(1, rise), 0, 256) if rise else np.full(length, 256)
    down = 256 - np.clip((pairs - (length - fall) + 1) * 256 // max(1, fall), 0, 256)
    weights: Array = np.minimum(up, down if fall else 256).astype(np.uint16)
    return weights


@settings(deadline=None, max_examples=40)
@given(st.sampled_from([PIXELS[0], PIXELS[2], PIXELS[5]]), seeds, st.permutations(range(4)))
def test_feathered_tiles_that_agree_give_the_same_as_one_tile(
    pixels: PixelFormat, seed: int, order: list[int]
) -> None:
    whole = noise_tensor(RGB8, (7, 9), seed)
    height_px, width_px = 27, 35
    want = oracle.scatter(whole, pixels, RGB8, (width_px, height_px))
    sums = [np.zeros(s, np.uint32) for s in pixels.plane_shapes(width_px, height_px)]
    scatter = Scatter(pixels, RGB8)
    spans_x = [(0, ramp(24, 0, 12)), (12, ramp(23, 12, 0))]
    spans_y = [(0, ramp(16, 0, 8)), (8, ramp(19, 8, 0))]
    for number in order:
        (x, weights_x), (y, weights_y) = spans_x[number % 2], spans_y[number // 2]
        scatter.add(whole, x, y, x, y, weights_x, weights_y, sums)
    assert all((total == part * 65536).all() for total, part in zip(sums, want, strict=True))
    planes = [np.zeros(s.shape, np.uint8 if pixels.bits == 8 else np.uint16) for s in sums]
    Scatter.finish(sums, store(planes, "nv12"))
    Scatter.finish(sums, planes)
    for plane, part in zip(planes, want, strict=True):
        np.testing.assert_array_equal(plane, part)


def test_feathered_sums_are_codes_times_both_weights() -> None:
    tile = noise_tensor(RGB8, (3, 4), 5)
    rng = np.random.default_rng(6)
    weights_x = np.repeat(rng.integers(0, 257, 7), 2)[:13].astype(np.uint16)
    weights_y = np.repeat(rng.integers(0, 257, 5), 2)[:9].astype(np.uint16)
    sums = [np.full(s, 5, np.uint32) for s in PIXELS[0].plane_shapes(15, 13)]
    Scatter(PIXELS[0], RGB8).add(tile, 2, 1, 2, 4, weights_x, weights_y, sums)
    codes = oracle.scatter(tile, PIXELS[0], RGB8, (13, 9), 2, 1)
    for total, part, every in zip(sums, codes, (1, 2, 2), strict=True):
        want = np.full(total.shape, 5, np.uint32)
        want[4 // every :, 2 // every :] += (
            part * weights_y[::every, None].astype(int) * weights_x[::every]
        ).astype(np.uint32)
        np.testing.assert_array_equal(total, want)


def test_finish_rounds_to_the_nearest_code() -> None:
    sums = [np.array([[0, 32767, 32768, 98303, 98304, 255 * 65536 + 32767]], np.uint32)]
    planes = [np.zeros((1, 6), np.uint8)]
    Scatter.finish(sums, planes)
    assert planes[0].tolist() == [[0, 0, 1, 1, 2, 255]]


@pytest.mark.parametrize(
    ("area", "words"),
    [
        ((0, 0, 1, 0, 4, 4), "even"),
        ((0, 0, 0, 0, 3, 4), "even"),
        ((0, 0, 6, 0, 4, 4), "do not fit"),
        ((6, 0, 0, 0, 4, 4), "do not fit"),
        ((0, 0, 0, 0, 0, 4), "do not fit"),
    ],
)
def test_what_does_not_fit_is_refused(
    area: tuple[int, int, int, int, int, int], words: str
) -> None:
    planes = noise_planes(PIXELS[0], 8, 8, 1)
    with pytest.raises(ValueError, match=words):
        Scatter(PIXELS[0], RGB8)(noise_tensor(RGB8, (2, 2), 1), *area, planes)


def test_planes_that_cannot_be_written_in_place_are_refused() -> None:
    planes = [plane[:, ::-1] for plane in noise_planes(PIXELS[0], 8, 8, 1)]
    with pytest.raises(ValueError, match="adjacent or alternate"):
        Scatter(PIXELS[0], RGB8)(noise_tensor(RGB8, (2, 2), 1), 0, 0, 0, 0, 8, 8, planes)


def test_read_only_planes_are_refused() -> None:
    planes = noise_planes(PIXELS[0], 8, 8, 1)
    planes[1].flags.writeable = False
    with pytest.raises(ValueError, match="should be writeable"):
        Scatter(PIXELS[0], RGB8)(noise_tensor(RGB8, (2, 2), 1), 0, 0, 0, 0, 8, 8, planes)
