"""Where one shot ends and the next begins.

A small picture of each frame is matched block by block against the last one, as a video encoder does
to place its keyframes: after a cut, moving blocks around explains the new picture no better than
painting each block in its mean grey. Brightness does not count (each small picture is equalized by
its own histogram first), so neither a fade nor a flash is a cut, and a pan is what the search is for.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from sfumato.stream.frame import Frame, Plane

CUT_SCORE = 0.9
"""Error left by the best match, over that of each block's mean, from which on a frame is a cut. Real
cuts score 1.2 or more, the fastest real motion up to 0.7."""

_ROWS, _COLUMNS = 36, 64  # cells of the small picture
_SAMPLES = 2  # luma samples in each cell, in both axes; summed by hand, which is many times faster
_BLOCK_ROWS, _BLOCK_COLUMNS = 6, 8  # cells of a block: the picture has 6 × 8 of them
_REACH_Y, _REACH_X = 2, 6  # cells: a tenth of the width between two frames
_FLAT_CODES = (
    1.5  # contrast (standard deviation) of a picture with nothing to see, as in a fade to black
)
_FLAT_DETAIL = 0.04  # and of the equalized blocks, as in a flash that leaves white alone

Cells = NDArray[np.float32]


class CutDetector:
    """Says of each frame, in display order, whether it begins a new shot."""

    def __init__(self) -> None:
        self._past: deque[Cells] = deque(maxlen=2)

    def __call__(self, frame: Frame) -> bool:
        """True on the first frame after a hard cut; the very first frame is none.

        A frame without contrast (black, white, fog) is never a cut: the next picture that shows
        something is held against the last two that did, so that one bright frame cuts nothing.
        """
        cells = small_picture(frame.planes[0], frame.pixels.bits)
        if cells is None:
            return False
        scores = (change_score(before, cells) for before in reversed(self._past))
        cut = bool(self._past) and all(score > CUT_SCORE for score in scores)
        self._past.append(cells)
        return cut


def small_picture(luma: Plane, bits: int = 8) -> Cells | None:
    """Equalized 36×64 picture, each cell its rank 0…1 among all; None where there is nothing to see.

    ``luma``: 2-D, of any size, ``bits`` per sample.
    """
    rows, columns = (
        np.arange(cells * _SAMPLES) * size // (cells * _SAMPLES)
        for cells, size in zip((_ROWS, _COLUMNS), luma.shape, strict=True)
    )
    samples = luma[rows][:, columns].astype(np.int64)
    lines = samples[::_SAMPLES] + samples[1::_SAMPLES]
    sums = lines[:, ::_SAMPLES] + lines[:, 1::_SAMPLES]
    if sums.std() < _FLAT_CODES * _SAMPLES**2 * 2 ** (bits - 8):
        return None
    counts = np.bincount(sums.ravel())
    ranks = (np.cumsum(counts) - counts / 2) / sums.size
    cells = ranks.astype(np.float32)[sums]
    return None if _detail(cells) < _FLAT_DETAIL else cells


def change_score(before: Cells, after: Cells) -> float:
    """Error of ``after`` as predicted from ``before``, over that of each block's mean; 0 is equal."""
    detail = _detail(after)
    still = np.abs(before - after).mean() / detail
    if still <= CUT_SCORE:
        return float(still)  # most frames: no search needed
    around = np.pad(before, ((_REACH_Y, _REACH_Y), (_REACH_X, _REACH_X)), mode="edge")
    moved = sliding_window_view(around, before.shape)
    errors = _blocks(np.abs(moved - after)).mean(-1)
    return float(errors.min((0, 1)).mean() / detail)


def _detail(cells: Cells) -> float:
    """Mean distance of the cells from the mean of their block."""
    blocks = _blocks(cells)
    return float(np.abs(blocks - blocks.mean(-1, keepdims=True)).mean())


def _blocks(cells: Cells) -> Cells:
    """The last two axes as (blocks, cells of a block)."""
    shape = (_ROWS // _BLOCK_ROWS, _BLOCK_ROWS, _COLUMNS // _BLOCK_COLUMNS, _BLOCK_COLUMNS)
    split = cells.reshape(*cells.shape[:-2], *shape).swapaxes(-3, -2)
    return split.reshape(*cells.shape[:-2], -1, _BLOCK_ROWS * _BLOCK_COLUMNS)
