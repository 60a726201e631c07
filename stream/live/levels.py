"""The ways of painting that a governor may choose from, dearest and best first."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.models.catalog import find_style, list_styles
from sfumato.models.head import read_spec

SCALES = (1.0, 0.75, 0.5)
"""Working sizes, as parts of the frame's."""

SKIPS = (2, 3, 4)
"""Last resort: only every second, third, fourth frame is painted."""

LIGHTER = "-fast"
"""What the name of a style's lighter variant ends with."""


@dataclass(frozen=True, slots=True)
class Level:
    """One way of painting."""

    style: str
    scale: float
    work: float
    """What the network computes for a pixel of the frame, in kMAC."""
    every: int = 1
    """2 paints every second frame."""

    def __str__(self) -> str:
        pace = "" if self.every == 1 else f", every {_ORDINALS[self.every]} frame"
        return f"{self.style} at scale {self.scale:g}{pace}"


_ORDINALS = {2: "second", 3: "third", 4: "fourth"}


def levels_for(style: str, scale: float | None = None) -> list[Level]:
    """Smaller first, then the lighter style, then fewer frames; a ``scale`` that is given stays.

    Raises :class:`~sfumato.models.errors.ModelError` for a style that is not there.
    """
    scales = SCALES if scale is None else (scale,)
    levels = [Level(style, part, _work(style, part)) for part in scales]
    if any(other.name == style + LIGHTER for other in list_styles()):
        light = style + LIGHTER
        levels.append(Level(light, scales[-1], _work(light, scales[-1])))
    last = levels[-1]
    return levels + [Level(last.style, last.scale, last.work, every) for every in SKIPS]


def _work(style: str, scale: float) -> float:
    cost = read_spec(find_style(style).paths[0]).kmac_per_pixel or 1.0
    return cost * scale**2
