"""Small frames for the kernel tests, in every memory layout a decoder hands over."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.kernels.formats import PixelFormat, TensorFormat
from tests import oracle

Array = NDArray[Any]

PIXELS = [
    PixelFormat(),
    PixelFormat(matrix="bt601", full_range=True),
    PixelFormat(chroma="422", matrix="bt601"),
    PixelFormat(chroma="444", matrix="bt2020", full_range=True),
    PixelFormat(chroma="grey"),
    PixelFormat(bits=10, matrix="bt2020"),
    PixelFormat(bits=10, chroma="444", full_range=True),
    PixelFormat(bits=10, chroma="grey", full_range=True),
]
TENSORS = [
    TensorFormat(cell=4),
    TensorFormat(cell=4, grain=True, channel_order="BGR"),
    TensorFormat(cell=8, black=16, white=235),
    TensorFormat(cell=2, layout="NCHW"),
    TensorFormat(cell=4, layout="NCHW", grain=True, black=255, white=0),
    TensorFormat(dtype="float32", layout="NCHW", black=-1, white=1),
    TensorFormat(dtype="float32", layout="NCHW", cell=4, white=1, grain=True),
    TensorFormat(dtype="float32", cell=1, channel_order="BGR"),
    TensorFormat(dtype="float32", cell=8, white=1),
]
"""Every value of every field at least once."""

FORMATS = [
    (pixels, tensor)
    for pixels in PIXELS
    for tensor in TENSORS
    if pixels.bits == 8 or tensor in (TENSORS[0], TENSORS[5])
]
"""Bits and tensor format choose the compiled code: all combinations would take minutes."""

STORAGES = ("plain", "padded", "mixed", "nv12")


def store(planes: list[Array], storage: str) -> list[Array]:
    """The same planes with padded rows, all or U alone, or U and V as alternate columns of one."""
    if storage == "plain":
        return planes
    padded = []
    for plane in planes:
        memory = np.zeros((plane.shape[0], plane.shape[1] + 5), plane.dtype)
        memory[:, : plane.shape[1]] = plane
        padded.append(memory[:, : plane.shape[1]])
    if storage == "padded" or len(planes) == 1:
        return padded
    if storage == "mixed":
        return [planes[0], padded[1], planes[2]]
    rows, columns = planes[1].shape
    both = np.zeros((rows, 2 * columns + 6), planes[1].dtype)
    chroma = [both[:, 0 : 2 * columns : 2], both[:, 1 : 2 * columns : 2]]
    for plane, source in zip(chroma, planes[1:], strict=True):
        plane[:] = source
    return [padded[0], *chroma]


def noise_planes(pixels: PixelFormat, width_px: int, height_px: int, seed: int) -> list[Array]:
    """Any codes at all, also those outside the legal range and the RGB gamut."""
    rng = np.random.default_rng(seed)
    dtype = np.uint8 if pixels.bits == 8 else np.uint16
    shapes = pixels.plane_shapes(width_px, height_px)
    return [rng.integers(0, 1 << pixels.bits, shape, dtype) for shape in shapes]


def gamut_planes(pixels: PixelFormat, width_px: int, height_px: int, seed: int) -> list[Array]:
    """Random colours whose every pixel, chroma replicated, lies inside the RGB cube."""
    rng = np.random.default_rng(seed)
    shapes = pixels.plane_shapes(width_px, height_px)
    if pixels.chroma == "grey":
        codes = oracle.standard_yuv(rng.random((*shapes[0], 1)).repeat(3, axis=2), pixels)
        return [_codes(codes[..., 0], pixels)]
    codes = oracle.standard_yuv(rng.uniform(0.02, 0.98, (*shapes[1], 3)), pixels)
    planes = [_codes(plane, pixels) for plane in np.moveaxis(codes, -1, 0)]
    base, u, v = oracle.full_size([np.zeros(shapes[0], planes[0].dtype), *planes[1:]], pixels)
    base = base + oracle.full_size([base, planes[0], planes[0]], pixels)[1]
    luma = base + rng.integers(-60, 60, shapes[0]) * (1 << (pixels.bits - 8))
    rgb = oracle.standard_rgb(np.stack([luma, u, v], axis=-1), pixels)
    inside = ((rgb >= 0) & (rgb <= 1)).all(axis=-1)
    return [np.where(inside, luma, base).astype(planes[0].dtype), *planes[1:]]


def _codes(values: Array, pixels: PixelFormat) -> Array:
    return np.rint(values).astype(np.uint8 if pixels.bits == 8 else np.uint16)


def texture(tensor: TensorFormat) -> Array | None:
    """A grain texture where the format wants one."""
    noise = np.random.default_rng(7).integers(0, 256, (256, 256), np.uint8)
    return noise if tensor.grain else None


formats = st.sampled_from(FORMATS)
storages = st.sampled_from(STORAGES)
sizes_px = st.tuples(st.integers(1, 37), st.integers(1, 23))
seeds = st.integers(0, 2**16)
