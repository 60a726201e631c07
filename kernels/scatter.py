"""From a network's output tensor back to YUV planes: outright, or feathered into sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels._jit import kernel
from sfumato.kernels.colour import from_tensor, tensor_limits
from sfumato.kernels.formats import PixelFormat, TensorFormat
from sfumato.kernels.planes import check_planes, flat, tensor_size_px, word_type, word_view

Array = NDArray[Any]
Weights = NDArray[np.uint16]


class Scatter:
    """Write output tensors into frames of one format; the way back of :class:`.gather.Gather`.

    Built once per (pixel format, tensor format); holds nothing that a call changes, so many
    threads may write disjoint rectangles at once. The grain of ``tensor`` is of no account here:
    outputs have 3 · cell² channels.
    """

    def __init__(self, pixels: PixelFormat, tensor: TensorFormat) -> None:
        self.pixels = pixels
        self.tensor = tensor
        weights, offsets = from_tensor(pixels, tensor)
        low, high = tensor_limits(tensor)
        pool = 1 << (pixels.shift_x + pixels.shift_y)
        weights[1:] /= pool  # chroma averages the pixels it covers
        self._weights = weights.astype(np.float32)
        top = (1 << pixels.bits) - 1
        self._levels = np.array([*(offsets + 0.5), low, high, top], np.float32)
        self._word = np.zeros(0, word_type(tensor))

    def __call__(
        self, tensor: Array, left_px: int, top_px: int, x_px: int, y_px: int,
        width_px: int, height_px: int, planes: Sequence[Array],
    ) -> None:  # fmt: skip
        """Write a rectangle of the tile to the frame.

        ``tensor``: contiguous (1, rows, columns, C) or (1, C, rows, columns) cells, of the
        format's dtype. The rectangle of ``width_px`` × ``height_px`` starts at
        (``left_px``, ``top_px``) in the tile and goes to (``x_px``, ``y_px``) in the frame, both
        even where chroma is halved in that axis; so is its size, unless it ends at an odd frame's
        edge, where chroma averages the pixels that exist. Colours outside black…white are
        clipped, NaN becomes the lower end. Raises ``ValueError`` when something does not fit.
        """
        check_planes(planes, self.pixels)
        views = [flat(plane, writeable=True) for plane in planes]
        area = (left_px, top_px, x_px, y_px, width_px, height_px)
        self._write(tensor, area, planes, views, None)

    def add(
        self, tensor: Array, left_px: int, top_px: int, x_px: int, y_px: int,
        weights_x: Weights, weights_y: Weights, sums: Sequence[NDArray[np.uint32]],
    ) -> None:  # fmt: skip
        """Add codes × ``weights_x`` × ``weights_y`` of a rectangle of the tile to ``sums``.

        As for a call; the rectangle is as wide and high as the weights are long. ``sums``: uint32
        contiguous arrays with the shapes of the planes, zero to begin with. Weights (uint16,
        0…256) of overlapping tiles sum to 256 at every pixel of an axis, so that sums are
        integers that do not depend on the order of the tiles, and tiles that agree give exactly
        what a call would. A chroma sample takes the weight of its first pixel: keep weights
        constant over each pair of pixels that shares one. Not atomic: tiles that overlap must be
        added one after the other.
        """
        height_px, width_px = sums[0].shape
        if [s.shape for s in sums] != self.pixels.plane_shapes(width_px, height_px) or any(
            s.dtype != np.uint32 for s in sums
        ):
            raise ValueError(f"sums {[s.shape for s in sums]} should be uint32 like the planes")
        views = [flat(plane, writeable=True) for plane in sums]
        area = (left_px, top_px, x_px, y_px, len(weights_x), len(weights_y))
        self._write(tensor, area, sums, views, (weights_x, weights_y))

    @staticmethod
    def finish(sums: Sequence[NDArray[np.uint32]], planes: Sequence[Array]) -> None:
        """``planes`` = ``sums`` / 65536, rounded: the end of a feathered frame."""
        for total, plane in zip(sums, planes, strict=True):
            memory, row, column = flat(plane, writeable=True)
            _finish(total, memory, row, column)

    def _write(
        self, tensor: Array, area: tuple[int, int, int, int, int, int], planes: Sequence[Array],
        views: Sequence[tuple[Array, int, int]], weights: tuple[Weights, Weights] | None,
    ) -> None:  # fmt: skip
        words = word_view(tensor, self.tensor, 3)
        shifts = (self.pixels.shift_x, self.pixels.shift_y)
        _check_area(area, tensor_size_px(tensor, self.tensor), planes[0].shape, shifts)
        luma, luma_row, _ = views[0]
        u, chroma_row, step = views[1] if len(views) == 3 else (luma, 0, 0)
        v = views[2][0] if len(views) == 3 else luma
        frame = (luma_row, chroma_row, step)
        element = np.zeros(0, self.tensor.dtype)
        feather = weights if weights is not None else (_NO_WEIGHTS, _NO_WEIGHTS)
        _scatter(
            words, self._word, element, area, self.tensor.cell, self._weights, self._levels,
            shifts, feather[0], feather[1], frame, luma, u, v,
        )  # fmt: skip


_NO_WEIGHTS = np.zeros(0, np.uint16)


def _check_area(
    area: tuple[int, int, int, int, int, int],
    tile_px: tuple[int, int],
    frame_shape: tuple[int, ...],
    shifts: tuple[int, int],
) -> None:
    """Raise ``ValueError`` unless the rectangle lies in tile and frame, on whole chroma samples."""
    left, top, x, y, width, height = area
    for name, start, at, size, tile, frame, shift in (
        ("x", left, x, width, tile_px[0], frame_shape[1], shifts[0]),
        ("y", top, y, height, tile_px[1], frame_shape[0], shifts[1]),
    ):
        if size < 1 or min(start, at) < 0 or start + size > tile or at + size > frame:
            raise ValueError(
                f"{name}: {size} pixels from {start} of a tile of {tile} to {at} of {frame} do not fit"
            )
        if shift and (at % 2 or (size % 2 and at + size != frame)):
            raise ValueError(f"{name}: {size} pixels to {at} should be even for halved chroma")


@kernel
def _scatter(  # type: ignore[no-untyped-def]
    tensor, word, element, area, cell, weights, levels, shifts, feather_x, feather_y, frame,
    luma, u, v,
):  # fmt: skip
    """The rectangle's rows one after the other, through line buffers that stay in the cache."""
    left, top, x, y, width, height = area
    shift_x, shift_y = shifts
    luma_row, chroma_row, step = frame
    first = left // cell
    cells = (left + width - 1) // cell + 1 - first
    words = np.empty(cells * cell * element.itemsize // word.itemsize, word.dtype)
    line = words.view(element.dtype)
    shown = slice(left - first * cell, left - first * cell + width)
    samples = (width + shift_x) >> shift_x
    colours = np.empty((3, samples << shift_x), np.float32)
    pools = np.empty((3, samples), np.float32)
    codes = np.empty(width, np.uint16)
    for row in range(height):
        last = row == height - 1
        for c in range(3):
            _fetch(tensor, top + row, c, cell, first, words)
            _clamp(line[shown], levels[3], levels[4], colours[c])
            colours[c, width:] = colours[c, width - 1]
        _mix(colours[0], colours[1], colours[2], weights[0], levels[0], levels[5], codes)
        weight = feather_y[row] if len(feather_y) > 0 else 0
        _put(codes, feather_x, 1, weight, 1, luma[(y + row) * luma_row + x :])
        if step == 0:
            continue
        for c in range(3):
            _pool(colours[c], shift_x, (row & shift_y) != 0, pools[c])
        if shift_y == 1 and row & 1 == 0:
            if not last:
                continue
            for c in range(3):
                _pool(colours[c], shift_x, True, pools[c])
        start = ((y + row) >> shift_y) * chroma_row + (x >> shift_x) * step
        weight = feather_y[row & ~shift_y] if len(feather_y) > 0 else 0
        _mix(pools[0], pools[1], pools[2], weights[1], levels[1], levels[5], codes[:samples])
        _put(codes[:samples], feather_x, 1 << shift_x, weight, step, u[start:])
        _mix(pools[0], pools[1], pools[2], weights[2], levels[2], levels[5], codes[:samples])
        _put(codes[:samples], feather_x, 1 << shift_x, weight, step, v[start:])


@kernel
def _fetch(tensor, row, colour, cell, first, words):  # type: ignore[no-untyped-def]
    """One row of one colour of the tensor, from cell ``first`` on; the way back of a store."""
    if tensor.ndim == 3:
        cells = tensor[row // cell, first:]
        span = (tensor.shape[2]) // (3 * cell)
        channel = (colour * cell + row % cell) * span
        count = len(words) // span
        for part in range(span):
            for i in range(count):
                words[i * span + part] = cells[i, channel + part]
    else:
        bits = tensor.itemsize * 8
        per_word = words.itemsize // tensor.itemsize
        span = cell // per_word
        for column in range(cell):
            source = tensor[colour, row % cell * cell + column, row // cell, first:]
            part = column // per_word
            shift = column % per_word * bits
            for i in range(len(words) // span):
                value = words.dtype.type(source[i]) << words.dtype.type(shift)
                at = i * span + part
                words[at] = value if shift == 0 else words[at] | value


@kernel
def _clamp(line, low, high, clamped):  # type: ignore[no-untyped-def]
    """``clamped`` = ``line`` as float32 within low…high; the order of tests sends NaN to low."""
    for i in range(len(line)):
        value = np.float32(line[i])
        value = max(low, value)
        clamped[i] = min(high, value)


@kernel
def _mix(red, green, blue, weights, offset, top, codes):  # type: ignore[no-untyped-def]
    """``codes`` = weighted colours + offset, cut to integers (the offset has ½) in 0…top."""
    weight_r, weight_g, weight_b = weights[0], weights[1], weights[2]
    zero = np.float32(0)
    for i in range(len(codes)):
        value = weight_r * red[i] + weight_g * green[i] + weight_b * blue[i] + offset
        value = max(value, zero)
        codes[i] = min(value, top)


@kernel
def _pool(line, shift, more, sums):  # type: ignore[no-untyped-def]
    """Sum the pixels a chroma sample covers in this row, on top of ``sums`` where ``more``."""
    for i in range(len(sums)):
        value = line[i] if shift == 0 else line[2 * i] + line[2 * i + 1]
        sums[i] = sums[i] + value if more else value


@kernel
def _put(codes, feather, every, weight, step, plane):  # type: ignore[no-untyped-def]
    """Write codes to every ``step``-th sample of the plane, or add them to sums with weights."""
    if len(feather) > 0:
        for i in range(len(codes)):
            plane[i * step] += np.uint32(
                np.uint32(codes[i]) * np.uint32(feather[i * every] * weight)
            )
    elif step == 1:
        for i in range(len(codes)):
            plane[i] = codes[i]
    else:
        for i in range(len(codes)):
            plane[2 * i] = codes[i]


@kernel
def _finish(sums, plane, row_samples, step):  # type: ignore[no-untyped-def]
    """Sums of weight 65536 back to codes, rounded."""
    for y in range(sums.shape[0]):
        line = plane[y * row_samples :]
        for x in range(sums.shape[1]):
            line[x * step] = (sums[y, x] + np.uint32(32768)) >> np.uint32(16)
