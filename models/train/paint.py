"""What painters do that cartoonists don't: dabs, strokes along the form, another palette."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray

from sfumato.models.grain import GRAIN_PX, grain_texture
from sfumato.models.train.render import Field, Image, as_image, blur, smear


@dataclass(frozen=True, slots=True)
class Palette:
    """Mean and covariance of a set of colours in CIELAB."""

    mean: tuple[float, float, float]
    covariance: tuple[
        tuple[float, float, float], tuple[float, float, float], tuple[float, float, float]
    ]

    @classmethod
    def of(cls, lab: Image) -> Palette:
        """Measure pictures: any array that ends in L, a, b."""
        colours = lab.reshape(-1, 3).astype(np.float64)
        mean, covariance = colours.mean(axis=0), np.cov(colours.T)
        rounded = [[round(float(v), 2) for v in row] for row in (mean, *covariance)]
        return cls(tuple(rounded[0]), tuple(map(tuple, rounded[1:])))  # type: ignore[arg-type]


PHOTOS = Palette((48.0, 3.0, 3.0), ((610.0, -30, 70), (-30, 190, -30), (70, -30, 380)))
"""Photographs on average: measured on the training pictures, with half their chroma variance,
because a good third of them are wallpapers and louder than what a camera sees."""


def repaint(lab: Image, palette: Palette, strength: tuple[float, float]) -> Image:
    """Carry colours from photographs' averages to ``palette``; the same map for every picture.

    The linear optimal transport between two Gaussians (Pitié and Kokaram, "The Linear
    Monge-Kantorovitch Colour Mapping", 2007). ``strength`` 0…1 for lightness and for colour.
    """
    centre, target = np.array(PHOTOS.mean), np.array(palette.mean)
    moved = (lab - centre) @ _transport(PHOTOS, palette).T + target
    share = np.array([strength[0], strength[1], strength[1]])
    return as_image(lab + share * (moved - lab))


def dabs(image: Image, radius_px: int, sharpness: float = 8.0) -> Image:
    """Each pixel takes the mean of its calmest neighbours: flat dabs with clean borders.

    The generalized Kuwahara filter, eight sectors (Papari, Petkov and Campisi, 2007).
    """
    total, weights = np.zeros_like(image), np.zeros(image.shape[:2], np.float32)
    squares = image * image
    for kernel in _sectors(radius_px):
        mean, square = (cv2.filter2D(x, -1, kernel, borderType=4) for x in (image, squares))
        spread = np.maximum(square - mean * mean, 0).sum(axis=2)
        weight = 1 / (1 + (255 * np.sqrt(spread)) ** sharpness)
        total += weight[..., None] * mean
        weights += weight
    return as_image(total / weights[..., None])


def tiled_grain(seed: int, height: int, width: int) -> Image:
    """The style's noise over a whole picture (height, width), values -1…1."""
    texture = as_image(grain_texture(seed)) * np.float32(1 / 127.5) - 1
    repeats = (-(-height // GRAIN_PX), -(-width // GRAIN_PX))
    return np.tile(texture, repeats)[:height, :width]


def bristles(seed: int, along: Field, reach_px: int, sigma_px: float, fineness_px: float) -> Image:
    """Brush marks (h, w): noise drawn out along the strokes, about unit variance."""
    noise = blur(tiled_grain(seed, *along[0].shape), fineness_px)
    marks = smear(noise, along, reach_px, sigma_px)
    return as_image(marks / _marks_deviation(seed, reach_px, sigma_px, fineness_px))


def relief(marks: Image) -> Image:
    """How much light each ridge of paint catches from the upper left, about unit variance."""
    slope = cv2.Scharr(marks, cv2.CV_32F, 1, 0) + cv2.Scharr(marks, cv2.CV_32F, 0, 1)
    return as_image(slope * np.float32(-1 / 16))


@cache
def _marks_deviation(seed: int, reach_px: int, sigma_px: float, fineness_px: float) -> float:
    """Deviation of straight marks: a constant, so that a crop looks as it does in the whole."""
    noise = blur(tiled_grain(seed, GRAIN_PX, GRAIN_PX), fineness_px)
    level = np.ones_like(noise), np.zeros_like(noise)
    return float(smear(noise, level, reach_px, sigma_px).std())


@cache
def _transport(source: Palette, target: Palette) -> NDArray[np.float64]:
    start, end = np.array(source.covariance), np.array(target.covariance)
    root = _root(start)
    inverse = np.linalg.inv(root)
    return np.asarray(inverse @ _root(root @ end @ root) @ inverse)


def _root(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T)


@cache
def _sectors(radius_px: int) -> list[NDArray[np.float32]]:
    """Eight overlapping wedges of a Gaussian disc, each summing to one."""
    y, x = np.mgrid[-radius_px : radius_px + 1, -radius_px : radius_px + 1].astype(np.float32)
    angle, distance = np.arctan2(y, x), np.hypot(x, y)
    disc = np.exp(-0.5 * (distance / (0.5 * radius_px)) ** 2) * (distance <= radius_px)
    kernels = []
    for k in range(8):
        turn = np.angle(np.exp(1j * (angle - k * np.pi / 4)))
        wedge = np.cos(np.clip(turn * 2, -np.pi / 2, np.pi / 2)) ** 2  # ±45°, overlapping
        wedge[distance == 0] = 1 / 8
        kernel = disc * wedge
        kernels.append((kernel / kernel.sum()).astype(np.float32))
    return kernels
