"""Fake quantization: train with the rounding that the INT8 graph will have."""

# pyright: reportMissingImports=false
from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

WEIGHT_LIMIT = 64
"""Weights use 7 bits, -64…63: x86 without VNNI adds pairs of products in saturating 16 bits
(``vpmaddubsw``), and 2 · 255 · 64 is the largest sum that fits."""

_CLIPPED_SHARE = 2e-5  # of the activations, when a range is first set; training moves it afterwards


class FakeQuant(nn.Module):
    """Rounds activations to unsigned 8 bits with one trained scale; passes them on until frozen.

    ``signed`` values get a zero point in the middle; others start at 0, so that rounding them is
    the ReLU. Gradients pass straight through the rounding (Esser et al., "LSQ", 2020).
    """

    scale: Tensor
    zero: Tensor

    def __init__(self, signed: bool) -> None:
        super().__init__()
        self.signed = signed
        self.on = False
        self.scale = nn.Parameter(torch.tensor(1.0))
        self.register_buffer("zero", torch.tensor(0.0))

    def set_range(self, values: Tensor) -> None:
        """Choose scale and zero point from sample activations, and start to round."""
        flat = values.detach().flatten()[:: max(1, values.numel() // 4_000_000)]
        edges = torch.tensor([_CLIPPED_SHARE, 1 - _CLIPPED_SHARE])
        low, high = (float(v) for v in _quantiles(flat, edges))
        low = min(low, 0.0) if self.signed else 0.0
        self._set(low, high)
        self.on = True

    def largest(self) -> float:
        """The largest value that can be told from a larger one."""
        return float(self.scale.detach() * (255 - self.zero))

    def limit(self, low: float, high: float) -> None:
        """Narrow the range to what lies in ``low``…``high``."""
        least = float(-self.scale.detach() * self.zero)
        self._set(max(low, least), min(high, self.largest()))

    def _set(self, low: float, high: float) -> None:
        self.scale.data = torch.tensor(max(high - low, 1e-3) / 255)
        self.zero = torch.round(torch.tensor(-low) / self.scale.data).clamp(0, 255)

    def forward(self, x: Tensor) -> Tensor:
        if not self.on:
            return x if self.signed else torch.relu(x)
        levels = (x / self.scale + self.zero).clamp(0, 255)
        return (_round_straight(levels) - self.zero) * self.scale


class ShareQuant(nn.Module):
    """Rounds shares 0…1 to codes, always: nothing about it is trained."""

    signed = False
    scale: Tensor
    zero: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", torch.tensor(1 / 255), persistent=False)
        self.register_buffer("zero", torch.tensor(0.0), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return _round_straight(x.clamp(0, 1) * 255) / 255


class QuantConv(nn.Conv2d):
    """A same-size convolution whose weights are rounded per output channel once ``on``.

    It may be trained in other bases than it is written in: ``before`` (channels_in, channels_in)
    acts on inputs less ``centre``, ``after`` (channels_out, channels_out) on outputs.
    """

    before: Tensor | None
    after: Tensor | None

    def __init__(self, channels_in: int, channels_out: int, kernel: int, spacing: int = 1) -> None:
        padding = kernel // 2 * spacing
        super().__init__(channels_in, channels_out, kernel, padding=padding, dilation=spacing)
        self.on = False
        self.centre = 0.0
        self.register_buffer("before", None)
        self.register_buffer("after", None)

    def plain(self) -> tuple[Tensor, Tensor]:
        """Weights (channels_out, channels_in, kernel, kernel) and biases, bases folded in."""
        weight, bias = self.weight, self.bias
        assert bias is not None
        if self.before is not None:
            weight = torch.einsum("oikl,ij->ojkl", weight, self.before)
            bias = bias - self.centre * weight.sum(dim=(1, 2, 3))
        if self.after is not None:
            weight = torch.einsum("po,oikl->pikl", self.after, weight)
            bias = self.after @ bias
        return weight, bias

    def fold(self) -> None:
        """Keep :meth:`plain` weights from now on."""
        weight, bias = self.plain()
        self.weight, self.bias = nn.Parameter(weight.detach()), nn.Parameter(bias.detach())
        self.before = self.after = None

    def integers(self) -> tuple[Tensor, Tensor]:
        """Rounded plain weights -63…63 and their scales (channels_out,)."""
        return _integers(self.plain()[0].detach())

    def forward(self, input: Tensor) -> Tensor:
        weight, bias = self.plain()
        if self.on:
            integers, scale = _integers(weight.detach())
            rounded = integers * scale.view(-1, 1, 1, 1)
            weight = weight + (rounded - weight).detach()
        return functional.conv2d(input, weight, bias, padding=self.padding, dilation=self.dilation)


def _integers(weight: Tensor) -> tuple[Tensor, Tensor]:
    scale = weight.abs().amax(dim=(1, 2, 3)).clamp_min(1e-8) / (WEIGHT_LIMIT - 1)
    return torch.round(weight / scale.view(-1, 1, 1, 1)), scale


def _round_straight(x: Tensor) -> Tensor:
    return x + (torch.round(x) - x).detach()


def _quantiles(values: Tensor, shares: Tensor) -> Tensor:
    ordered = values.sort().values
    return ordered[(shares * (len(ordered) - 1)).round().long()]
