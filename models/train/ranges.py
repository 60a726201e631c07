"""Choose the ranges of a trained painter's activations again, by what comes out at the end."""

# pyright: reportMissingImports=false
from __future__ import annotations

import torch
from torch import Tensor

from sfumato.models.train.network import Painter

_FACTORS = (0.8, 0.9, 1.12, 1.25, 1.5, 2.0)
_SIDE_CELLS = 32
"""Of each sample only the middle is tried: the painter runs a hundred times, and whole crops, which
no cache holds, took minutes."""


def tune_ranges(painter: Painter, samples: Tensor) -> None:
    """Widen or narrow each range of a rounding painter in place where that brings it closer.

    Training follows the mean, and lets rare strong contrasts (print on paper) be cut off. Here each
    of the ``samples``, cells (n, channels, h, w), counts alike: the mean of their error in decibels.
    """
    samples = _middle(samples)
    painter.set_rounding(False)
    with torch.no_grad():
        wanted = painter(samples).clamp(0, 1)
    painter.set_rounding(True)
    least = _error(painter, samples, wanted)
    for quant in painter.quants():
        start = best = quant.scale.detach().clone()
        for factor in _FACTORS:
            quant.scale.data = start * factor
            error = _error(painter, samples, wanted)
            if error < least:
                least, best = error, quant.scale.detach().clone()
        quant.scale.data = best


def _middle(samples: Tensor) -> Tensor:
    top, left = (max(0, side - _SIDE_CELLS) // 2 for side in samples.shape[-2:])
    return samples[..., top : top + _SIDE_CELLS, left : left + _SIDE_CELLS].contiguous()


def _error(painter: Painter, samples: Tensor, wanted: Tensor) -> float:
    with torch.no_grad():
        error = painter(samples).clamp(0, 1) - wanted
    return float(error.square().mean(dim=(1, 2, 3)).add(1e-8).log().mean())
