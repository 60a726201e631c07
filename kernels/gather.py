"""From YUV planes to a network's input tensor: crop, pad, colour, space-to-depth, grain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels._jit import kernel
from sfumato.kernels.colour import tensor_limits, to_tensor
from sfumato.kernels.formats import PixelFormat, TensorFormat
from sfumato.kernels.planes import check_planes, flat, tensor_size_px, word_view

Array = NDArray[Any]


class Gather:
    """Fill input tensors from windows of frames of one format.

    Built once per (pixel format, tensor format); holds nothing that a call changes, so many
    threads may call it at once. The first call of a format compiles its kernel or loads it from
    the cache.
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
        height_px, width_px = planes[0].shape
        colours = 4 if self.tensor.grain else 3
        words = word_view(out, self.tensor, colours)
        window = (x_px, y_px, *tensor_size_px(out, self.tensor))
        luma, luma_row, _ = flat(planes[0])
        u, chroma_row, step = flat(planes[1]) if len(planes) == 3 else (luma, 0, 0)
        v = flat(planes[2])[0] if len(planes) == 3 else luma
        frame = (width_px, height_px, luma_row, chroma_row, step)
        shifts = (self.pixels.shift_x, self.pixels.shift_y)
        _gather(
            luma, u, v, frame, shifts, window, self._weights, self._levels, self._grain,
            self.tensor.cell, words,
        )  # fmt: skip


def _scaled_grain(tensor: TensorFormat, grain: NDArray[np.uint8] | None) -> Array:
    """The texture in tensor values, twice side by side so that a run of 256 never wraps."""
    if (grain is not None) != tensor.grain or (grain is not None and grain.shape != (256, 256)):
        found = None if grain is None else grain.shape
        raise ValueError(f"grain of shape {found} should be (256, 256) when {tensor.grain = }")
    if grain is None:
        return np.empty((1, 1), tensor.dtype)
    values = tensor.black + grain / 255 * (tensor.white - tensor.black)
    values = np.rint(values) if tensor.dtype == "uint8" else values
    return np.tile(values, 2).astype(tensor.dtype)


@kernel
def _gather(luma, u, v, frame, shifts, window, weights, levels, grain, cell, out):  # type: ignore[no-untyped-def]
    """The window's rows one after the other, through line buffers that stay in the cache.

    Each row becomes luma × weight and, once per chroma row, three tints (the rest of red, green
    and blue), all float32; their sums are the colours, clipped and stored in the tensor's type.
    """
    width, height, luma_row, chroma_row, step = frame
    shift_x, shift_y = shifts
    left, top, columns, rows = window
    first, last = _source_range(left, left + columns, width)
    first &= ~shift_x
    origin = min(left, first)
    # One more on the right: the odd last column's chroma sample covers two.
    span = max(left + columns, last + 1) - origin
    samples = ((last + shift_x) >> shift_x) - (first >> shift_x)
    brightness = np.empty(span, np.float32)
    tints = np.empty((3, span), np.float32)
    chroma = np.empty((2, samples), np.float32)
    line = np.empty(columns, grain.dtype)
    words = line.view(out.dtype)
    bodies = slice(first - origin, first - origin + (last - first))
    shown = slice(left - origin, left - origin + columns)
    tints[:] = levels[2]
    chroma_at = -1
    for row in range(rows):
        y = _reflect(top + row, height)
        _load(luma, y * luma_row + first, 1, levels[0], brightness[bodies])
        _scale(weights[0, 0], brightness[bodies])
        _reflect_ends(brightness, left, left + columns, origin, width)
        if step > 0 and y >> shift_y != chroma_at:
            chroma_at = y >> shift_y
            start = chroma_at * chroma_row + (first >> shift_x) * step
            _load(u, start, step, levels[1], chroma[0])
            _load(v, start, step, levels[1], chroma[1])
            for c in range(3):
                tint = tints[c, first - origin :]
                _tint(chroma[0], chroma[1], weights[c, 1], weights[c, 2], levels[2], shift_x, tint)
                _reflect_ends(tints[c], left, left + columns, origin, width)
        for c in range(3):
            _shade(brightness[shown], tints[c][shown], levels[3], levels[4], line)
            _store(words, row, c, cell, out)
        if len(grain) > 1:
            _repeat(grain[(top + row) & 255], left & 255, line)
            _store(words, row, 3, cell, out)


@kernel
def _reflect(index, count):  # type: ignore[no-untyped-def]
    """Where reflect padding looks for ``index`` on an axis of ``count``."""
    if count == 1:
        return 0
    index %= 2 * (count - 1)
    return min(index, 2 * (count - 1) - index)


@kernel
def _source_range(left, right, width):  # type: ignore[no-untyped-def]
    """First and one past the last column that the window left…right shows, padding included."""
    if left >= 0 and right <= width:
        return left, right
    first, last = width - 1, 0
    for x in range(left, right):
        first, last = min(first, _reflect(x, width)), max(last, _reflect(x, width))
    return first, last + 1


@kernel
def _reflect_ends(line, left, right, origin, width):  # type: ignore[no-untyped-def]
    """Fill what the window shows left and right of the frame; ``line[0]`` is column ``origin``."""
    for x in range(left, min(right, 0)):
        line[x - origin] = line[_reflect(x, width) - origin]
    for x in range(max(left, width), right):
        line[x - origin] = line[_reflect(x, width) - origin]


@kernel
def _load(plane, start, step, zero, line):  # type: ignore[no-untyped-def]
    """``line`` = samples from ``start`` on, every ``step``-th (1 or 2), minus ``zero``."""
    source = plane[start:]
    if step == 1:
        for i in range(len(line)):
            line[i] = np.float32(source[i]) - zero
    else:
        for i in range(len(line)):
            line[i] = np.float32(source[2 * i]) - zero


@kernel
def _scale(weight, line):  # type: ignore[no-untyped-def]
    for i in range(len(line)):
        line[i] *= weight


@kernel
def _tint(u, v, weight_u, weight_v, bias, shift, line):  # type: ignore[no-untyped-def]
    """``line`` = weighted chroma + bias, each value twice where chroma is halved in x."""
    if shift == 0:
        for i in range(len(u)):
            line[i] = weight_u * u[i] + weight_v * v[i] + bias
    else:
        for i in range(len(u)):
            value = weight_u * u[i] + weight_v * v[i] + bias
            line[2 * i] = value
            line[2 * i + 1] = value


@kernel
def _shade(brightness, tint, low, high, line):  # type: ignore[no-untyped-def]
    """``line`` = brightness + tint, clipped; integer lines cut the fraction (the bias has ½)."""
    for i in range(len(line)):
        value = brightness[i] + tint[i]
        value = max(value, low)
        line[i] = min(value, high)


@kernel
def _repeat(texture, start, line):  # type: ignore[no-untyped-def]
    """``line`` = the periodic texture row (256, held twice) from ``start`` on."""
    source = texture[start:]
    for chunk in range(0, len(line), 256):
        part = line[chunk : chunk + 256]
        for i in range(len(part)):
            part[i] = source[i]


@kernel
def _store(words, row, colour, cell, out):  # type: ignore[no-untyped-def]
    """Lay one line of one colour into the tensor; ``out``'s dimensions choose the layout.

    NHWC (3-D): a cell's row is a run of bytes, moved as ``span`` words. NCHW (4-D): each column
    of the cells is a channel; elements are cut out of words of whole cell rows.
    """
    if out.ndim == 3:
        cells = out[row // cell]
        span = len(words) // len(cells)
        first = (colour * cell + row % cell) * span
        if span == 1:
            for i in range(len(cells)):
                cells[i, first] = words[i]
        else:
            for part in range(span):
                for i in range(len(cells)):
                    cells[i, first + part] = words[i * span + part]
    else:
        for column in range(cell):
            channel = out[colour, row % cell * cell + column, row // cell]
            for i in range(len(channel)):
                channel[i] = words[i * cell + column]
