"""The renderer that ``ukiyoe`` learns from: flat inks, indigo key lines, printed on warm paper."""

from __future__ import annotations

import numpy as np

from sfumato.models.train.ink import Pen, flattened, lines
from sfumato.models.train.paint import Palette, bristles, repaint, tiled_grain
from sfumato.models.train.render import Image, as_image, blur, from_lab, soft_steps, to_lab

GRAIN_SEED = 11

GREAT_WAVE = Palette(
    (64.36, -4.46, 7.29),
    ((356.72, -12.4, 202.89), (-12.4, 24.89, 6.76), (202.89, 6.76, 152.39)),
)
"""Measured with ``Palette.of`` on a print of Katsushika Hokusai's picture of about 1831."""

_INDIGO = np.array([0.075, 0.12, 0.235], np.float32)
_PAPER = np.array([0.955, 0.915, 0.815], np.float32)
_PEN = Pen(
    calm_codes=32,
    sharp_px=1.1,
    broad_px=2.0,
    coherence_px=2.5,
    reach_px=6,
    quiet=0.75,
    threshold=(0.006, 0.024),
)
"""A little broader than the toon's, as a block prints."""


def render(image: Image) -> Image:
    """A woodblock print of ``image``; both RGB float32 (h, w, 3), 0…1. Two seconds at 720p."""
    printed = _inks(image) * _paper(*image.shape[:2])[..., None]
    line = (0.92 * lines(image, _PEN))[..., None]
    return as_image(np.clip(printed + line * (_INDIGO - printed), 0, 1))


def _inks(image: Image) -> Image:
    """Few tones, the wave's colours, on paper: nothing darker than indigo or lighter than paper."""
    lab = to_lab(flattened(image, 9, 20, 30))
    tone = as_image(100 * (lab[..., 0] / 100) ** 0.85)
    lab[..., 0] = soft_steps(tone, 100 / 6, 1.7)
    lab = repaint(lab, GREAT_WAVE, (0.35, 0.6))
    lab[..., 1:] *= 1.3
    ink = from_lab(lab)
    return as_image(_INDIGO + ink * (_PAPER - _INDIGO))


def _paper(height: int, width: int) -> Image:
    """Brightness of the sheet (h, w) about 1: long fibres that lie across, and a fine tooth."""
    level = np.ones((height, width), np.float32), np.zeros((height, width), np.float32)
    fibres = bristles(GRAIN_SEED, level, 12, 6.0, 0.8)
    tooth = blur(tiled_grain(GRAIN_SEED, height, width), 0.7)
    return as_image(1 + 0.018 * fibres + 0.03 * tooth)
