"""Edges that interpolation blurred, made steep again: for paintings brought back to full size."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels._jit import helper, kernel

Array = NDArray[Any]

FLAT, STEEP = 8.0, 72.0
"""Codes of 8 bit by which samples around one differ where it is not sharpened as an edge, and where
it is in full: noise and faint texture are left alone."""

GAIN = 1.2
"""Sharpening of steep edges, times the square of the enlargement, like all that follows: more, and
what flickers at edges would flicker more than by bicubic interpolation."""

DETAIL = 1 / 6
"""Sharpening of everything: about what evening out the grid takes."""

EVEN = 1 / 12
"""Weight of a neighbour in evening out the grid: linear interpolation, so evened, spreads a sample as
far as a cubic B-spline does, which draws slanting lines without stairs."""

MOST_SPREAD = 4.0
"""The square of the enlargement beyond which all this grows no further, nor do the windows."""


def crisp(grown: Array, bits: int, times: float, out: Array) -> None:
    """``out`` = ``grown``, a plane that linear interpolation enlarged ``times`` times, with its
    edges steep again.

    ``grown``, ``out``: two contiguous 2-D planes of one shape and dtype, uint8 or uint16 with
    ``bits`` per sample. The grid of the small picture is evened out; then the difference to a blurred
    copy is added, the more the more the 5 × 5 samples around differ, but never beyond the least
    and the largest of them. So nothing rings, what is even stays even, and a small change of the
    picture makes a small change of the result. Raises ``ValueError`` when the planes disagree.
    """
    if grown.shape != out.shape or grown.dtype != out.dtype or np.may_share_memory(grown, out):
        raise ValueError(f"{out.shape} {out.dtype} should be another {grown.shape} {grown.dtype}")
    if not (grown.flags.c_contiguous and out.flags.c_contiguous):
        raise ValueError("planes to make crisp should be contiguous")
    width = grown.shape[1]
    padded = np.empty((2, width + 4), np.float32)
    rings = np.empty((4, 5, width), np.float32)
    lines = np.empty((3, width), np.float32)
    _crisp(grown, crisp_weights(bits, times), padded, rings, lines, out)


def crisp_weights(bits: int, times: float) -> NDArray[np.float32]:
    """What the constants above come to: side and middle of evening out, sharpening of everything
    and of edges, the codes where edges begin, and the rise of the sharpening from there."""
    spread, code = min(MOST_SPREAD, times**2), 1 << (bits - 8)
    even = EVEN * spread
    rise = 1 / ((STEEP - FLAT) * code)
    return np.array(
        [even, 1 - 2 * even, DETAIL * spread, GAIN * spread, FLAT * code, rise], np.float32
    )


@kernel
def _crisp(grown, weights, padded, rings, lines, out):  # type: ignore[no-untyped-def]
    """Row by row, the last five in ``rings``: the evened picture, and the least, the largest and the
    blurred of it along each row."""
    height = grown.shape[0]
    for ahead in range(height + 2):
        if ahead < height:
            _enter(grown, ahead, weights, padded, rings)
        if ahead >= 2:
            _leave(ahead - 2, height - 1, weights, rings, lines, out[ahead - 2])


@helper
def _enter(grown, y, weights, padded, rings):  # type: ignore[no-untyped-def]
    """Even out the row ``y`` and look along it."""
    width, slot = grown.shape[1], y % 5
    above, here, below = grown[max(y - 1, 0)], grown[y], grown[min(y + 1, grown.shape[0] - 1)]
    side, middle = weights[0], weights[1]
    a, b, c, d, e = _taps(padded[0])
    for x in range(width):
        ends = np.float32(above[x]) + np.float32(below[x])
        c[x] = side * ends + middle * np.float32(here[x])
    _repeat_ends(padded[0], width)
    even = padded[1][2:]
    for x in range(width):
        even[x] = side * (b[x] + d[x]) + middle * c[x]
    _repeat_ends(padded[1], width)
    a, b, c, d, e = _taps(padded[1])
    own, least, largest, blurred = rings[0, slot], rings[1, slot], rings[2, slot], rings[3, slot]
    for x in range(width):
        least[x] = min(a[x], b[x], c[x], d[x], e[x])
        largest[x] = max(a[x], b[x], c[x], d[x], e[x])
    for x in range(width):
        own[x] = c[x]
        blurred[x] = (a[x] + e[x]) + np.float32(4) * (b[x] + d[x]) + np.float32(6) * c[x]


@helper
def _leave(y, last, weights, rings, lines, out):  # type: ignore[no-untyped-def]
    """The row ``y``, once the two below it are there; ``last`` is the picture's last."""
    p, q, r = max(y - 2, 0) % 5, max(y - 1, 0) % 5, y % 5
    s, t = min(y + 1, last) % 5, min(y + 2, last) % 5
    least, largest, blurred = lines[0], lines[1], lines[2]
    a, b, c, d, e = rings[1, p], rings[1, q], rings[1, r], rings[1, s], rings[1, t]
    for x in range(out.size):
        least[x] = min(a[x], b[x], c[x], d[x], e[x])
    a, b, c, d, e = rings[2, p], rings[2, q], rings[2, r], rings[2, s], rings[2, t]
    for x in range(out.size):
        largest[x] = max(a[x], b[x], c[x], d[x], e[x])
    a, b, c, d, e = rings[3, p], rings[3, q], rings[3, r], rings[3, s], rings[3, t]
    for x in range(out.size):
        total = (a[x] + e[x]) + np.float32(4) * (b[x] + d[x]) + np.float32(6) * c[x]
        blurred[x] = total * np.float32(1 / 256)
    own, detail, gain, flat, rise = rings[0, r], weights[2], weights[3], weights[4], weights[5]
    for x in range(out.size):
        low, high = least[x], largest[x]
        steep = min(max((high - low - flat) * rise, np.float32(0)), np.float32(1))
        value = own[x] + (detail + gain * steep) * (own[x] - blurred[x])
        out[x] = np.int32(min(max(value, low), high) + np.float32(0.5))


@helper
def _taps(line):  # type: ignore[no-untyped-def]
    """A padded line as seen by the five samples of a window."""
    return line, line[1:], line[2:], line[3:], line[4:]


@helper
def _repeat_ends(line, width):  # type: ignore[no-untyped-def]
    line[:2] = line[2]
    line[width + 2 :] = line[width + 1]
