"""How kernels see planes and tensors: flat memory, so that the inner loops are contiguous."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from sfumato.kernels.formats import PixelFormat, TensorFormat

Array = NDArray[Any]
Flat = tuple[Array, int, int]
"""One plane: its memory as a 1-D array, samples from row to row, samples from column to column."""


def flat(plane: Array, writeable: bool = False) -> Flat:
    """The memory of a 2-D plane whose rows may be padded and whose columns may be two apart (NV12).

    Other layouts are copied for reading and refused with ``ValueError`` for writing.
    """
    if writeable and not plane.flags.writeable:
        raise ValueError("planes to write should be writeable")
    if plane.flags.c_contiguous:
        memory = plane.reshape(-1)
        memory.flags.writeable = writeable  # one type for the compiler, whatever the frame is
        return memory, plane.shape[1], 1
    row, column = (stride // plane.itemsize for stride in plane.strides)
    if plane.shape[1] == 1:
        column = 1
    if plane.shape[0] == 1:
        row = plane.shape[1] * column
    if column not in (1, 2) or row < 0 or any(s % plane.itemsize for s in plane.strides):
        if writeable:
            raise ValueError(f"{plane.strides = } should be rows of adjacent or alternate samples")
        return flat(np.ascontiguousarray(plane))
    length = (plane.shape[0] - 1) * row + (plane.shape[1] - 1) * column + 1
    memory = as_strided(plane, (length,), (plane.itemsize,), writeable=writeable)
    return memory, row, column


def flat_planes(
    planes: Sequence[Array], writeable: bool = False
) -> tuple[tuple[Array, ...], tuple[tuple[int, int], ...]]:
    """(memory, (row, column) samples apart) of Y, U, V; grey repeats Y with U and V 0 apart."""
    views = [flat(plane, writeable) for plane in planes]
    if len(views) == 1:
        views += [(views[0][0], 0, 0)] * 2
    return tuple(view[0] for view in views), tuple(view[1:] for view in views)


def check_planes(planes: Sequence[Array], pixels: PixelFormat) -> None:
    """Raise ``ValueError`` unless ``planes`` have the shapes and the dtype of ``pixels``."""
    height_px, width_px = planes[0].shape
    shapes = pixels.plane_shapes(width_px, height_px)
    if [plane.shape for plane in planes] != shapes or min(shapes[0]) < 1:
        raise ValueError(f"planes {[p.shape for p in planes]} should be {shapes} for {pixels}")
    dtype = np.uint8 if pixels.bits == 8 else np.uint16
    if any(plane.dtype != dtype for plane in planes):
        raise ValueError(f"planes of {planes[0].dtype} should be {dtype.__name__} for {pixels}")


def word_type(tensor: TensorFormat) -> np.dtype[Any]:
    """Unsigned type that moves one row of a cell, or as much of it as fits 64 bits, at once."""
    return np.dtype(f"u{min(8, tensor.cell * np.dtype(tensor.dtype).itemsize)}")


def cell_counts(tensor: TensorFormat, colours: int) -> tuple[tuple[int, ...], ...]:
    """Colours, cell and words of a cell's row as *lengths of tuples*: constants to the compiler.

    The strides of the tensor are then constants too, which makes moving it two to nine times as
    fast.
    """
    span = tensor.cell * np.dtype(tensor.dtype).itemsize // word_type(tensor).itemsize
    return (0,) * colours, (0,) * tensor.cell, (0,) * span


def word_view(array: Array, tensor: TensorFormat, colours: int) -> Array:
    """The tensor ``array`` as kernels take it; ``ValueError`` when it is not what the format says.

    NHWC: words (rows, columns · words of a cell). NCHW: unsigned elements
    (colours, cell², rows, columns). ``colours`` counts the grain.
    """
    channels = colours * tensor.cell**2
    axis = 3 if tensor.layout == "NHWC" else 1
    if array.ndim != 4 or array.shape[0] != 1 or array.shape[axis] != channels:
        raise ValueError(f"{array.shape = } should be 1 × {channels} channels, {tensor.layout}")
    if array.dtype != np.dtype(tensor.dtype) or not array.flags.c_contiguous:
        raise ValueError(f"{array.dtype} tensor should be contiguous {tensor.dtype}")
    if tensor.layout == "NHWC":
        return array.reshape(array.shape[1], -1).view(word_type(tensor))
    cells = (colours, tensor.cell**2, *array.shape[2:])
    return array.view(f"u{array.itemsize}").reshape(cells)


def tensor_size_px(array: Array, tensor: TensorFormat) -> tuple[int, int]:
    """(width, height) in pixels of a tensor."""
    rows, columns = array.shape[1:3] if tensor.layout == "NHWC" else array.shape[2:4]
    return columns * tensor.cell, rows * tensor.cell
