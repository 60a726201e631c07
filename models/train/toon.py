"""The renderer that ``toon`` learns from: bold flat colours, few tones, clean dark outlines."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from sfumato.models.train.ink import Pen, long_lines, ridges, rolled, softened
from sfumato.models.train.render import (
    Image,
    as_image,
    blur,
    from_codes,
    from_lab,
    luma,
    smoothstep,
    soft_steps,
    to_codes,
    to_lab,
)

_FINE = Pen(
    sharp_px=0.9, broad_px=1.7, coherence_px=2.0, reach_px=5, quiet=0.6, threshold=(0.005, 0.024)
)
_BOLD = Pen(
    sharp_px=1.5, broad_px=2.7, coherence_px=2.5, reach_px=7, quiet=0.25, threshold=(0.006, 0.024)
)
_INK = 0.94
_TONES, _SHARPNESS = 7, 2.2
_SKIN_LAB = (18.0, 18.0)
_SKIN_SPREAD = (10.0, 13.0)


@dataclass(frozen=True, slots=True)
class _Places:
    """Where the picture wants to be treated in its own way; each (h, w), 0…1."""

    crowd: Image
    """Foliage, gravel, crowds of people: becomes a few large shapes, with few lines."""
    skin: Image
    """Faces: fine lines and gentle flats, so that eyes stay eyes."""
    letters: Image
    """Small things of strong contrast, such as letters: kept as they are."""


def render(image: Image) -> Image:
    """A cartoon of ``image``; both RGB float32 (h, w, 3), 0…1. About six seconds at 720p."""
    calm = softened(image, 2, 27)
    fine = ridges(luma(softened(image, 1, 30, 7, 5)), _FINE)
    broad = as_image(rolled(image, 2.0, 20, 4))
    places = _places(image, calm, broad)
    flat = _flattened(calm, broad, places)
    grey = luma(image)
    dark = smoothstep(as_image(blur(grey, 3.0) - grey), 0.04, 0.14)
    line = _lines(fine, ridges(luma(flat), _BOLD), places, dark)
    return as_image(_palette(flat) * (1 - _INK * line)[..., None])


def flats(colours: Image) -> Image:
    """What :func:`render` makes of even colours, (n, 3) to (n, 3): the palette alone."""
    return as_image(_palette(colours[None].copy())[0])


def _places(image: Image, calm: Image, broad: Image) -> _Places:
    grey = luma(calm)
    detail = np.abs(blur(grey, 1.7) - blur(grey, 0.9))
    dense = blur(smoothstep(as_image(detail), 0.003, 0.016), 14.0)
    skin = _skin(image)
    lost = blur(as_image(np.abs(grey - luma(broad))), 0.8)
    strong = smoothstep(lost, 0.09, 0.24)
    crowd = smoothstep(dense, 0.24, 0.44) * (1 - np.minimum(1, 1.3 * skin)) * (1 - strong)
    return _Places(as_image(crowd), skin, strong)


def _skin(image: Image) -> Image:
    """How much the surroundings of each pixel look like lit skin, of any tone."""
    lab = to_lab(blur(image, 4.0))
    off = sum(((lab[..., 1 + i] - _SKIN_LAB[i]) / _SKIN_SPREAD[i]) ** 2 for i in range(2))
    lit = as_image(np.exp(-0.5 * off) * smoothstep(lab[..., 0], 25, 45))
    return as_image(np.minimum(1, 1.6 * blur(lit, 9.0)))


def _flattened(calm: Image, broad: Image, places: _Places) -> Image:
    crowd, skin = places.crowd[..., None], places.skin[..., None]
    mixed = as_image(calm + crowd * (broad - calm))
    shifted = from_codes(np.asarray(cv2.pyrMeanShiftFiltering(to_codes(mixed), 8, 19), np.uint8))
    flat = softened(shifted, 2, 28, 9, 5)
    return as_image(flat + 0.65 * skin * (calm - flat))


def _lines(fine: Image, bold: Image, places: _Places, dark: Image) -> Image:
    """Ink (h, w), 0…1: bold lines around shapes, fine ones in faces and letters; no specks.

    In letters only where the picture itself is ``dark``: ink between them would join them.
    """
    busy = blur(as_image(np.abs(fine)), 7.0)
    quiet = (pen.quiet + share * places.crowd for pen, share in ((_FINE, 0.9), (_BOLD, 0.5)))
    hushed = [as_image(r - q * busy) for r, q in zip((fine, bold), quiet, strict=True)]
    small = np.maximum(places.skin * 1.2, 0.8 * blur(places.letters, 2.0))
    thin = smoothstep(as_image(hushed[0] - 0.003 * places.skin), *_FINE.threshold)
    thick = smoothstep(hushed[1], *_BOLD.threshold) * (1 - np.minimum(1, small))
    ink = long_lines(as_image(np.maximum(thin, thick)), (0.12, 0.45), 10)
    joins = smoothstep(blur(places.letters, 4.0), 0.02, 0.12) * (1 - dark)
    return as_image(np.maximum(ink, thin * places.skin) * (1 - joins))


def _palette(flat: Image) -> Image:
    """Lifted tones in soft steps; dull colours gain more than loud ones."""
    lab = to_lab(flat)
    lightness = as_image(100 * (lab[..., 0] / 100) ** 0.84)
    lab[..., 0] = soft_steps(lightness, 100 / _TONES, _SHARPNESS)
    chroma = np.hypot(lab[..., 1], lab[..., 2])[..., None]
    lab[..., 1:] *= 1 + 0.4 * np.exp(-((chroma / 90) ** 2))
    return from_lab(lab)
