"""The renderer that ``toon`` learns from: flat colours, lifted tones, clean dark lines."""

from __future__ import annotations

import cv2
import numpy as np

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


def render(image: Image) -> Image:
    """A cartoon of ``image``; both RGB float32 (h, w, 3), 0…1. About two seconds at 720p."""
    flat = _flatten(image)
    return _palette(flat) * (1 - 0.9 * _lines(image))[..., None]


def flats(colours: Image) -> Image:
    """What :func:`render` makes of even colours, (n, 3) to (n, 3): the palette alone."""
    return _palette(colours[None].copy())[0]


def _flatten(image: Image) -> Image:
    codes = np.round(image * 255).astype(np.uint8)
    flat = cv2.pyrMeanShiftFiltering(codes, 8, 18)
    for _ in range(3):
        flat = cv2.bilateralFilter(flat, 7, 28, 7)
    return flat.astype(np.float32) / 255


def _palette(flat: Image) -> Image:
    lab = to_lab(flat)
    lightness = 100 * (lab[..., 0] / 100) ** 0.86
    lab[..., 0] = soft_steps(lightness, 100 / 9, 1.6)
    lab[..., 1:] *= 1.28
    return from_lab(lab)


def _lines(image: Image) -> Image:
    """Line strength (h, w), 0…1: a difference of Gaussians, smoothed along the edges.

    Kang, Lee and Chui, "Flow-Based Image Abstraction" (2009).
    """
    codes = np.round(image * 255).astype(np.uint8)
    calm = luma(cv2.bilateralFilter(codes, 7, 30, 5).astype(np.float32) / 255)
    ridge = blur(calm, 1.6) - blur(calm, 0.9)
    ridge = smear(ridge, tangents(calm, 2.0), 5, 2.5)
    busy = blur(np.abs(ridge), 7.0)  # grass and gravel would turn into ink
    return smoothstep(ridge - 0.6 * busy, 0.006, 0.028)
