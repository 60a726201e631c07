"""What a painter is trained to do: paint like the renderer, and keep even colours even."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from sfumato.models.train.fit import Objective
from sfumato.models.train.network import CELL, COLOURS, Painter, Shape

Flats = Callable[[Tensor], Tensor]
"""What the style makes of even colours: (n, 3) → (n, 3), 0…1."""

STILL = 1.5 / 255
"""Neighbours in a rendering that differ by less belong to one even area."""

PALE = 24 / 255
"""Colours whose channels differ by less are nearly grey: there the eye sees two codes of tint."""

NOISE = 2 / 255
"""Standard deviation of what a sensor adds, as in the acceptance of a style."""

DETAIL_WEIGHT = 5.0
"""Where few pixels are dark, the best guess in L1 is "no line": lines and edges count more."""


def regression(
    flats: Flats | None = None,
    count: int = 8,
    *,
    calm: float = 0.0,
    seams: float = 0.0,
    strokes: float = 0.0,
    steady: float = 0.0,
    tint: float = 0.0,
) -> Objective:
    """The objective of a style that copies a renderer.

    With ``flats``, each batch has ``count`` even patches beside it. ``calm`` weighs what is left of
    texture where the renderer left none: it is faint, and drowns in the error at edges. ``seams``
    weighs steps from one cell to the next that are not in the rendering. ``strokes`` weighs how
    much contrast there is around each place, wherever it lies: a painter that is not sure where a
    stroke goes would leave it out. ``steady`` weighs how much more noise changes the painting,
    ``tint`` a wrong tint where the rendering is nearly grey.
    """

    def objective(painter: Painter, cells: Tensor, wanted: Tensor) -> Tensor:
        painted = painter(cells)
        loss = picture_loss(painted, wanted, painter.shape, calm, seams)
        if strokes:
            loss = loss + strokes * contrast_loss(painted, wanted, painter.shape)
        if tint:
            loss = loss + tint * tint_loss(painted, wanted, painter.shape)
        if steady:
            loss = loss + steady * (painter(_noisier(cells)) - painted).abs().mean()
        return loss if flats is None else loss + flat_loss(painter, flats, count)

    return objective


def picture_loss(
    painted: Tensor, wanted: Tensor, shape: Shape, calm: float = 0.0, seams: float = 0.0
) -> Tensor:
    """L1 of pixels, of their differences and of 4 × 4 means, away from the padded border."""
    margin = min(shape.radius_px, 16)  # whole cells
    image = functional.pixel_shuffle(painted, CELL)
    around = functional.avg_pool2d(wanted, 9, 1, 4, count_include_pad=False)
    weight = 1 + DETAIL_WEIGHT * (wanted - around).abs().mean(dim=1, keepdim=True)
    image, wanted, weight = (
        p[..., margin:-margin, margin:-margin] for p in (image, wanted, weight)
    )
    error = image - wanted
    loss = (weight * error.abs()).mean() + 0.5 * functional.avg_pool2d(error, 4).abs().mean()
    for axis in (2, 3):
        edge = weight.narrow(axis, 1, weight.shape[axis] - 1)
        change = error.diff(dim=axis)
        loss = loss + (edge * change.abs()).mean()
        if seams:
            borders = torch.arange(CELL - 1, change.shape[axis], CELL)
            loss = loss + seams * change.index_select(axis, borders).abs().mean()
        if calm:
            still = wanted.diff(dim=axis).abs() < STILL
            loss = loss + calm * (still * image.diff(dim=axis).abs()).mean()
    return loss


def contrast_loss(painted: Tensor, wanted: Tensor, shape: Shape) -> Tensor:
    """L1 of the mean change from pixel to pixel in windows of 12 × 12, each direction for itself."""
    margin = min(shape.radius_px, 16)
    pictures = functional.pixel_shuffle(painted, CELL), wanted
    inner = [p[..., margin:-margin, margin:-margin] for p in pictures]
    loss = painted.new_zeros(())
    for axis in (2, 3):
        mine, theirs = (functional.avg_pool2d(p.diff(dim=axis).abs(), 12, 4) for p in inner)
        loss = loss + (mine - theirs).abs().mean()
    return loss


def tint_loss(painted: Tensor, wanted: Tensor, shape: Shape) -> Tensor:
    """L1 of what the colours differ from their own grey by, where the rendering is nearly grey."""
    margin = min(shape.radius_px, 16)
    image, wanted = (
        p[..., margin:-margin, margin:-margin]
        for p in (functional.pixel_shuffle(painted, CELL), wanted)
    )
    pale = (wanted.amax(dim=1, keepdim=True) - wanted.amin(dim=1, keepdim=True)) < PALE
    return (pale * (_tint(image) - _tint(wanted)).abs()).mean()


def _tint(colours: Tensor) -> Tensor:
    """Colours (n, 3, …) less their own grey."""
    return colours - colours.mean(dim=1, keepdim=True)


def _noisier(cells: Tensor) -> Tensor:
    """The cells with noise of two more codes on the picture; the grain stays."""
    colours = cells[:, :COLOURS] + NOISE * torch.randn_like(cells[:, :COLOURS])
    noisy = (torch.round(colours * 255) / 255).clamp(0, 1)
    return torch.cat([noisy, cells[:, COLOURS:]], dim=1)


def flat_loss(painter: Painter, flats: Flats, count: int) -> Tensor:
    """Even patches must come out in the right colour, pale ones above all, and even within the cell."""
    colours = torch.rand(count, 3)
    colours[: count // 4] = colours[: count // 4, :1]  # greys
    pale = slice(count // 4, count // 2)
    colours[pale] = (colours[pale, :1] + PALE * (colours[pale] - 0.5)).clamp(0, 1)
    colours = torch.round(colours * 255) / 255
    side = 2 * painter.shape.radius_px // CELL + 1
    cells = colours.repeat_interleave(CELL**2, dim=1)[..., None, None].expand(-1, -1, side, side)
    middle = painter(cells)[:, :, side // 2, side // 2].view(count, 3, CELL**2)
    mean = middle.mean(dim=2, keepdim=True)
    wrong = (mean[..., 0] - flats(colours)).abs().mean()
    tint = (_tint(mean[..., 0]) - _tint(flats(colours)))[: count // 2].abs().mean()
    uneven = (middle - mean).abs().mean() + (middle - mean).abs().amax(dim=2).mean()
    return 0.3 * wrong + 1.0 * uneven + tint
