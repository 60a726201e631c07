"""The renderer that ``oil`` learns from: flat dabs, broken colour in strokes along the forms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.models.train.paint import Palette, bristles, dabs, relief, repaint
from sfumato.models.train.render import (
    Field,
    Image,
    as_image,
    blur,
    from_lab,
    luma,
    smear,
    smoothstep,
    soft_steps,
    tangents,
    to_lab,
)

GRAIN_SEED = 7

STARRY_NIGHT = Palette(
    (38.04, 0.32, -12.29),
    ((309.03, -48.59, 58.75), (-48.59, 44.99, -91.03), (58.75, -91.03, 308.4)),
)
"""Measured with ``Palette.of`` on Vincent van Gogh's painting of 1889."""


@dataclass(frozen=True, slots=True)
class Brush:
    """Width and length of its marks, in pixels."""

    fineness_px: float
    reach_px: int
    sigma_px: float


_FLAT, _HAIRS = Brush(2.2, 18, 9.0), Brush(1.0, 14, 7.0)
_SLANT = (0.008, -0.7, 1.6)
"""Even areas are hatched at an angle that turns with their tone; sensor noise must not turn it."""

_SKIN_HUE, _SKIN_REACH = 0.85, 0.6
"""Radians in the a, b plane: from pink to tan."""


def render(
    image: Image, palette: Palette = STARRY_NIGHT, strength: tuple[float, float] = (0.40, 0.55)
) -> Image:
    """An oil painting of ``image``; both RGB float32 (h, w, 3), 0…1. Four seconds at 720p.

    ``strength`` says how far lightness and colour go towards the palette.
    """
    body = _body(image)
    along = tangents(luma(body), 5.0, _SLANT)
    lab = repaint(to_lab(body), palette, strength)
    load = as_image(_load(lab) * (1 - 0.5 * _skin(image)))
    return from_lab(_brushed(lab, _marks(_FLAT, along), _marks(_HAIRS, along), load))


def _body(image: Image) -> Image:
    """Broad dabs, small ones where fine things have contrast (eyes, print), along the forms."""
    grey = luma(image)
    fine = smoothstep(blur(np.abs(grey - blur(grey, 2.0)), 2.5), 0.02, 0.07)[..., None]
    broad = dabs(image, 6)
    body = as_image(broad + fine * (dabs(image, 2) - broad))
    return smear(body, tangents(luma(body), 1.5), 4, 2.0)


def _marks(brush: Brush, along: Field) -> Image:
    return bristles(GRAIN_SEED, along, brush.reach_px, brush.sigma_px, brush.fineness_px)


def _load(lab: Image) -> Image:
    """How much paint shows, 0…1: little in pure black and white."""
    return as_image(0.35 + 0.65 * np.sin(np.pi * np.clip(lab[..., 0] / 100, 0, 1)))


def _skin(image: Image) -> Image:
    """Where a face may be, 0…1: strokes are lighter there."""
    lab = blur(to_lab(image), 4.0)
    hue, chroma = np.arctan2(lab[..., 2], lab[..., 1]), np.hypot(lab[..., 1], lab[..., 2])
    warm = np.sqrt(np.clip(1 - np.abs(hue - _SKIN_HUE) / _SKIN_REACH, 0, 1))
    muted = smoothstep(chroma, 8, 16) * (1 - smoothstep(chroma, 45, 60))
    return as_image(warm * muted * smoothstep(lab[..., 0], 25, 45))


def _brushed(lab: Image, broad: Image, hairs: Image, load: Image) -> Image:
    """Strokes of one tone each, light ones warm and dark ones cool; ridges are lit aslant."""
    strokes = soft_steps(np.clip(broad, -2.2, 2.2), 1.15, 3.5)
    ridges = as_image(0.85 * strokes + 0.35 * np.tanh(hairs / 1.4))
    light = 6.0 * ridges + 2.6 * np.clip(relief(ridges), -2.5, 2.5)
    lab[..., 1:] *= 1.4
    lab += load[..., None] * np.stack([light, 1.5 * strokes, 6.0 * strokes], axis=-1)
    return lab
