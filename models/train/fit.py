"""The training loop: learn a renderer's pictures by regression, the last part at INT8."""

# pyright: reportMissingImports=false
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from sfumato.models.grain import GRAIN_PX
from sfumato.models.train.content import Codes, Pair
from sfumato.models.train.network import CELL, Painter

Objective = Callable[[Painter, Tensor, Tensor], Tensor]
"""Loss of a painter on a batch: its input cells and the wanted picture (n, 3, h, w), 0…1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How long and how hard to train."""

    steps: int = 20_000
    rounded_share: float = 0.25
    """The last share of the steps runs with fake quantization."""
    batch: int = 2
    crop_px: int = 208
    rate: float = 5e-3
    noise_codes: float = 4.0
    """Largest standard deviation of the noise on the input; the target stays clean."""
    seed: int = 1


class Sampler:
    """Random crops of pairs, as cells: (n, channels, h, w) float32 0…1."""

    def __init__(
        self, pairs: Sequence[Pair], schedule: Schedule, grain: NDArray[np.uint8] | None
    ) -> None:
        self._pairs, self._schedule, self._grain = pairs, schedule, grain
        self._rng = np.random.default_rng(schedule.seed)
        areas = np.sqrt([float(p.source.shape[0] * p.source.shape[1]) for p in pairs])
        self._odds = areas / areas.sum()

    def batch(self) -> tuple[Tensor, Tensor]:
        """Noisy network inputs and clean targets."""
        crops = [self._crop() for _ in range(self._schedule.batch)]
        return torch.cat([c[0] for c in crops]), torch.cat([c[1] for c in crops])

    def samples(self, batches: int = 12, harsh: int = 12) -> Tensor:
        """Inputs to set ranges on: random ones, and some of the pictures with most contrast."""
        contrast = [
            np.abs(np.diff(p.source[..., 1].astype(np.int16), axis=1)).mean() for p in self._pairs
        ]
        worst = [self._pairs[i] for i in np.argsort(contrast)[-harsh:]]
        crops = [self._crop(pair)[0] for pair in worst]
        return torch.cat([*(self.batch()[0] for _ in range(batches)), *crops])

    def _crop(self, pair: Pair | None = None) -> tuple[Tensor, Tensor]:
        if pair is None:
            pair = self._pairs[self._rng.choice(len(self._pairs), p=self._odds)]
        side = self._schedule.crop_px
        height, width = pair.source.shape[:2]
        top = int(self._rng.integers(0, max(0, height - side) + 1))
        left = int(self._rng.integers(0, max(0, width - side) + 1))
        source, target = (_cut(p, top, left, side) for p in (pair.source, pair.target))
        if self._grain is None:  # strokes have a handedness; flat styles have none
            turn, flip = int(self._rng.integers(4)), bool(self._rng.integers(2))
            source, target = (_turned(p, turn, flip) for p in (source, target))
        image = torch.from_numpy(source.astype(np.float32) / 255).permute(2, 0, 1)[None]
        image = self._noisy(image)
        if self._grain is not None:
            rows, columns = (np.arange(o, o + side) % GRAIN_PX for o in (top, left))
            texture = self._grain[np.ix_(rows, columns)].astype(np.float32) / 255
            image = torch.cat([image, torch.from_numpy(texture)[None, None]], 1)
        wanted = torch.from_numpy(target.astype(np.float32) / 255).permute(2, 0, 1)[None]
        return functional.pixel_unshuffle(image, CELL), wanted

    def _noisy(self, image: Tensor) -> Tensor:
        """Clean a third of the time, else Gaussian noise, rounded to codes as a camera would."""
        sigma = max(0.0, self._rng.uniform(-0.5, 1.0)) * self._schedule.noise_codes
        if sigma == 0:
            return image
        noise = torch.from_numpy(self._rng.standard_normal(image.shape, dtype=np.float32))
        return (torch.round(image * 255 + sigma * noise) / 255).clamp(0, 1)


def fit(
    painter: Painter,
    sampler: Sampler,
    schedule: Schedule,
    objective: Objective,
    progress: Callable[[str], None] = lambda line: None,
    checkpoint: Path | None = None,
) -> None:
    """Train ``painter`` in place, rounding to INT8 from the last part on.

    The state is kept in ``checkpoint`` every thousand steps; a file that is there is gone on from.
    """
    torch.manual_seed(schedule.seed)
    rounding_from = min(round(schedule.steps * (1 - schedule.rounded_share)), schedule.steps - 1)
    optimizer = _optimizer(painter, schedule)
    state = Progress(step=0, loss=0.0)
    if checkpoint is not None and checkpoint.exists():
        state = _resume(checkpoint, painter, optimizer)
    for step in range(state.step, schedule.steps):
        cells, wanted = sampler.batch()
        if step == rounding_from:
            painter.start_rounding(sampler.samples())
        for group in optimizer.param_groups:
            group["lr"] = group["share"] * _rate(step, schedule)
        loss = objective(painter, cells, wanted)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(painter.parameters(), 1.0)
        optimizer.step()
        state.update(step, float(loss.detach()))
        if step % 100 == 99:
            progress(f"step {step + 1}/{schedule.steps} loss {state.loss:.4f}")
        if checkpoint is not None and (step % 1000 == 999 or step + 1 == schedule.steps):
            _save(checkpoint, painter, optimizer, state)
    painter.eval()


@dataclass(slots=True)
class Progress:
    """Where a run stands; the loss is a running mean over about a hundred steps."""

    step: int
    loss: float

    def update(self, step: int, loss: float) -> None:
        self.loss = loss if self.step == 0 else 0.99 * self.loss + 0.01 * loss
        self.step = step + 1


def _rate(step: int, schedule: Schedule) -> float:
    """A short warm-up, then a cosine down to a hundredth."""
    warm = min(1.0, (step + 1) / 200)
    fall = 0.5 * (1 + math.cos(math.pi * step / schedule.steps))
    return schedule.rate * warm * (0.01 + 0.99 * fall)


def _optimizer(painter: Painter, schedule: Schedule) -> torch.optim.Optimizer:
    scales = [p for n, p in painter.named_parameters() if n.endswith("quant.scale")]
    others = [p for n, p in painter.named_parameters() if not n.endswith("quant.scale")]
    groups = [{"params": others, "share": 1.0}, {"params": scales, "share": 0.002}]
    return torch.optim.Adam(groups, lr=schedule.rate, betas=(0.9, 0.99))


def _cut(picture: Codes, top: int, left: int, side: int) -> Codes:
    crop = picture[top : top + side, left : left + side]
    short = (side - crop.shape[0], side - crop.shape[1])
    return np.pad(crop, ((0, short[0]), (0, short[1]), (0, 0)), "reflect") if any(short) else crop


def _turned(picture: Codes, turn: int, flip: bool) -> Codes:
    turned = np.rot90(picture, turn)
    return np.ascontiguousarray(turned[:, ::-1] if flip else turned)


def _save(path: Path, painter: Painter, optimizer: torch.optim.Optimizer, state: Progress) -> None:
    rounding = [q.on for q in painter.quants()]
    kept = {
        "painter": painter.state_dict(),
        "optimizer": optimizer.state_dict(),
        "rounding": all(rounding),
        "step": state.step,
        "loss": state.loss,
    }
    beside = path.with_suffix(".part")
    torch.save(kept, beside)
    beside.replace(path)


def _resume(path: Path, painter: Painter, optimizer: torch.optim.Optimizer) -> Progress:
    kept = torch.load(path, weights_only=True)
    painter.load_state_dict(kept["painter"])
    optimizer.load_state_dict(kept["optimizer"])
    painter.set_rounding(kept["rounding"])
    return Progress(kept["step"], kept["loss"])
