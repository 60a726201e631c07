"""The renderer that ``ukiyoe`` learns from: flat inks, indigo key lines, printed on warm paper."""

from __future__ import annotations

import cv2
import numpy as np

from sfumato.models.train.paint import Palette, bristles, repaint, tiled_grain
from sfumato.models.train.render import (
    Image,
    blur,
    from_lab,
    luma,
    smear,
    smoothstep,
    soft_steps,
    tangents,
    to_lab,
)

GRAIN_SEED = 11

GREAT_WAVE = Palette(
    (64.36, -4.46, 7.29),
    ((356.72, -12.4, 202.89), (-12.4, 24.89, 6.76), (202.89, 6.76, 152.39)),
)
"""Measured with ``Palette.of`` on a print of Katsushika Hokusai's picture of about 1831."""

_INDIGO = np.array([0.075, 0.12, 0.235], np.float32)
_PAPER = np.array([0.955, 0.915, 0.815], np.float32)


def render(image: Image) -> Image:
    """A woodblock print of ``image``; both RGB float32 (h, w, 3), 0…1. Two seconds at 720p."""
    printed = _inks(image) * _paper(*image.shape[:2])[..., None]
    line = (0.92 * _key_lines(image))[..., None]
    return np.clip(printed + line * (_INDIGO - printed), 0, 1)


def _inks(image: Image) -> Image:
    """Few tones, the wave's colours, on paper: nothing darker than indigo or lighter than paper."""
    codes = np.round(image * 255).astype(np.uint8)
    flat = cv2.pyrMeanShiftFiltering(codes, 9, 20)
    for _ in range(3):
        flat = cv2.bilateralFilter(flat, 7, 30, 7)
    lab = to_lab(flat.astype(np.float32) / 255)
    lab[..., 0] = soft_steps(100 * (lab[..., 0] / 100) ** 0.85, 100 / 6, 1.7)
    lab = repaint(lab, GREAT_WAVE, (0.35, 0.6))
    lab[..., 1:] *= 1.3
    ink = from_lab(lab)
    return _INDIGO + ink * (_PAPER - _INDIGO)


def _paper(height: int, width: int) -> Image:
    """Brightness of the sheet (h, w) about 1: long fibres that lie across, and a fine tooth."""
    level = np.ones((height, width), np.float32), np.zeros((height, width), np.float32)
    fibres = bristles(GRAIN_SEED, level, 12, 6.0, 0.8)
    tooth = blur(tiled_grain(GRAIN_SEED, height, width), 0.7)
    return 1 + 0.018 * fibres + 0.03 * tooth


def _key_lines(image: Image) -> Image:
    """Line strength (h, w), 0…1: like the toon's, a little broader, as a block prints them."""
    codes = np.round(image * 255).astype(np.uint8)
    calm = luma(cv2.bilateralFilter(codes, 7, 32, 5).astype(np.float32) / 255)
    ridge = blur(calm, 2.0) - blur(calm, 1.1)
    ridge = smear(ridge, tangents(calm, 2.5), 6, 3.0)
    busy = blur(np.abs(ridge), 7.0)
    return smoothstep(ridge - 0.75 * busy, 0.006, 0.024)
