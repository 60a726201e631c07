"""From YUV planes to a network's input tensor: crop, pad, colour, space-to-depth, grain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels._jit import helper, kernel
from sfumato.kernels.colour import tensor_limits, to_tensor
from sfumato.kernels.formats import PixelFormat, TensorFormat
from sfumato.kernels.planes import (
    cell_counts,
    check_planes,
    flat_planes,
    tensor_size_px,
    word_type,
    word_view,
)

Array = NDArray[Any]


class Gather:
    """Fill input tensors from windows of frames of one format.

    Built once per (pixel format, tensor format); holds nothing that a call changes, so many
    threads may call it at once. The first call of a format compiles its kernel or loads it from
    the cache.

    Integer tensors hold 8 bits: a 10-bit source comes back from one within 5 codes (a step of the
    tensor is 4), from a float32 tensor within 1.
    """

    def __init__(
        self, pixels: PixelFormat, tensor: TensorFormat, grain: NDArray[np.uint8] | None = None
    ) -> None:
        """``grain``: uint8 (256, 256) texture, wanted exactly when ``tensor.grain`` is set."""
        self.pixels = pixels
        self.tensor = tensor
        weights, zero = to_tensor(pixels, tensor)
        low, high = tensor_limits(tensor)
        bias = tensor.black + (0.5 if tensor.dtype == "uint8" else 0.0)
        self._weights = weights.astype(np.float32)
        self._levels = np.array([*zero[:2], bias, low, high], np.float32)
        self._counts = cell_counts(tensor, colours=4 if tensor.grain else 3)
        self._grain = _scaled_grain(tensor, grain)

    def __call__(self, planes: Sequence[Array], x_px: int, y_px: int, out: Array) -> None:
        """Fill ``out`` with the window whose top-left pixel is (``x_px``, ``y_px``) of the frame.

        ``planes``: 2-D, uint8 at 8 bit, uint16 at 10 bit; rows may be padded, and the chroma
        planes may be alternate columns of one (NV12). ``out``: contiguous (1, rows, columns, C)
        or (1, C, rows, columns) cells, of the tensor's dtype; its shape is the window's. The
        window may begin at any pixel, also negative, and reach past the frame by any amount:
        reflect padding without the edge pixel repeated (``np.pad`` mode "reflect"), again and
        again where the frame is smaller than the window; a 1-pixel axis is replicated. Grain is
        sampled at frame coordinates modulo 256. Raises ``ValueError`` when planes or ``out`` do
        not fit the formats.
        """
        check_planes(planes, self.pixels)
        colours = 4 if self.tensor.grain else 3
        cells = word_view(out, self.tensor, colours)
        columns, rows = tensor_size_px(out, self.tensor)
        height_px, width_px = planes[0].shape
        shift_x, shift_y = self.pixels.shift_x, self.pixels.shift_y
        across = _Columns(x_px, columns, width_px, shift_x)
        down = _reflect(np.arange(y_px, y_px + rows), height_px)
        memory, strides = flat_planes(planes)
        light = np.full((4, across.span), self._levels[2])
        lines = np.empty((colours, columns), self.tensor.dtype)
        _gather(
            memory, strides, (shift_x, shift_y), down, across.place, across.pad_to,
            across.pad_from, self._weights, self._levels, self._grain, (x_px & 255, y_px & 255), light, np.empty((2, across.samples), np.float32),
            lines, lines.view(word_type(self.tensor)), self._counts, cells,
        )  # fmt: skip


class _Columns:
    """Which columns of a frame a window shows, and where they lie in a line buffer.

    The buffer holds the window and, should they lie outside it, the columns that its padding
    mirrors.
    """

    def __init__(self, left: int, columns: int, width: int, shift: int) -> None:
        period = max(1, 2 * (width - 1))
        left = left if abs(left) <= period else left % period  # keeps the buffer short
        first, last, right = left, left + columns, left + columns
        shown = source = _NO_COLUMNS
        if left < 0 or right > width:
            shown = np.arange(left, right)
            source = _reflect(shown, width)
            first, last = int(source.min()), int(source.max()) + 1
            outside = source != shown
            shown, source = shown[outside], source[outside]
        first &= ~shift  # the column from which the first chroma sample counts
        origin = min(left, first)
        self.samples = ((last + shift) >> shift) - (first >> shift)
        self.span = max(right, first + (self.samples << shift)) - origin
        self.place = (first, last - first, first - origin, left - origin)
        self.pad_to, self.pad_from = shown - origin, source - origin


_NO_COLUMNS = np.empty(0, np.int64)


def _reflect(index: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Where reflect padding looks for ``index`` on an axis of ``count``."""
    if count == 1:
        return np.zeros_like(index)
    index = index % (2 * (count - 1))
    return np.minimum(index, 2 * (count - 1) - index)


def _scaled_grain(tensor: TensorFormat, grain: NDArray[np.uint8] | None) -> Array:
    """The texture in tensor values, twice side by side so that a run of 256 never wraps."""
    if (grain is not None) != tensor.grain or (grain is not None and grain.shape != (256, 256)):
        found = None if grain is None else grain.shape
        raise ValueError(f"grain of shape {found} should be (256, 256) when {tensor.grain = }")
    if grain is None:
        return np.empty(0, tensor.dtype)  # 1-D: the compiler drops the branch
    values = tensor.black + grain / 255 * (tensor.white - tensor.black)
    values = np.rint(values) if tensor.dtype == "uint8" else values
    return np.tile(values, 2).astype(tensor.dtype)


@kernel
def _gather(  # type: ignore[no-untyped-def]
    planes, strides, shifts, source_rows, place, pad_to, pad_from, weights, levels,
    grain, grain_at, light, chroma, lines, words, counts, out,
):  # fmt: skip
    """The window's rows one after the other, through line buffers that stay in the cache.

    Each row becomes luma × weight and, once per chroma row, three tints (the rest of red, green
    and blue), all float32 in ``light``; their sums are the colours, clipped into ``lines`` of the
    tensor's type; ``words`` is the same memory in the words that a store moves.
    """
    first, count, body, shown = place
    chroma_at = -1
    for row in range(len(source_rows)):
        y = source_rows[row]
        line = light[0][body : body + count]
        _load(planes[0], y * strides[0][0] + first, 1, levels[0], weights[0, 0], line)
        _mirror(light[0], pad_to, pad_from)
        if strides[1][1] > 0 and y >> shifts[1] != chroma_at:
            chroma_at = y >> shifts[1]
            for c in range(2):
                down, step = strides[c + 1]
                start = chroma_at * down + (first >> shifts[0]) * step
                _load(planes[c + 1], start, step, levels[1], np.float32(1), chroma[c])
            for c in range(3):
                _tint(chroma, weights[c], levels[2], shifts[0], light[c + 1][body:])
                _mirror(light[c + 1], pad_to, pad_from)
        for c in range(3):
            _shade(light[0][shown:], light[c + 1][shown:], levels[3], levels[4], lines[c])
        if grain.ndim == 2:
            _repeat(grain[(grain_at[1] + row) & 255][grain_at[0] :], lines[3])
        _store(words, row, counts, out)


@helper
def _load(plane, start, step, zero, weight, line):  # type: ignore[no-untyped-def]
    """``line`` = (samples from ``start`` on, every ``step``-th (1 or 2), minus zero) × weight."""
    source = plane[start:]
    if step == 1:
        for i in range(len(line)):
            line[i] = (np.float32(source[i]) - zero) * weight
    else:
        for i in range(len(line)):
            line[i] = (np.float32(source[2 * i]) - zero) * weight


@helper
def _mirror(line, pad_to, pad_from):  # type: ignore[no-untyped-def]
    """Fill what the window shows left and right of the frame."""
    for i in range(len(pad_to)):
        line[pad_to[i]] = line[pad_from[i]]


@helper
def _tint(chroma, weights, bias, shift, line):  # type: ignore[no-untyped-def]
    """``line`` = weighted chroma + bias, each value twice where chroma is halved in x."""
    u, v, weight_u, weight_v = chroma[0], chroma[1], weights[1], weights[2]
    if shift == 0:
        for i in range(len(u)):
            line[i] = weight_u * u[i] + weight_v * v[i] + bias
    else:
        for i in range(len(u)):
            value = weight_u * u[i] + weight_v * v[i] + bias
            line[2 * i] = value
            line[2 * i + 1] = value


@helper
def _shade(brightness, tint, low, high, line):  # type: ignore[no-untyped-def]
    """``line`` = brightness + tint within low…high; bytes cut the fraction (the bias has ½)."""
    if line.itemsize == 1:
        for i in range(len(line)):
            # Limits known to the compiler: one instruction packs and clips.
            code = np.int32(brightness[i] + tint[i])
            code = np.int32(0) if code < 0 else code
            line[i] = np.int32(255) if code > 255 else code
        if low <= 0 and high >= 255:
            return
        for i in range(len(line)):
            line[i] = min(max(line[i], np.uint8(low)), np.uint8(high))
    else:
        for i in range(len(line)):
            line[i] = min(max(brightness[i] + tint[i], low), high)


@helper
def _repeat(texture, line):  # type: ignore[no-untyped-def]
    """``line`` = the periodic texture (256 values, and their like behind them)."""
    for chunk in range(0, len(line), 256):
        part = line[chunk : chunk + 256]
        for i in range(len(part)):
            part[i] = texture[i]


@helper
def _store(words, row, counts, out):  # type: ignore[no-untyped-def]
    """Lay one line of each colour into the tensor; ``out``'s dimensions choose the layout.

    NHWC (2-D): a cell's row is a run of bytes, moved as ``span`` words. NCHW (4-D): each column
    of the cells is a channel; its elements are cut out of the words.
    """
    colours, cell, span = len(counts[0]), len(counts[1]), len(counts[2])
    if out.ndim == 2:
        cells = out[row // cell]
        first = row % cell * span
        for part in range(span):
            for i in range(words.shape[1] // span):
                for c in range(colours):
                    to = i * (colours * cell * span) + c * (cell * span) + (first + part)
                    cells[to] = words[c, i * span + part]
    else:
        for c in range(colours):
            for column in range(cell):
                channel = out[c, row % cell * cell + column, row // cell]
                part = column * span // cell
                shift = column % (cell // span) * (8 * out.itemsize)
                line = words[c]
                for i in range(len(channel)):
                    channel[i] = line[i * span + part] >> shift
