"""Choose the last layer's integers again, so that even fields come out even, and grey ones grey.

Rounding a weight to 7 bits moves each of a cell's 16 pixels by its own small amount: on even
colours that is a pattern of period 4. The last layer is linear, so the best integers can be
searched for directly: those that keep photographs as trained, even fields even and grey ones grey.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sfumato.models.train.network import CELL, COLOURS, Painter
from sfumato.models.train.quant import WEIGHT_LIMIT, QuantConv

Floats = NDArray[np.float64]

_EVENNESS = 200.0
"""Weight of the even fields' error against the photographs'."""


def settle(painter: Painter, photos: Tensor) -> None:
    """Set the weights and biases of a rounding painter's 1 × 1 head, and gate, in place.

    ``photos`` are cells (n, channels, h, w); the even fields are a grid of colours and all greys.
    """
    if painter.shape.head != 1:
        raise ValueError(f"{painter.shape.head = } should be 1: only such a head can be settled")
    fields = _fields(painter)
    colours = _middle_cell(fields)[:, :: CELL**2]
    grey = np.ptp(colours, axis=1) == 0
    with torch.no_grad():
        seen = _every_seventh_cell(painter.features(photos))
        features = painter.features(fields)
    even = _middle_cell(features)
    if painter.shape.gate:
        _settle_rows(painter.gate, seen, even, np.zeros((len(even), COLOURS)))
    with torch.no_grad():
        kept = _middle_cell(painter.kept(fields, features))
    _settle_rows(painter.head, seen, even, kept, grey)


def _settle_rows(
    conv: QuantConv,
    seen: Floats,
    even: Floats,
    beside: Floats,
    grey: NDArray[np.bool_] | None = None,
) -> None:
    """Choose integers that answer as before to what is ``seen``, and evenly to ``even`` fields.

    Features (n, channels in). ``beside`` (n, channels out) is added to the answers to even fields,
    which are to be without colour where ``grey`` (n,).
    """
    conv.fold()
    integers, scale = (t.double().numpy() for t in conv.integers())
    weight, bias = (t.detach().double().numpy() for t in conv.plain())
    trained, offsets = weight[:, :, 0, 0], bias.copy()
    answers = even @ trained.T + offsets + beside
    means = answers.reshape(len(even), 3, CELL**2).mean(axis=2).repeat(CELL**2, axis=1)
    if grey is not None:
        means[grey] = means[grey].mean(axis=1, keepdims=True)
    weights = np.repeat([1 / len(seen), _EVENNESS / len(even)], [len(seen), len(even)])
    inputs = np.concatenate([seen, even])
    wanted = np.concatenate([seen @ trained.T + offsets, means - beside])
    for row, step in enumerate(scale):
        start = integers[row, :, 0, 0]
        values, offsets[row] = _search(inputs * step, wanted[:, row], weights, start)
        conv.weight.data[row, :, 0, 0] = torch.from_numpy(values * step).float()
    conv.bias = torch.nn.Parameter(torch.from_numpy(offsets).float())


def _search(inputs: Floats, wanted: Floats, weights: Floats, start: Floats) -> tuple[Floats, float]:
    """Integers near ``start`` and an offset with the least weighted square error: best move first.

    Keeps one weight at full range, so that the row's scale, and with it all others, stays.
    """
    total = weights.sum()
    centre, middle = (weights @ inputs) / total, float(weights @ wanted) / total
    x, y = inputs - centre, wanted - middle
    gram, pull = x.T @ (weights[:, None] * x), x.T @ (weights * y)
    values = start.copy()
    pinned = int(np.argmax(np.abs(start)))
    for _ in range(40 * len(start)):
        slope = gram @ values - pull
        gains = np.stack([gram.diagonal() / 2 + slope, gram.diagonal() / 2 - slope])
        limit = abs(start[pinned])
        gains[0, values + 1 > limit], gains[1, values - 1 < -limit] = np.inf, np.inf
        gains[:, pinned] = np.inf
        sign, place = np.unravel_index(np.argmin(gains), gains.shape)
        if gains[sign, place] >= -1e-15:
            break
        values[place] += 1 - 2 * sign
    assert np.abs(values).max() < WEIGHT_LIMIT
    return values, middle - float(centre @ values)


def _fields(painter: Painter) -> Tensor:
    levels = torch.linspace(0, 255, 10).round() / 255
    colours = torch.cartesian_prod(levels, levels, levels)
    tests = torch.cartesian_prod(*[torch.arange(4) / 3] * 3)
    greys = (torch.arange(256) / 255)[:, None].expand(-1, 3)
    every = torch.cat([colours, tests, tests, greys, greys])
    side = 2 * painter.shape.radius_px // CELL + 1
    return every.repeat_interleave(CELL**2, 1)[..., None, None].expand(-1, -1, side, side)


def _every_seventh_cell(features: Tensor) -> Floats:
    return np.asarray(features.permute(0, 2, 3, 1).flatten(0, 2)[::7].double())


def _middle_cell(features: Tensor) -> Floats:
    return np.asarray(features[:, :, features.shape[2] // 2, features.shape[3] // 2].double())
