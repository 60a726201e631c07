"""The renderer that ``toon`` learns from: flat colours, lifted tones, clean dark lines."""

from __future__ import annotations

from sfumato.models.train.ink import Pen, flattened, lines
from sfumato.models.train.render import Image, as_image, from_lab, soft_steps, to_lab

_PEN = Pen(
    calm_codes=30,
    sharp_px=0.9,
    broad_px=1.6,
    coherence_px=2.0,
    reach_px=5,
    quiet=0.6,
    threshold=(0.006, 0.028),
)
_INK = 0.9


def render(image: Image) -> Image:
    """A cartoon of ``image``; both RGB float32 (h, w, 3), 0…1. About two seconds at 720p."""
    flat = flattened(image, 8, 18, 28)
    return as_image(_palette(flat) * (1 - _INK * lines(image, _PEN))[..., None])


def flats(colours: Image) -> Image:
    """What :func:`render` makes of even colours, (n, 3) to (n, 3): the palette alone."""
    return as_image(_palette(colours[None].copy())[0])


def _palette(flat: Image) -> Image:
    lab = to_lab(flat)
    lightness = as_image(100 * (lab[..., 0] / 100) ** 0.86)
    lab[..., 0] = soft_steps(lightness, 100 / 9, 1.6)
    lab[..., 1:] *= 1.28
    return from_lab(lab)
