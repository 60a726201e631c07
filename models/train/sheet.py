"""Draw the contact sheets of docs/styles.md: six scenes at 1:1, each beside what a style makes.

``python -m sfumato.models.train.sheet CONTENT_FOLDER docs/images`` paints with the shipped files
and prints the table of their figures.
"""

from __future__ import annotations

import sys
from pathlib import Path

import cv2
import numpy as np

from sfumato.models.catalog import StyleFiles, list_styles
from sfumato.models.head import read_spec
from sfumato.models.train.acceptance import Painted
from sfumato.models.train.content import Codes, picture_files, read_picture

WIDTH_PX, HEIGHT_PX, GAP_PX = 480, 288, 8
JPEG_QUALITY = 88

SCENES = {
    "face": ("astronaut", 0, 16),
    "sky": ("china", 0, 120),
    "foliage": ("life_by_Aitzol_Berasategi", 200, 300),
    "landscape": ("picosdeeuropa_by_Aitzol_Berasategi", 70, 380),
    "dark flats": ("rocket", 40, 80),
}
"""File name without suffix, top and left of the part shown; the sixth scene, text, is drawn."""


def main(content_folder: Path, images: Path) -> None:
    """Write one sheet per style into ``images``."""
    scenes = [*_photos(content_folder), text_scene()]
    images.mkdir(parents=True, exist_ok=True)
    for style in list_styles():
        if style.int8 is None or style.name == "identity":
            continue
        spec = read_spec(style.int8)
        painted = Painted(style.int8.read_bytes(), spec)
        _write(images / f"{style.name}.jpg", [(scene, painted(scene)) for scene in scenes])
        print(table_row(style))


def table_row(style: StyleFiles) -> str:
    """One line of the Markdown table of figures."""
    spec = read_spec(style.paths[0])
    figures = spec.acceptance
    even = "textured" if spec.textured else f"{figures['flat_ripple_codes']:.0f}"
    cells = (
        f"`{spec.name}`",
        f"{spec.kmac_per_pixel:.1f}",
        f"{spec.radius_px}",
        f"{figures['psnr_mean_db']:.1f} / {figures['psnr_worst_db']:.1f}",
        even,
        f"{figures['ramp_drop_codes']:.1f}",
        f"{figures['noise_gain']:.2f}",
    )
    return f"| {' | '.join(cells)} |"


def text_scene() -> Codes:
    """Dark print in several sizes on paper that is lit from one side."""
    light = np.linspace(235, 190, WIDTH_PX)[None, :, None] * np.array([1.0, 0.98, 0.94])
    page = np.ascontiguousarray(np.broadcast_to(light, (HEIGHT_PX, WIDTH_PX, 3)), np.uint8)
    lines = [
        "Sfumato paints video",
        "on an ordinary CPU, without",
        "seams and without flicker.",
        "0123456789",
        "The quick brown fox jumps over the lazy dog.",
    ]
    baseline = 10
    for size, line in zip((1.1, 0.75, 0.9, 0.6, 0.5), lines, strict=True):
        baseline += round(50 * size) + 8
        cv2.putText(page, line, (14, baseline), cv2.FONT_HERSHEY_DUPLEX, size, (45, 40, 55))
    return page


def _photos(folder: Path) -> list[Codes]:
    files = {path.stem: path for path in picture_files(folder)}
    parts = []
    for stem, top, left in SCENES.values():
        picture = read_picture(files[stem])
        parts.append(picture[top : top + HEIGHT_PX, left : left + WIDTH_PX])
    return parts


def _write(path: Path, pairs: list[tuple[Codes, Codes]]) -> None:
    rows = len(pairs)
    size = (rows * (HEIGHT_PX + GAP_PX) - GAP_PX, 2 * WIDTH_PX + GAP_PX, 3)
    sheet = np.full(size, 255, np.uint8)
    for row, pair in enumerate(pairs):
        for column, part in enumerate(pair):
            y, x = row * (HEIGHT_PX + GAP_PX), column * (WIDTH_PX + GAP_PX)
            sheet[y : y + part.shape[0], x : x + part.shape[1]] = part
    cv2.imwrite(str(path), sheet[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
