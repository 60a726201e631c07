"""Pictures to tensors and back in NumPy: for checks and thumbnails, not for every frame."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.models.grain import grain_texture
from sfumato.models.spec import StyleSpec

Tensor = NDArray[np.uint8] | NDArray[np.float32]


def to_tensor(picture: NDArray[np.uint8], spec: StyleSpec) -> Tensor:
    """The style's input for an RGB picture, uint8 (rows, columns, 3), both multiples of the cell.

    Grain is that of a picture at the frame's origin.
    """
    black, white = spec.input_range
    colours = picture if spec.channel_order == "RGB" else picture[..., ::-1]
    values = colours.astype(np.float32) * ((white - black) / 255) + black
    if spec.grain_seed is not None:
        rows, columns = picture.shape[:2]
        texture = grain_texture(spec.grain_seed)
        grain = texture[np.arange(rows)[:, None] % len(texture), np.arange(columns) % len(texture)]
        values = np.dstack([values, grain * ((white - black) / 255) + black])
    cells = _to_cells(values, spec.cell)
    ordered = cells if spec.layout == "NHWC" else cells.transpose(2, 0, 1)
    return _cast(ordered[None], spec)


def to_picture(tensor: Tensor, spec: StyleSpec) -> NDArray[np.uint8]:
    """The RGB picture, uint8 (rows, columns, 3), that the style's output stands for."""
    black, white = spec.output_range
    cells = tensor[0] if spec.layout == "NHWC" else tensor[0].transpose(1, 2, 0)
    values = (_from_cells(cells, spec.cell).astype(np.float32) - black) * (255 / (white - black))
    colours = values if spec.channel_order == "RGB" else values[..., ::-1]
    return np.ascontiguousarray(np.rint(colours).clip(0, 255), np.uint8)


def _cast(values: NDArray[np.float32], spec: StyleSpec) -> Tensor:
    if spec.dtype == "float32":
        return np.ascontiguousarray(values, np.float32)
    return np.ascontiguousarray(np.rint(values).clip(0, 255), np.uint8)


def _to_cells(values: NDArray[np.float32], cell: int) -> NDArray[np.float32]:
    """(rows, columns, c) to (rows/cell, columns/cell, c·cell²)."""
    rows, columns, channels = values.shape
    split = values.reshape(rows // cell, cell, columns // cell, cell, channels)
    return split.transpose(0, 2, 4, 1, 3).reshape(rows // cell, columns // cell, -1)


def _from_cells(cells: Tensor, cell: int) -> Tensor:
    """The inverse of :func:`_to_cells`."""
    rows, columns, channels = cells.shape
    split = cells.reshape(rows, columns, channels // cell**2, cell, cell)
    return split.transpose(0, 3, 1, 4, 2).reshape(rows * cell, columns * cell, -1)
