"""The recipes of the shipped styles: a renderer to learn from, a network's size, a schedule."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from sfumato.models.train import oil, toon, ukiyoe
from sfumato.models.train.content import read_picture
from sfumato.models.train.fit import Objective, Schedule
from sfumato.models.train.losses import regression
from sfumato.models.train.names import check_name
from sfumato.models.train.network import Shape
from sfumato.models.train.paint import Palette
from sfumato.models.train.perceptual import PaintingLoss, load_judge
from sfumato.models.train.render import Image, from_codes, to_lab

PAINTING_PX = 640
"""Short side at which a painting is looked at: its strokes should be as wide as the style's."""

PAINTING_STRENGTH = (0.5, 0.9)
"""How far lightness and colour go towards a user's painting."""

OIL = Shape(narrow=48, blocks=4, spacings=(1, 2, 1, 1), grain=True, gate=True)


@dataclass(frozen=True, slots=True)
class Stage:
    """One training run; the next goes on from where it ended, unrounded again at first."""

    objective: Callable[[], Objective]
    schedule: Schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Everything that makes one style, content aside."""

    name: str
    summary: str
    render: Callable[[Image], Image]
    """Makes the pictures to learn from."""
    renderer: str
    """Name of the renderer: styles that share one share its pictures."""
    stages: tuple[Stage, ...]
    shape: Shape = field(default_factory=Shape)
    grain_seed: int | None = None
    textured: bool = False
    start: str | None = None
    """The shipped style to go on from."""


def find(name: str) -> Recipe:
    """A recipe by name; raises :class:`ModelError` with the names there are."""
    check_name(name)
    return RECIPES[name]


def of_painting(path: Path) -> Recipe:
    """Paint in the manner of the picture in ``path``; needs the extra ``[perceptual]``.

    The oil renderer in the painting's own colours says what goes where, the painting how the
    paint lies; it has less of a say in the end, which takes strokes off faces.
    """
    painting = read_picture(path, PAINTING_PX)
    palette = Palette.of(to_lab(from_codes(painting)))
    return Recipe(
        name=path.stem,
        summary=f"in the manner of {path.name}",
        render=partial(oil.render, palette=palette, strength=PAINTING_STRENGTH),
        renderer=f"oil-{path.stem}",
        shape=OIL,
        stages=(
            Stage(
                lambda: PaintingLoss(painting, load_judge()),
                Schedule(steps=1_600, crop_px=192, rate=2e-3),
            ),
            Stage(
                lambda: PaintingLoss(painting, load_judge(), style_weight=0.35),
                Schedule(steps=300, crop_px=192, rate=8e-4, rounded_share=1.0, seed=2),
            ),
        ),
        grain_seed=oil.GRAIN_SEED,
        textured=True,
        start="oil",
    )


def _toon_flats(colours: Tensor) -> Tensor:
    return torch.from_numpy(toon.flats(colours.numpy()))


def _calm_toon() -> Objective:
    return regression(_toon_flats, calm=3.0, seams=1.0)


def _steady_toon() -> Objective:
    return regression(_toon_flats, calm=3.0, seams=1.0, steady=5.0)


def _neutral_toon() -> Objective:
    return regression(_toon_flats, calm=3.0, seams=1.0, steady=5.0, tint=3.0)


def _stroked() -> Objective:
    return regression(strokes=1.0)


def _stroked_without_seams() -> Objective:
    return regression(seams=0.3, strokes=1.0)


RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            name="toon",
            summary="cartoon: flat lifted colours and clean dark lines",
            render=toon.render,
            renderer="toon",
            shape=Shape(blocks=4, spacings=(1, 2), gate=True),
            stages=(
                Stage(_calm_toon, Schedule(steps=6_000, rate=4e-3)),
                Stage(_steady_toon, Schedule(steps=900, rate=2e-3, rounded_share=1.0, seed=2)),
                Stage(_neutral_toon, Schedule(steps=700, rate=2.5e-3, rounded_share=1.0, seed=3)),
            ),
            start="toon",
        ),
        Recipe(
            name="toon-fast",
            summary="the cartoon at little more than half the work, lines a little softer",
            render=toon.render,
            renderer="toon",
            shape=Shape(blocks=2, gate=True),
            stages=(
                Stage(_calm_toon, Schedule(steps=2_500, rate=4e-3)),
                Stage(_steady_toon, Schedule(steps=500, rate=2e-3, rounded_share=1.0, seed=2)),
                Stage(_neutral_toon, Schedule(steps=1_100, rate=2.5e-3, rounded_share=1.0, seed=3)),
            ),
            start="toon-fast",
        ),
        Recipe(
            name="oil",
            summary="oil paint: strokes along the forms, the colours of The Starry Night",
            render=oil.render,
            renderer="oil",
            shape=OIL,
            stages=(
                Stage(_stroked, Schedule(steps=4_400, rate=4e-3, rounded_share=0.0)),
                Stage(
                    _stroked_without_seams,
                    Schedule(steps=400, rate=5e-4, rounded_share=1.0, seed=2),
                ),
            ),
            grain_seed=oil.GRAIN_SEED,
            textured=True,
            start="oil",
        ),
        Recipe(
            name="ukiyoe",
            summary="woodblock print: flat inks, indigo lines, paper, as in The Great Wave",
            render=ukiyoe.render,
            renderer="ukiyoe",
            shape=Shape(blocks=4, grain=True),
            stages=(Stage(regression, Schedule(steps=8_500, rate=4e-3)),),
            grain_seed=ukiyoe.GRAIN_SEED,
            textured=True,
        ),
    )
}
"""By name. Their networks and schedules are those of the shipped files."""
