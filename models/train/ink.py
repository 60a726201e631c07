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


def softened(
    image: Image, passes: int, range_codes: int, window_px: int = 7, sigma_px: int = 7
) -> Image:
    """Bilateral passes: contrast below ``range_codes`` goes, borders stay."""
    codes = to_codes(image)
    for _ in range(passes):
        codes = np.asarray(cv2.bilateralFilter(codes, window_px, range_codes, sigma_px), np.uint8)
    return from_codes(codes)


def flattened(image: Image, radius_px: int, range_codes: int, soften_codes: int) -> Image:
    """Even out texture and keep borders: mean shift, then three bilateral passes."""
    flat = cv2.pyrMeanShiftFiltering(to_codes(image), radius_px, range_codes)
    return softened(from_codes(np.asarray(flat, np.uint8)), 3, soften_codes)


def rolled(image: Image, sigma_px: float, range_codes: float, rounds: int) -> Image:
    """Drop whatever is smaller than ``sigma_px`` and leave large shapes their sharp borders.

    Zhang, Shen, Xu and Jia, "Rolling Guidance Filter" (2014).
    """
    reach = round(2 * sigma_px)
    near = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma_px) ** 2)
    alike = np.exp(-0.5 * (np.arange(256) / range_codes) ** 2).astype(np.float32)
    border = ((reach, reach), (reach, reach), (0, 0))
    around = np.pad(image, border, "reflect")
    result = blur(image, sigma_px)
    for _ in range(rounds):
        guide = to_codes(result)
        guides = np.pad(guide, border, "reflect")
        total, weights = np.zeros_like(image), np.zeros(image.shape[:2], np.float32)
        for y, x in np.ndindex(len(near), len(near)):
            rows, columns = slice(y, y + image.shape[0]), slice(x, x + image.shape[1])
            apart = cv2.transform(cv2.absdiff(guides[rows, columns], guide), _HALF_SUM)
            weight = cv2.LUT(apart, alike) * np.float32(near[y] * near[x])
            weights += weight
            total += weight[..., None] * around[rows, columns]
        result = total / weights[..., None]
    return as_image(result)


_HALF_SUM = np.full((1, 3), 0.5, np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pen:
    """How lines are drawn."""

    calm_codes: int = 30
    """Contrast that does not count as an edge, for :func:`lines`."""
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
    """Line strength (h, w), 0…1, of a picture with the texture taken out."""
    calm = cv2.bilateralFilter(to_codes(image), 7, pen.calm_codes, 5)
    ridge = ridges(luma(from_codes(np.asarray(calm, np.uint8))), pen)
    busy = blur(np.abs(ridge), 7.0)
    return smoothstep(as_image(ridge - pen.quiet * busy), *pen.threshold)


def ridges(grey: Image, pen: Pen) -> Image:
    """The dark side of edges (h, w): a difference of Gaussians, smoothed along the edges.

    Kang, Lee and Chui, "Flow-Based Image Abstraction" (2009).
    """
    ridge = blur(grey, pen.broad_px) - blur(grey, pen.sharp_px)
    return smear(ridge, tangents(grey, pen.coherence_px), pen.reach_px, pen.reach_px / 2)


def long_lines(strength: Image, levels: tuple[float, float], least_px: int) -> Image:
    """Only the lines above ``levels[0]`` that reach ``levels[1]`` and ``least_px`` across."""
    drawn = (strength > levels[0]).astype(np.uint8)
    count, labels, boxes, _ = cv2.connectedComponentsWithStats(drawn, connectivity=8)
    place = np.asarray(labels, np.intp)
    peak = np.zeros(count, np.float32)
    np.maximum.at(peak, place.ravel(), strength.ravel())
    size = boxes[:, [cv2.CC_STAT_WIDTH, cv2.CC_STAT_HEIGHT]].max(axis=1)
    kept = (peak > levels[1]) & (size >= least_px)
    kept[0] = False
    return as_image(strength * np.clip(blur(kept[place].astype(np.float32), 0.8), 0, 1))
