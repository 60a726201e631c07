"""The pictures that styles are trained on: a folder of photos, and flats and ramps made here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from sfumato.models.errors import ModelError
from sfumato.models.train.render import Image, as_image, blur, from_codes, to_codes

SHORT_SIDE_PX = 720
LONG_SIDE_PX = 1400
SUFFIXES = {".jpg", ".jpeg", ".png", ".webp", ".tif", ".tiff", ".bmp"}

_LETTERS = list("etaoinshrdlucmfwygpbvkxqjz" * 3 + "ETAOINSHRDLU0123456789.,:;-" + " " * 18)
_FACES = (cv2.FONT_HERSHEY_SIMPLEX, cv2.FONT_HERSHEY_DUPLEX, cv2.FONT_HERSHEY_COMPLEX)

Codes = NDArray[np.uint8]
"""A picture, uint8 RGB (h, w, 3)."""


class ContentError(ModelError):
    """A folder or a picture that cannot be trained on."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A picture and what the style should make of it."""

    name: str
    source: Codes
    target: Codes


def read_picture(path: Path, short_side_px: int = SHORT_SIDE_PX) -> Codes:
    """Read one file as RGB, shrunk to ``short_side_px`` where larger, its middle if very long."""
    data = np.fromfile(path, dtype=np.uint8)
    image = cv2.imdecode(data, cv2.IMREAD_COLOR_RGB) if data.size else None
    if image is None:
        raise ContentError(f"{path} is not a picture that can be read; repair it or remove it")
    shrink = short_side_px / min(image.shape[:2])
    if shrink < 1:
        image = cv2.resize(image, None, fx=shrink, fy=shrink, interpolation=cv2.INTER_AREA)
    top, left = ((max(0, side - LONG_SIDE_PX)) // 2 for side in image.shape[:2])
    middle = image[top:, left:][:LONG_SIDE_PX, :LONG_SIDE_PX]
    return np.ascontiguousarray(middle, dtype=np.uint8)


def picture_files(folder: Path) -> list[Path]:
    """The pictures below ``folder``, sorted; raises :class:`ContentError` where there are none."""
    if not folder.is_dir():
        raise ContentError(f"content folder {str(folder)!r} does not exist; give one with photos")
    files = sorted(p for p in folder.rglob("*") if p.suffix.lower() in SUFFIXES)
    if not files:
        raise ContentError(f"no pictures in {str(folder)!r}; it should hold {sorted(SUFFIXES)}")
    return files


def pairs(
    folder: Path,
    render: Callable[[Image], Image],
    cache: Path,
    progress: Callable[[str], None] = lambda _: None,
    synthetic: int = 0,
) -> Iterator[Pair]:
    """Each picture of ``folder`` with its rendering, which is kept as PNG in ``cache``."""
    cache.mkdir(parents=True, exist_ok=True)
    files = picture_files(folder)
    for number, path in enumerate(files, 1):
        progress(f"render {number}/{len(files)} {path.name}")
        source = read_picture(path)
        name = "_".join(path.relative_to(folder).with_suffix("").parts)
        yield Pair(name, source, _rendered(source, render, cache / f"{name}.png"))
    for number, source in enumerate(synthetic_pictures(synthetic)):
        kept = cache / f"synthetic_{number:03d}.png"
        yield Pair(kept.stem, source, _rendered(source, render, kept))


def synthetic_pictures(count: int, side_px: int = 288, seed: int = 1) -> Iterator[Codes]:
    """Ramps, flat patches with hard borders, and print: what photos hold too little of."""
    rng = np.random.default_rng(seed)
    kinds = (_ramp, _print, _patches, _print)
    for number in range(count):
        yield kinds[number % len(kinds)](rng, side_px)


def _rendered(source: Codes, render: Callable[[Image], Image], kept: Path) -> Codes:
    if kept.exists():
        target = cv2.imread(str(kept), cv2.IMREAD_COLOR_RGB)
        if target is not None and target.shape == source.shape:
            return np.asarray(target, np.uint8)
    target = to_codes(render(from_codes(source)))
    cv2.imwrite(str(kept), target[..., ::-1], [cv2.IMWRITE_PNG_COMPRESSION, 1])
    return target


def _ramp(rng: np.random.Generator, side_px: int) -> Codes:
    y, x = np.mgrid[-1 : 1 : side_px * 1j, -1 : 1 : side_px * 1j]
    angle = rng.uniform(0, 2 * np.pi)
    along = x * np.cos(angle) + y * np.sin(angle)
    place = np.clip(along / 2.8 + 0.5, 0, 1) if rng.random() < 0.6 else np.hypot(x, y) / 1.5
    first, second = rng.uniform(0, 1, (2, 3)) ** rng.choice([1.0, 2.0])
    if rng.random() < 0.4:
        first, second = np.full(3, first.mean()), np.full(3, second.mean())  # greys
    return to_codes(as_image(first + place[..., None] * (second - first)))


def _patches(rng: np.random.Generator, side_px: int) -> Codes:
    count = 14
    centres = rng.uniform(0, side_px, (count, 2)).astype(np.float32)
    colours = rng.uniform(0, 1, (count, 3)).astype(np.float32)
    y, x = np.mgrid[:side_px, :side_px].astype(np.float32)
    distance = [np.hypot(x - cx, y - cy) for cx, cy in centres]
    return to_codes(blur(colours[np.argmin(distance, axis=0)], 0.6))


def _print(rng: np.random.Generator, side_px: int) -> Codes:
    """Lines of print 8 to 24 px high, dark on light or light on dark, half of it without colour."""
    paper, ink = rng.uniform(0.6, 1, 3), rng.uniform(0, 0.3, 3)
    if rng.random() < 0.5:
        paper, ink = np.full(3, paper.mean()), np.full(3, ink.mean())
    if rng.random() < 0.4:
        paper, ink = ink, paper
    cover, baseline = np.zeros((4 * side_px, 4 * side_px), np.uint8), 0
    while baseline < cover.shape[0]:
        height = 4 * rng.uniform(8, 24)
        baseline += round(1.4 * height)
        line = "".join(rng.choice(_LETTERS, 60))
        face, weight = int(rng.choice(_FACES)), max(3, round(height / rng.uniform(6, 12)))
        scale = height / 30  # capitals and what hangs below, of the Hershey faces
        cv2.putText(cover, line, (8, baseline), face, scale, (255,), weight, cv2.LINE_AA)
    size = (side_px, side_px)
    share = from_codes(np.asarray(cv2.resize(cover, size, interpolation=cv2.INTER_AREA), np.uint8))
    light = np.linspace(1, rng.uniform(0.75, 1), side_px)[None, :, None]
    return to_codes(as_image(light * (paper + share[..., None] * (ink - paper))))
