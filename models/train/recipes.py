"""The recipes of the shipped styles: a renderer to learn from, a network's size, a schedule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from sfumato.models.train import oil, toon, ukiyoe
from sfumato.models.train.fit import Flats, Schedule
from sfumato.models.train.network import Shape
from sfumato.models.train.render import Image


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Everything that makes one style, content aside."""

    name: str
    summary: str
    render: Callable[[Image], Image]
    renderer: str
    """Name of the renderer: styles that share one share its pictures."""
    shape: Shape
    schedule: Schedule
    flats: Flats | None = None
    """What becomes of even colours; None for styles with a texture of their own."""
    grain_seed: int | None = None


def _toon_flats(colours: Tensor) -> Tensor:
    return torch.from_numpy(toon.flats(colours.numpy()))


RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            name="toon",
            summary="cartoon: flat lifted colours and clean dark lines",
            render=toon.render,
            renderer="toon",
            shape=Shape(stem=1, blocks=4),
            schedule=Schedule(steps=14_000, flats=12),
            flats=_toon_flats,
        ),
        Recipe(
            name="toon-fast",
            summary="the cartoon at two thirds of the work, lines a little softer",
            render=toon.render,
            renderer="toon",
            shape=Shape(stem=1, blocks=3, narrow=32),
            schedule=Schedule(steps=8_000, flats=12),
            flats=_toon_flats,
        ),
        Recipe(
            name="oil",
            summary="oil paint: strokes along the forms, the colours of The Starry Night",
            render=oil.render,
            renderer="oil",
            shape=Shape(stem=3, blocks=6, grain=True),
            schedule=Schedule(steps=10_000),
            grain_seed=oil.GRAIN_SEED,
        ),
        Recipe(
            name="ukiyoe",
            summary="woodblock print: flat inks, indigo lines, paper, as in The Great Wave",
            render=ukiyoe.render,
            renderer="ukiyoe",
            shape=Shape(stem=1, blocks=5, grain=True),
            schedule=Schedule(steps=10_000),
            grain_seed=ukiyoe.GRAIN_SEED,
        ),
    )
}
"""By name. Their networks and schedules are those of the shipped files."""
