"""The network of the shipped styles: everything happens on 4 × 4 cells, in few multiplications."""

# pyright: reportMissingImports=false
from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sfumato.models.train.quant import FakeQuant, QuantConv, ShareQuant

CELL = 4
DETAIL_GAIN = 6.0
COLOURS = 3 * CELL**2
GRAIN = CELL**2


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Size of a :class:`Painter`; channel counts are multiples of 16 (the kernels' width)."""

    width: int = 64
    narrow: int = 32
    blocks: int = 3
    stem: int = 1
    head: int = 1
    """Kernels of the first and the last convolution, in cells."""
    spacings: tuple[int, ...] = ()
    """Cells between the taps of each block's 3 × 3 convolution; 1 where nothing is said. Two cells
    see twice as far at the same price."""
    gate: bool = False
    """Let the network say how much of each source pixel stays, 0…1. Texture is gone at once where
    it says none; without, all of it must be drawn again with the sign reversed."""
    grain: bool = False

    @property
    def inputs(self) -> int:
        return COLOURS + GRAIN * self.grain

    @property
    def radius_px(self) -> int:
        """Receptive-field radius: the spacing of each 3 × 3 convolution on the way."""
        looks = sum(self.spacing(block) for block in range(self.blocks))
        return CELL * (self.stem // 2 + looks + self.head // 2)

    @property
    def kmac_per_pixel(self) -> float:
        """Multiplications per pixel, in thousands."""
        block = 9 * self.width * self.narrow + self.narrow * self.width
        ends = self.width * (self.stem**2 * self.inputs + self.head**2 * COLOURS * (1 + self.gate))
        return (ends + self.blocks * block) / CELL**2 / 1000

    def spacing(self, block: int) -> int:
        """Of the taps of a block's 3 × 3 convolution, in cells."""
        return self.spacings[block] if block < len(self.spacings) else 1


class Block(nn.Module):
    """x + 1 × 1(ReLU(3 × 3(x))): a residual step through a narrow waist."""

    def __init__(self, width: int, narrow: int, spacing: int) -> None:
        super().__init__()
        self.look, self.look_quant = QuantConv(width, narrow, 3, spacing), FakeQuant(signed=False)
        self.mix, self.mix_quant = QuantConv(narrow, width, 1), FakeQuant(signed=True)
        self.sum_quant = FakeQuant(signed=False)
        nn.init.kaiming_normal_(self.look.weight, nonlinearity="relu")
        nn.init.kaiming_normal_(self.mix.weight)
        self.mix.weight.data *= 0.3  # the stream's energy grows little from block to block

    def forward(self, x: Tensor) -> Tensor:
        step = self.mix_quant(self.mix(self.look_quant(self.look(x))))
        return self.sum_quant(x + step)


def cell_waves(detail: float) -> Tensor:
    """The 4 × 4 cosine transform of each colour, as a matrix (48, 48); detail amplified.

    The 16 pixels of a cell are nearly equal, and gradient descent that sees them as they are
    learns tone long before it learns line. So the ends of the network are trained in this basis.
    """
    k = torch.arange(CELL)
    wave = torch.cos(torch.pi * (2 * k[None] + 1) * k[:, None] / (2 * CELL)) / math.sqrt(2)
    wave[0] /= math.sqrt(2)
    gain = torch.full((CELL**2,), detail)
    gain[0] = 0.5
    return torch.kron(torch.eye(3), gain[:, None] * torch.kron(wave, wave))


class Painter(nn.Module):
    """Cells in, painted cells out: (n, 48 or 64, h, w) → (n, 48, h, w), colours 0…1, not clipped."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.stem, self.stem_quant = (
            QuantConv(shape.inputs, shape.width, shape.stem),
            FakeQuant(signed=False),
        )
        self.blocks = nn.ModuleList(
            Block(shape.width, shape.narrow, shape.spacing(block)) for block in range(shape.blocks)
        )
        self.head, self.head_quant = (
            QuantConv(shape.width, COLOURS, shape.head),
            FakeQuant(signed=True),
        )
        if shape.gate:
            self.gate, self.gate_quant = QuantConv(shape.width, COLOURS, 1), ShareQuant()
            nn.init.normal_(self.gate.weight, std=1e-3)
            self.gate.bias = nn.Parameter(torch.full((COLOURS,), 0.98))
        nn.init.kaiming_normal_(self.stem.weight, nonlinearity="relu")
        self.head.weight.data *= 0.1
        self.stem.before = torch.block_diag(cell_waves(DETAIL_GAIN), torch.eye(GRAIN * shape.grain))
        self.stem.centre = 0.5
        self.head.after = cell_waves(1.0).T.contiguous()

    def forward(self, cells: Tensor) -> Tensor:
        features = self.features(cells)
        return self.kept(cells, features) + self.head_quant(self.head(features))

    def kept(self, cells: Tensor, features: Tensor) -> Tensor:
        """What the painting has of the source itself: all of it where there is no gate."""
        colours = cells[:, :COLOURS]
        return colours * self.gate_quant(self.gate(features)) if self.shape.gate else colours

    def features(self, cells: Tensor) -> Tensor:
        """What the last convolution sees: (n, width, h, w), not negative."""
        x: Tensor = self.stem_quant(self.stem(cells))
        for block in self.blocks:
            x = block(x)
        return x

    def start_rounding(self, cells: Tensor) -> None:
        """Switch to INT8 arithmetic, ranges taken from ``cells``, layer after layer in one pass."""
        for conv in self.convolutions():
            conv.on = True
        hooks = [
            quant.register_forward_pre_hook(lambda q, args: q.set_range(args[0]))
            for quant in self.quants()
        ]
        with torch.no_grad():
            self(cells)
        for hook in hooks:
            hook.remove()
        self.tighten()

    def tighten(self) -> None:
        """Spend no codes on steps that the rectified sum after them cannot tell apart.

        A step below -max(x) gives 0 whatever it is, one above max(sum) the largest code.
        """
        before = self.stem_quant
        for block in self.blocks:
            block.mix_quant.limit(-before.largest(), block.sum_quant.largest())
            before = block.sum_quant

    def set_rounding(self, on: bool) -> None:
        """Round weights and activations (with the ranges they have) or leave them be."""
        for conv in self.convolutions():
            conv.on = on
        for quant in self.quants():
            quant.on = on

    def convolutions(self) -> list[QuantConv]:
        """All convolutions, in the order they run."""
        return [module for module in self.modules() if isinstance(module, QuantConv)]

    def quants(self) -> list[FakeQuant]:
        """All activation quantizers, in the order they run."""
        return [module for module in self.modules() if isinstance(module, FakeQuant)]
