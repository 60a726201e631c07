"""What the kernels should compute, in NumPy: whole frames, plain arithmetic, no speed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.colour import from_tensor, tensor_limits, to_tensor
from sfumato.kernels.crisp import crisp_weights
from sfumato.kernels.formats import LUMA_WEIGHTS, PixelFormat, TensorFormat

Array = NDArray[Any]


def standard_rgb(codes: Array, pixels: PixelFormat) -> Array:
    """R, G, B in 0…1 of Y, U, V codes (..., 3), in the standards' own terms, not clipped."""
    kr, kb = LUMA_WEIGHTS[pixels.matrix]
    unit = 2 ** (pixels.bits - 8)
    y, cb, cr = np.moveaxis(np.asarray(codes, float), -1, 0)
    if pixels.full_range:
        top = 256 * unit - 1
        y, cb, cr = y / top, (cb - 128 * unit) / top, (cr - 128 * unit) / top
    else:
        y, cb, cr = ((y / unit) - 16) / 219, ((cb / unit) - 128) / 224, ((cr / unit) - 128) / 224
    red, blue = y + 2 * (1 - kr) * cr, y + 2 * (1 - kb) * cb
    return np.stack([red, (y - kr * red - kb * blue) / (1 - kr - kb), blue], axis=-1)


def standard_yuv(rgb: Array, pixels: PixelFormat) -> Array:
    """Y, U, V as real-valued codes (..., 3) of R, G, B in 0…1."""
    kr, kb = LUMA_WEIGHTS[pixels.matrix]
    unit = 2 ** (pixels.bits - 8)
    red, green, blue = np.moveaxis(np.asarray(rgb, float), -1, 0)
    y = kr * red + (1 - kr - kb) * green + kb * blue
    cb, cr = (blue - y) / (2 * (1 - kb)), (red - y) / (2 * (1 - kr))
    if pixels.full_range:
        top = 256 * unit - 1
        return np.stack([y * top, cb * top + 128 * unit, cr * top + 128 * unit], axis=-1)
    codes: Array = np.stack([219 * y + 16, 224 * cb + 128, 224 * cr + 128], axis=-1) * unit
    return codes


def full_size(planes: Sequence[Array], pixels: PixelFormat) -> list[Array]:
    """Y, U, V at luma size, chroma replicated; neutral chroma for grey."""
    height_px, width_px = planes[0].shape
    if pixels.chroma == "grey":
        return [planes[0]] + [np.full_like(planes[0], 128 << (pixels.bits - 8))] * 2
    grown = [np.repeat(np.repeat(p, 1 << pixels.shift_y, 0), 1 << pixels.shift_x, 1)
             for p in planes[1:]]  # fmt: skip
    return [planes[0], *(plane[:height_px, :width_px] for plane in grown)]


def window(picture: Array, x_px: int, y_px: int, width_px: int, height_px: int) -> Array:
    """A window of (height, width, …), which may reach past it: reflect padding by ``np.pad``."""
    height, width = picture.shape[:2]
    margins = [
        (max(0, -y_px), max(0, y_px + height_px - height)),
        (max(0, -x_px), max(0, x_px + width_px - width)),
    ]
    padded = np.pad(picture, margins + [(0, 0)] * (picture.ndim - 2), mode="reflect")
    y, x = y_px + margins[0][0], x_px + margins[1][0]
    return padded[y : y + height_px, x : x + width_px]


def pack(colours: Array, tensor: TensorFormat) -> Array:
    """(height, width, colours) to the tensor of space-to-depth cells."""
    height, width, count = colours.shape
    r = tensor.cell
    cells = colours.reshape(height // r, r, width // r, r, count).transpose(0, 2, 4, 1, 3)
    cells = cells.reshape(1, height // r, width // r, count * r * r)
    return np.ascontiguousarray(cells if tensor.layout == "NHWC" else cells.transpose(0, 3, 1, 2))


def unpack(array: Array, tensor: TensorFormat) -> Array:
    """The tensor of space-to-depth cells back to (height, width, colours)."""
    cells = (array if tensor.layout == "NHWC" else array.transpose(0, 2, 3, 1))[0]
    rows, columns, channels = cells.shape
    r = tensor.cell
    cells = cells.reshape(rows, columns, channels // r**2, r, r).transpose(0, 3, 1, 4, 2)
    pixels: Array = cells.reshape(rows * r, columns * r, channels // r**2)
    return pixels


def gather(
    planes: Sequence[Array], pixels: PixelFormat, tensor: TensorFormat, grain: Array | None,
    x_px: int, y_px: int, width_px: int, height_px: int,
) -> Array:  # fmt: skip
    """The tensor, to the bit: float32 sums in the kernel's order, half added, fraction cut."""
    weights, zero = (a.astype(np.float32) for a in to_tensor(pixels, tensor))
    low, high = (np.float32(limit) for limit in tensor_limits(tensor))
    half = 0.5 if tensor.dtype == "uint8" else 0.0
    y, u, v = (p - z for p, z in zip(full_size(planes, pixels), zero, strict=True))
    tint = (weights[:, 1] * u[..., None] + weights[:, 2] * v[..., None]) + np.float32(
        tensor.black + half
    )
    colours = np.clip(weights[:, 0] * y[..., None] + tint, low, high).astype(tensor.dtype)
    shown = window(colours, x_px, y_px, width_px, height_px)
    if grain is not None:
        rows, columns = np.arange(y_px, y_px + height_px), np.arange(x_px, x_px + width_px)
        texture = tensor.black + grain / 255 * (tensor.white - tensor.black)
        texture = np.rint(texture) if tensor.dtype == "uint8" else texture
        texels = texture.astype(tensor.dtype)[np.ix_(rows % 256, columns % 256)]
        shown = np.concatenate([shown, texels[..., None]], axis=-1)
    return pack(shown, tensor)


def scatter(array: Array, pixels: PixelFormat, tensor: TensorFormat, size_px: tuple[int, int],
            left_px: int = 0, top_px: int = 0) -> list[Array]:  # fmt: skip
    """The planes of the rectangle of ``size_px`` (width, height), to the bit."""
    width, height = size_px
    weights, offsets = from_tensor(pixels, tensor)
    low, high = tensor_limits(tensor)
    colours = unpack(array, tensor)[top_px : top_px + height, left_px : left_px + width]
    colours = np.clip(np.nan_to_num(colours, nan=low).astype(np.float32), low, high)
    planes = []
    for plane, shape in enumerate(pixels.plane_shapes(width, height)):
        x, y = (pixels.shift_x, pixels.shift_y) if plane else (0, 0)
        # The odd edge's pixels count twice; so the mean is that of the pixels that exist.
        whole = np.pad(colours, [(0, height % (1 << y)), (0, width % (1 << x)), (0, 0)], "edge")
        rows = [whole[i :: 1 << y] for i in range(1 << y)]
        pairs = [row[:, 0::2] + row[:, 1::2] if x else row for row in rows]
        red, green, blue = np.moveaxis(pairs[0] + pairs[1] if y else pairs[0], -1, 0)
        k = (weights[plane] / (1 << (x + y))).astype(np.float32)
        codes = k[0] * red + k[1] * green + k[2] * blue + np.float32(offsets[plane] + 0.5)
        planes.append(np.clip(codes, 0, 2**pixels.bits - 1).astype(int).reshape(shape))
    return planes


def mix(source: Array, painted: Array, strength: float) -> Array:
    """Source and painted weighted in 256ths, rounded."""
    share = round(strength * 256)
    total: Array = source.astype(int) * (256 - share) + painted.astype(int) * share
    return (total + 128) >> 8


def blocks_of(plane: Array, blocks: tuple[int, int]) -> Array:
    """The number (row, column) of the block of 8 × 8 luma samples that each sample lies in."""
    down, across = (
        8 if size > 4 * count else 4 for size, count in zip(plane.shape, blocks, strict=True)
    )
    rows, columns = np.indices(plane.shape)
    return np.stack([rows // down, columns // across])


def survey(now: Array, shown: Array, bits: int, blocks: tuple[int, int]) -> Array:
    """Mean square, mean and largest difference of each block, in codes of 8 bit."""
    step = (now.astype(float) - shown.astype(float)) * 2.0 ** (8 - bits)
    places = blocks_of(now, blocks)
    maps = np.zeros((3, *blocks))
    for y, x in np.ndindex(blocks):
        block = step[(places[0] == y) & (places[1] == x)]
        maps[:, y, x] = (block**2).mean(), block.mean(), np.abs(block).max()
    return maps


def between_centres(values: Array, shape: tuple[int, ...]) -> Array:
    """A block map spread over the samples of a plane, linear between block centres."""
    spread = values.astype(float)
    for axis in (0, 1):
        blocks, samples = values.shape[axis], shape[axis]
        side = 8 if samples > 4 * blocks else 4
        place = (np.arange(samples) + 0.5) / side - 0.5
        before = np.floor(place).astype(int)
        share = (place - before).reshape((-1, 1) if axis == 0 else (1, -1))
        lower = spread.take(before.clip(0, blocks - 1), axis)
        upper = spread.take((before + 1).clip(0, blocks - 1), axis)
        spread = lower + (upper - lower) * share
    return spread


def settle(now: Array, shown: Array, moving: Array, shift: Array | None, phase: Array) -> Array:
    """What moves as it is; the rest as shown, plus the whole codes that its light passes."""
    top = 2**8 - 1 if now.itemsize == 1 else 2**10 - 1
    held = shown.astype(int)
    if shift is not None:
        rows, columns = np.indices(now.shape)
        threshold = (columns * 0.7548776662 + rows * 0.5698402910) % 1
        before = between_centres(phase, now.shape) + threshold
        after = before + between_centres(shift, now.shape)
        held = (held + np.floor(after) - np.floor(before)).clip(0, top).astype(int)
    y, x = blocks_of(now, moving.shape)
    return np.where(moving[y, x] != 0, now, held).astype(now.dtype)


def crisp(grown: Array, bits: int, times: float) -> Array:
    """The evened picture and its difference to a blurred copy, between the least and the largest of
    5 × 5 samples; to the bit: float32 sums in the kernel's order."""
    even, middle, detail, gain, flat, rise = crisp_weights(bits, times)

    def taps(array: Array, reach: int, axis: int) -> list[Array]:
        margins = [(reach, reach) if axis == number else (0, 0) for number in (0, 1)]
        padded, size = np.pad(array, margins, "edge"), array.shape[axis]
        return [padded.take(range(i, i + size), axis) for i in range(2 * reach + 1)]

    own: Array = grown.astype(np.float32)
    for axis in (0, 1):
        a, b, c = taps(own, 1, axis)
        own = even * (a + c) + middle * b
    blurred, least, largest = own, own, own
    for axis in (1, 0):
        a, b, c, d, e = taps(blurred, 2, axis)
        blurred = (a + e) + np.float32(4) * (b + d) + np.float32(6) * c
        least = np.min(taps(least, 2, axis), axis=0)
        largest = np.max(taps(largest, 2, axis), axis=0)
    steep = ((largest - least - flat) * rise).clip(np.float32(0), np.float32(1))
    value = own + (detail + gain * steep) * (own - blurred * np.float32(1 / 256))
    codes: Array = (value.clip(least, largest) + np.float32(0.5)).astype(grown.dtype)
    return codes
