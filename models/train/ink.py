"""Flat areas and drawn lines: what a cartoon and a woodblock print have in common."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from sfumato.models.train.render import (
    Image,
    as_image,
    blur,
    from_codes,
    luma,
    smear,
    smoothstep,
    tangents,
    to_codes,
)


def flattened(image: Image, radius_px: int, range_codes: int, soften_codes: int) -> Image:
    """Even out texture and keep borders: mean shift, then three bilateral passes."""
    flat = cv2.pyrMeanShiftFiltering(to_codes(image), radius_px, range_codes)
    for _ in range(3):
        flat = cv2.bilateralFilter(flat, 7, soften_codes, 7)
    return from_codes(np.asarray(flat, np.uint8))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pen:
    """How :func:`lines` are drawn."""

    calm_codes: int
    """Contrast that does not count as an edge."""
    sharp_px: float
    broad_px: float
    """The two Gaussians whose difference is the line: about its half width, and its ground."""
    coherence_px: float
    reach_px: int
    """Lines are smoothed this far along their direction, which is averaged over the coherence."""
    quiet: float
    """How much busy surroundings raise the threshold: grass and gravel would turn into ink."""
    threshold: tuple[float, float]
    """Difference at which ink starts, and at which it is full."""


def lines(image: Image, pen: Pen) -> Image:
    """Line strength (h, w), 0…1: a difference of Gaussians, smoothed along the edges.

    Kang, Lee and Chui, "Flow-Based Image Abstraction" (2009).
    """
    calm = cv2.bilateralFilter(to_codes(image), 7, pen.calm_codes, 5)
    grey = luma(from_codes(np.asarray(calm, np.uint8)))
    ridge = blur(grey, pen.broad_px) - blur(grey, pen.sharp_px)
    ridge = smear(ridge, tangents(grey, pen.coherence_px), pen.reach_px, pen.reach_px / 2)
    busy = blur(np.abs(ridge), 7.0)
    return smoothstep(as_image(ridge - pen.quiet * busy), *pen.threshold)
