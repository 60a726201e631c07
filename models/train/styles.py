"""Train a recipe from start to finish: pictures in, the style's two ONNX files out."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import onnx
import torch
from torch import Tensor

from sfumato.models.catalog import find_style
from sfumato.models.errors import ModelError
from sfumato.models.grain import grain_texture
from sfumato.models.spec import StyleSpec
from sfumato.models.train import content, graph
from sfumato.models.train.acceptance import Painted, measure
from sfumato.models.train.content import Codes, Pair
from sfumato.models.train.fit import Sampler, fit
from sfumato.models.train.network import CELL, Painter
from sfumato.models.train.ranges import tune_ranges
from sfumato.models.train.recipes import Recipe, Stage
from sfumato.models.train.settle import settle
from sfumato.models.train.start import start_from

HELD_OUT = "holdout"
"""Pictures in a sub-folder of this name are not trained on, only measured on."""

HELD_OUT_SHARE = 15
"""Without such a folder, one picture in so many is held out."""


@dataclass(frozen=True, slots=True)
class Trained:
    """The files of a style, and what was measured when they were made."""

    int8: Path
    fp32: Path
    spec: StyleSpec


def train(
    recipe: Recipe,
    content_folder: Path,
    out_folder: Path,
    *,
    steps: int | None = None,
    seed: int | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> Trained:
    """Render ``content_folder``'s pictures, learn them, write ``NAME.int8.onnx`` and the FP32 twin.

    Renderings and the run's state are kept in ``out_folder``/work: an interrupted call goes on
    where it stopped. Raises :class:`ContentError` for a folder or picture that is of no use.
    """
    stages = _stages(recipe, steps, seed)
    work = out_folder / "work"
    rendered = content.pairs(
        content_folder, recipe.render, work / recipe.renderer, progress, synthetic=80
    )
    learned, held_out = split(list(rendered))
    grain = None if recipe.grain_seed is None else grain_texture(recipe.grain_seed)
    torch.manual_seed(stages[0].schedule.seed)
    painter = Painter(recipe.shape)
    if recipe.start is not None:
        start_from(painter, _weights_of(recipe.start))
    samplers = [Sampler(learned, stage.schedule, grain) for stage in stages]
    for number, (stage, sampler) in enumerate(zip(stages, samplers, strict=True)):
        painter.set_rounding(False)
        checkpoint = work / (f"{recipe.name}.pt" if number == 0 else f"{recipe.name}.{number}.pt")
        fit(painter, sampler, stage.schedule, stage.objective(), progress, checkpoint)
    runs = " and ".join(f"{s.schedule.steps} steps from seed {s.schedule.seed}" for s in stages)
    how = f"{len(learned)} pictures, {runs}"
    how += f", on from the {recipe.start} shipped before" if recipe.start else ""
    samples = samplers[-1].samples()
    return export(painter, recipe, how, [p.source for p in held_out], samples, out_folder)


def _weights_of(style: str) -> Path:
    """The FP32 file of a shipped style."""
    path = find_style(style).fp32
    if path is None:
        raise ModelError(f"the shipped style {style!r} has no FP32 file to go on from")
    return path


def _stages(recipe: Recipe, steps: int | None, seed: int | None) -> list[Stage]:
    """The recipe's stages; ``steps`` are shared out among them as its own are."""
    share = 1.0 if steps is None else steps / sum(s.schedule.steps for s in recipe.stages)
    return [
        Stage(
            stage.objective,
            replace(
                stage.schedule,
                steps=max(1, round(share * stage.schedule.steps)),
                seed=stage.schedule.seed if seed is None else seed + number,
            ),
        )
        for number, stage in enumerate(recipe.stages)
    ]


def split(rendered: Sequence[Pair]) -> tuple[list[Pair], list[Pair]]:
    """Pairs to train on and held-out ones: those of the folder for it, else every fifteenth."""
    photos = [p for p in rendered if not p.name.startswith("synthetic_")]
    held_out = [p for p in photos if p.name.startswith(f"{HELD_OUT}_")]
    held_out = held_out or photos[HELD_OUT_SHARE // 2 :: HELD_OUT_SHARE] or photos[-1:]
    kept_out = {p.name for p in held_out}
    return [p for p in rendered if p.name not in kept_out] or list(rendered), held_out


def export(
    painter: Painter,
    recipe: Recipe,
    trained_on: str,
    photos: Sequence[Codes],
    samples: Tensor,
    folder: Path,
) -> Trained:
    """Write both files, with the figures measured on ``photos`` in their specs.

    ``samples`` are cells from the training pictures, to tune the INT8 file on.
    """
    spec = _spec(painter, recipe, trained_on)
    fp32 = graph.fp32_model(painter, spec)
    tune_ranges(painter, samples)
    if not recipe.textured:
        settle(painter, samples)
    rounded = replace(spec, precision="int8", quantization=_HOW, trim_px=_trim_px(spec.radius_px))
    int8 = graph.int8_model(painter, rounded)
    painted = [Painted(m.SerializeToString(), s) for m, s in ((int8, rounded), (fp32, spec))]
    figures = measure(painted[0], painted[1], photos)
    spec, rounded = (replace(s, acceptance=figures.as_dict()) for s in (spec, rounded))
    folder.mkdir(parents=True, exist_ok=True)
    return Trained(_write(int8, rounded, folder), _write(fp32, spec, folder), rounded)


def _write(model: onnx.ModelProto, spec: StyleSpec, folder: Path) -> Path:
    graph.set_spec(model, spec)
    path = folder / f"{spec.name}.{spec.precision}.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def _trim_px(radius_px: int) -> int:
    """Pixels that the INT8 file leaves uncomputed at a tile's edges.

    Its residual steps must be cut for that, which costs more than it spares where the radius is
    small; and always at FP32, where cutting breaks up the order that ONNX Runtime keeps values in.
    """
    return radius_px if radius_px > 2 * CELL else 0


_HOW = {
    "format": "QDQ",
    "activations": "uint8, per tensor, trained scales",
    "weights": "int8 within 7 bits, symmetric, per output channel",
    "training": "quantization-aware",
}


def _spec(painter: Painter, recipe: Recipe, trained_on: str) -> StyleSpec:
    shape = painter.shape
    return StyleSpec(
        name=recipe.name,
        summary=recipe.summary,
        cell=CELL,
        multiple=CELL,
        radius_px=shape.radius_px,
        grain_seed=recipe.grain_seed,
        norm="none",
        trained_on=trained_on,
        kmac_per_pixel=round(shape.kmac_per_pixel, 2),
        textured=recipe.textured,
    )
