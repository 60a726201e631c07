"""Measure a finished style: INT8 against FP32, even fields, ramps, noise. All in code values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from sfumato.models.grain import GRAIN_PX, grain_texture
from sfumato.models.spec import StyleSpec
from sfumato.models.train.content import Codes

PATCH_PX = 64


class Painted:
    """One of a style's two files, ready to paint whole pictures of any size."""

    def __init__(self, model: bytes, spec: StyleSpec, threads: int = 1) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        providers = ["CPUExecutionProvider"]
        self._session = ort.InferenceSession(model, options, providers=providers)
        self._input = self._session.get_inputs()[0].name
        self._spec = spec

    def __call__(self, picture: Codes) -> Codes:
        """Paint uint8 RGB (h, w, 3); the border is reflected, as the tiles do."""
        spec, (height, width) = self._spec, picture.shape[:2]
        halo, cell = spec.radius_px, spec.cell
        after = [halo + -side % cell for side in (height, width)]
        padded = np.pad(picture, ((halo, after[0]), (halo, after[1]), (0, 0)), "reflect")
        if spec.grain_seed is not None:
            grain = _grain(spec.grain_seed, padded.shape[:2], -halo)
            padded = np.concatenate([padded, grain[..., None]], axis=2)
        (painted,) = self._session.run(None, {self._input: to_cells(padded, cell)})
        rows, columns = (
            slice(halo - spec.trim_px, halo - spec.trim_px + side) for side in picture.shape[:2]
        )
        return from_cells(np.asarray(painted), cell)[rows, columns]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What the spec's ``acceptance`` holds."""

    psnr_mean_db: float
    psnr_worst_db: float
    flat_ripple_codes: float
    ramp_drop_codes: float
    noise_gain: float
    """Root mean square change of the painting under sensor noise of 2 codes, per code of noise."""

    def as_dict(self) -> dict[str, float]:
        """For the spec's JSON, rounded."""
        return {key: round(value, 2) for key, value in asdict(self).items()}


def measure(int8: Painted, fp32: Painted, photos: Sequence[Codes]) -> Figures:
    """Compare the two files on ``photos`` and try the INT8 one on fields, ramps and noise."""
    decibels = [psnr_db(int8(photo), fp32(photo)) for photo in photos]
    return Figures(
        psnr_mean_db=float(np.mean(decibels)),
        psnr_worst_db=min(decibels),
        flat_ripple_codes=flat_ripple(int8),
        ramp_drop_codes=ramp_drop(int8),
        noise_gain=float(np.mean([noise_gain(int8, photo) for photo in photos])),
    )


def psnr_db(first: Codes, second: Codes) -> float:
    """Peak signal-to-noise ratio of two pictures, 100 where they are equal."""
    error = np.mean((first.astype(np.float64) - second) ** 2)
    return 100.0 if error == 0 else float(10 * np.log10(255**2 / error))


def flat_ripple(style: Painted) -> float:
    """Largest peak-to-peak of any channel over 64 even fields (4 × 4 × 4 colours)."""
    levels = np.array([0, 85, 170, 255], np.uint8)
    ripple = 0
    for colour in np.stack(np.meshgrid(levels, levels, levels), -1).reshape(-1, 3):
        painted = style(np.broadcast_to(colour, (PATCH_PX, PATCH_PX, 3)).copy())
        ripple = max(ripple, int(np.ptp(painted.reshape(-1, 3).astype(int), axis=0).max()))
    return float(ripple)


def ramp_drop(style: Painted) -> float:
    """How far the painted lightness of even greys 0…255 ever falls while they rise."""
    greys = np.arange(256, dtype=np.uint8)
    means = [_mean_luma(style(np.full((32, 32, 3), grey, np.uint8))) for grey in greys]
    return float(np.max(np.maximum.accumulate(means) - means))


def noise_gain(style: Painted, photo: Codes, sigma_codes: float = 2.0) -> float:
    """Change of the painting per change of the picture, both root mean square."""
    noise = np.random.default_rng(0).normal(0, sigma_codes, photo.shape)
    noisy = np.clip(np.round(photo + noise), 0, 255).astype(np.uint8)
    change = [
        np.std(a.astype(np.float32) - b) for a, b in ((style(noisy), style(photo)), (noisy, photo))
    ]
    return float(change[0] / change[1])


def to_cells(picture: NDArray[np.uint8], cell: int) -> NDArray[np.uint8]:
    """(h, w, c) to (1, h / cell, w / cell, c · cell²), channels in ``pixel_unshuffle`` order."""
    height, width, channels = picture.shape
    split = picture.reshape(height // cell, cell, width // cell, cell, channels)
    cells = split.transpose(0, 2, 4, 1, 3).reshape(height // cell, width // cell, -1)
    return np.ascontiguousarray(cells[None])


def from_cells(cells: NDArray[np.uint8], cell: int) -> NDArray[np.uint8]:
    """The inverse of :func:`to_cells`."""
    _, rows, columns, channels = cells.shape
    split = cells[0].reshape(rows, columns, channels // cell**2, cell, cell)
    return split.transpose(0, 3, 1, 4, 2).reshape(rows * cell, columns * cell, -1)


def _grain(seed: int, size: tuple[int, ...], origin_px: int) -> NDArray[np.uint8]:
    rows, columns = (np.arange(origin_px, origin_px + side) % GRAIN_PX for side in size)
    return np.asarray(grain_texture(seed)[np.ix_(rows, columns)])


def _mean_luma(picture: Codes) -> float:
    return float(picture.reshape(-1, 3).mean(axis=0) @ (0.299, 0.587, 0.114))
