"""The numbers between YUV codes and tensor values: ITU-R BT.601-7, BT.709-6, BT.2020-2, H.273."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.formats import LUMA_WEIGHTS, Matrix, PixelFormat, TensorFormat

Floats = NDArray[np.float64]


def luma_rows(matrix: Matrix) -> Floats:
    """float64 (3, 3): rows that turn R, G, B in 0…1 into Y in 0…1 and Cb, Cr in ±0.5."""
    red, blue = LUMA_WEIGHTS[matrix]
    luma = np.array([red, 1 - red - blue, blue])
    cb = (np.array([0.0, 0.0, 1.0]) - luma) / (2 * (1 - blue))
    cr = (np.array([1.0, 0.0, 0.0]) - luma) / (2 * (1 - red))
    return np.stack([luma, cb, cr])


def code_scale(pixels: PixelFormat) -> tuple[Floats, Floats]:
    """(span, zero) of Y, Cb, Cr: code = zero + span · signal, before rounding (H.273 §8.3)."""
    unit = 1 << (pixels.bits - 8)
    middle = 128.0 * unit
    if pixels.full_range:
        top = 256.0 * unit - 1
        return np.array([top, top, top]), np.array([0.0, middle, middle])
    return np.array([219.0, 224.0, 224.0]) * unit, np.array([16.0 * unit, middle, middle])


def tensor_limits(tensor: TensorFormat) -> tuple[float, float]:
    """Lowest and highest value a colour may take in the tensor (``black`` may be the brighter)."""
    if not tensor.clip:
        return -np.inf, np.inf
    return min(tensor.black, tensor.white), max(tensor.black, tensor.white)


def to_tensor(pixels: PixelFormat, tensor: TensorFormat) -> tuple[Floats, Floats]:
    """(weights (3, 3), zero (3,)): tensor colours = black + weights @ (Y, U, V codes - zero).

    Rows are in the tensor's colour order. Add half for integer tensors and clip to
    :func:`tensor_limits` yourself. Grey has neutral chroma: its weights are zero.
    """
    span, zero = code_scale(pixels)
    weights = np.linalg.inv(luma_rows(pixels.matrix)) * (tensor.white - tensor.black) / span
    weights[:, 0] = (tensor.white - tensor.black) / span[0]  # exactly alike: grey stays grey
    if pixels.chroma == "grey":
        weights[:, 1:] = 0
    return (weights if tensor.channel_order == "RGB" else weights[::-1]), zero


def from_tensor(pixels: PixelFormat, tensor: TensorFormat) -> tuple[Floats, Floats]:
    """(weights (3, 3), offsets (3,)): Y, U, V codes = weights @ tensor colours + offsets.

    Columns are in the tensor's colour order. Clip the colours first, then add half and clip the
    codes: Cb of pure blue rounds to one more than the highest full-range code.
    """
    span, zero = code_scale(pixels)
    weights = luma_rows(pixels.matrix) * span[:, None] / (tensor.white - tensor.black)
    offsets = zero - weights.sum(axis=1) * tensor.black
    return (weights if tensor.channel_order == "RGB" else weights[:, ::-1]), offsets
