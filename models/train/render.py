"""Image operations that the classical renderers share: RGB float32 (h, w, 3), values 0…1."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.float32]
"""RGB (h, w, 3) or one plane (h, w), float32; colours are sRGB values 0…1."""

Coordinates = NDArray[np.floating]
"""Positions in pixels along one axis, one per pixel, (h, w)."""

Field = tuple[NDArray[np.float32], NDArray[np.float32]]
"""Unit vectors, one per pixel: their x and their y components, float32 (h, w) each."""


def as_image(array: object) -> Image:
    """As float32, not copied where it is already."""
    return np.asarray(array, dtype=np.float32)


def to_codes(image: Image) -> NDArray[np.uint8]:
    """Values 0…1 as codes 0…255, rounded and clipped."""
    return np.round(np.clip(image, 0, 1) * 255).astype(np.uint8)


def from_codes(codes: NDArray[np.uint8]) -> Image:
    """Codes 0…255 as values 0…1."""
    return as_image(codes) * np.float32(1 / 255)


def to_lab(image: Image) -> Image:
    """CIELAB under D65: lightness 0…100, a and b about ±100."""
    return as_image(cv2.cvtColor(image, cv2.COLOR_RGB2LAB))


def from_lab(lab: Image) -> Image:
    """Back from :func:`to_lab`, clipped to 0…1."""
    return as_image(np.clip(cv2.cvtColor(np.ascontiguousarray(lab), cv2.COLOR_LAB2RGB), 0, 1))


def luma(image: Image) -> Image:
    """Grey (h, w), 0…1."""
    return as_image(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY))


def blur(image: Image, sigma_px: float) -> Image:
    """Gaussian blur, reflected at the border."""
    return as_image(cv2.GaussianBlur(image, (0, 0), sigma_px, borderType=cv2.BORDER_REFLECT_101))


def tangents(grey: Image, sigma_px: float, idle: tuple[float, float, float] = (0, 0, 0)) -> Field:
    """Direction along the edges: the minor eigenvector of the smoothed structure tensor.

    ``idle`` = (slope per pixel, angle, turn in radians): where the picture is even, the direction
    is angle + turn · grey, and a tone must be steeper than the slope to overrule it. Kyprianidis
    and Kang, "Image and Video Abstraction by Coherence-Enhancing Filtering" (2011).
    """
    gx, gy = (
        as_image(cv2.Scharr(grey, cv2.CV_32F, *axis, scale=1 / 32)) for axis in ((1, 0), (0, 1))
    )
    xx, xy, yy = (blur(as_image(product), sigma_px) for product in (gx * gx, gx * gy, gy * gy))
    normal = idle[1] + idle[2] * blur(grey, sigma_px) + np.float32(np.pi / 2)
    across, down = idle[0] * np.cos(normal), idle[0] * np.sin(normal)
    xx, xy, yy = xx + across**2, xy + across * down, yy + down**2
    angle = 0.5 * np.arctan2(2 * xy, xx - yy) + np.float32(np.pi / 2)
    return np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)


def smear(image: Image, along: Field, reach_px: int, sigma_px: float) -> Image:
    """Gaussian mean of each pixel's streamline, ``reach_px`` one-pixel steps each way.

    Line integral convolution (Cabral and Leedom, 1993). The field has no sign: each step takes
    the one that goes on in the direction it came from.
    """
    height, width = image.shape[:2]
    x0, y0 = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
    total, weights = image.copy(), 1.0
    for sign in (1.0, -1.0):
        dx, dy = sign * along[0], sign * along[1]
        x, y = x0 + dx, y0 + dy
        for step in range(1, reach_px + 1):
            weight = float(np.exp(-0.5 * (step / sigma_px) ** 2))
            total += weight * _sample(image, x, y)
            weights += weight
            tx, ty = _sample(along[0], x, y), _sample(along[1], x, y)
            forward = np.where(tx * dx + ty * dy < 0, np.float32(-1), np.float32(1))
            dx, dy = tx * forward, ty * forward
            x, y = x + dx, y + dy
    return as_image(total / np.float32(weights))


def soft_steps(values: Image, step: float, sharpness: float) -> Image:
    """Pull values towards the middles between multiples of ``step``, monotonically; sharpness 0 leaves them alone.

    Winnemöller, Olsen and Gooch, "Real-Time Video Abstraction" (2006), §3.3, made continuous.
    """
    if sharpness <= 0:
        return values
    border = np.round(values / step)
    offset = values / step - border  # -0.5 … 0.5
    bent = 0.5 * np.tanh(2 * sharpness * offset) / np.tanh(sharpness)
    return as_image(step * (border + bent))


def smoothstep(values: Image, low: float, high: float) -> Image:
    """0 below ``low``, 1 above ``high``, a cubic between."""
    t = np.clip((values - low) / (high - low), 0, 1)
    return as_image(t * t * (3 - 2 * t))


def _sample(image: Image, x: Coordinates, y: Coordinates) -> Image:
    return as_image(cv2.remap(image, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT_101))
