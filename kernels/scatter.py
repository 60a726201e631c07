"""From a network's output tensor back to YUV planes: outright, or feathered into sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels._jit import helper, kernel
from sfumato.kernels.colour import from_tensor, tensor_limits
from sfumato.kernels.formats import PixelFormat, TensorFormat
from sfumato.kernels.planes import (
    cell_counts,
    check_planes,
    flat,
    flat_planes,
    tensor_size_px,
    word_type,
    word_view,
)

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
        top = (1 << pixels.bits) - 1
        self._weights = weights.astype(np.float32)
        self._levels = np.array([*(offsets + 0.5), low, high, top], np.float32)
        self._counts = cell_counts(tensor, colours=3)
        self._sum = np.uint16 if tensor.dtype == "uint8" else np.float32
        self._code = np.uint8 if pixels.bits == 8 else np.uint16

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
        area = (left_px, top_px, x_px, y_px, width_px, height_px)
        self._write(tensor, area, planes, _NO_WEIGHTS, _NO_WEIGHTS)

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
        area = (left_px, top_px, x_px, y_px, len(weights_x), len(weights_y))
        weights_x, weights_y = (np.ascontiguousarray(w, np.uint16) for w in (weights_x, weights_y))
        self._write(tensor, area, sums, weights_x, weights_y)

    @staticmethod
    def finish(sums: Sequence[NDArray[np.uint32]], planes: Sequence[Array]) -> None:
        """``planes`` = ``sums`` / 65536, rounded: the end of a feathered frame."""
        for total, plane in zip(sums, planes, strict=True):
            memory, row, column = flat(plane, writeable=True)
            _finish(total, memory, row, column)

    def _write(
        self, tensor: Array, area: tuple[int, int, int, int, int, int], planes: Sequence[Array],
        weights_x: Weights, weights_y: Weights,
    ) -> None:  # fmt: skip
        words = word_view(tensor, self.tensor, colours=3)
        shift_x, shift_y = self.pixels.shift_x, self.pixels.shift_y
        size_px = tensor_size_px(tensor, self.tensor)
        _check_area(area, size_px, planes[0].shape, (shift_x, shift_y))
        memory, strides = flat_planes(planes, writeable=True)
        width_px = area[4]
        # Room for an odd edge's pixel to count twice.
        lines = np.empty((3, size_px[0] + self.tensor.cell), self.tensor.dtype)
        sums = np.empty((3, (width_px + shift_x) >> shift_x), self._sum)
        _scatter(
            words, self._counts, area, self._weights, self._levels, (shift_x, shift_y),
            weights_x, weights_x[:: 1 << shift_x].copy(), weights_y,
            lines, lines.view(word_type(self.tensor)), sums, np.empty(width_px, self._code),
            strides, memory,
        )  # fmt: skip


_NO_WEIGHTS = np.zeros((0, 0), np.uint16)


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
                f"{name}: {size} px at {start} of {tile} to {at} of {frame} do not fit"
            )
        if shift and (at % 2 or (size % 2 and at + size != frame)):
            raise ValueError(f"{name}: {size} px to {at} should be even for halved chroma")


@kernel
def _scatter(  # type: ignore[no-untyped-def]
    tensor, counts, area, weights, levels, shifts, feather_x, feather_c, feather_y,
    lines, words, sums, codes, strides, planes,
):  # fmt: skip
    """The rectangle's rows one after the other, through line buffers that stay in the cache.

    ``lines``: one line of each colour in the tensor's type, ``words`` the same memory in the words
    that a fetch moves; ``sums``: the colours that a chroma sample covers; ``codes``: one line of
    a plane.
    """
    left, top, x, y, width, height = area
    shift_x, shift_y = shifts
    first = left // len(counts[1])
    start = left - first * len(counts[1])
    for row in range(height):
        _fetch(tensor, top + row, counts, first, (start + width - 1) // len(counts[1]) + 1, words)
        for c in range(3):
            _clamp(levels[3], levels[4], lines[c][start : start + width])
            lines[c, start + width] = lines[c, start + width - 1]
        red, green, blue = lines[0][start:], lines[1][start:], lines[2][start:]
        _code(red, green, blue, weights[0], levels[0], levels[5], codes)
        _put(codes, feather_x, feather_y, row, 1, planes[0][(y + row) * strides[0][0] + x :])
        if strides[1][1] == 0:
            continue
        upper = shift_y == 1 and row & 1 == 0  # of the two rows that share a chroma row
        for c in range(3):
            _pool(lines[c][start:], shift_x, row & shift_y, sums[c])
            if upper and row == height - 1:  # an odd edge's row counts twice
                _pool(lines[c][start:], shift_x, 1, sums[c])
        if upper and row < height - 1:
            continue
        part = codes[: sums.shape[1]]
        for c in range(1, 3):
            down, step = strides[c]
            plane = planes[c][((y + row) >> shift_y) * down + (x >> shift_x) * step :]
            _code(sums[0], sums[1], sums[2], weights[c], levels[c], levels[5], part)
            _put(part, feather_c, feather_y, row & ~shift_y, step, plane)


@helper
def _fetch(tensor, row, counts, first, count, words):  # type: ignore[no-untyped-def]
    """One row of each colour, ``count`` cells from ``first`` on; the way back of a store."""
    colours, cell, span = len(counts[0]), len(counts[1]), len(counts[2])
    if tensor.ndim == 2:
        cells = tensor[row // cell, first * (colours * cell * span) :]
        begin = row % cell * span
        for part in range(span):
            for i in range(count):
                for c in range(colours):
                    at = i * (colours * cell * span) + c * (cell * span) + (begin + part)
                    words[c, i * span + part] = cells[at]
    else:
        for c in range(colours):
            line = words[c]
            for column in range(cell):
                source = tensor[c, row % cell * cell + column, row // cell, first:]
                part = column * span // cell
                shift = column % (cell // span) * (8 * tensor.itemsize)
                if shift == 0:
                    for i in range(count):
                        line[i * span + part] = source[i]
                else:
                    for i in range(count):
                        line[i * span + part] |= words.dtype.type(source[i]) << shift


@helper
def _clamp(low, high, line):  # type: ignore[no-untyped-def]
    """Keep ``line`` within low…high; the order of the tests sends NaN to low."""
    if line.itemsize == 1 and low <= 0 and high >= 255:
        return
    for i in range(len(line)):
        line[i] = min(high, max(low, np.float32(line[i])))


@helper
def _code(red, green, blue, weights, offset, top, codes):  # type: ignore[no-untyped-def]
    """``codes`` = weighted colours + offset, cut to integers (the offset has ½) in 0…top."""
    weight_r, weight_g, weight_b = weights[0], weights[1], weights[2]
    for i in range(len(codes)):
        value = weight_r * np.float32(red[i]) + weight_g * np.float32(green[i])
        value += weight_b * np.float32(blue[i])
        codes[i] = min(max(value + offset, np.float32(0)), top)


@helper
def _pool(line, shift, more, sums):  # type: ignore[no-untyped-def]
    """Sum the pixels a chroma sample covers in this row, on top of ``sums`` where ``more``."""
    if shift == 0:
        for i in range(len(sums)):
            sums[i] = line[i]
    elif more == 0:
        for i in range(len(sums)):
            sums[i] = line[2 * i] + line[2 * i + 1]
    else:
        for i in range(len(sums)):
            sums[i] += line[2 * i] + line[2 * i + 1]


@helper
def _put(codes, feather_x, feather_y, row, step, plane):  # type: ignore[no-untyped-def]
    """Write codes to every ``step``-th sample of the plane, or add them to sums with weights.

    The weights are 2-D, and empty, where there are none: the compiler then drops that branch.
    """
    if feather_x.ndim == 1:
        down = np.uint32(feather_y[row])
        for i in range(len(codes)):
            weight = np.uint32(np.uint32(feather_x[i]) * down)
            plane[i] = np.uint32(plane[i] + np.uint32(np.uint32(codes[i]) * weight))
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
        total, line = sums[y], plane[y * row_samples :]
        if step == 1:
            for x in range(len(total)):
                line[x] = np.uint32(total[x] + np.uint32(32768)) >> np.uint32(16)
        else:
            for x in range(len(total)):
                line[2 * x] = np.uint32(total[x] + np.uint32(32768)) >> np.uint32(16)
