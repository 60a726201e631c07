"""Strength: how much of the painted picture shows over its source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels._jit import kernel
from sfumato.kernels.planes import flat

Array = NDArray[Any]


def mix(
    source: Sequence[Array], painted: Sequence[Array], strength: float, planes: Sequence[Array]
) -> None:
    """``planes`` = source + strength · (painted - source), rounded, in steps of 1/256.

    All 2-D planes of one frame's shapes and dtype, uint8 or uint16 (10 bit); ``planes`` may be
    ``source`` or ``painted``. Exactly ``source`` at 0 and exactly ``painted`` at 1; ``ValueError``
    outside 0…1.
    """
    if not 0 <= strength <= 1:
        raise ValueError(f"{strength = } should be within 0…1")
    share = np.uint32(round(strength * 256))
    for below, above, plane in zip(source, painted, planes, strict=True):
        if not below.shape == above.shape == plane.shape:
            raise ValueError(f"planes {below.shape}, {above.shape}, {plane.shape} should be alike")
        under, under_row, under_step = flat(below)
        over, over_row, over_step = flat(above)
        memory, row, step = flat(plane, writeable=True)
        rows = (under_row, over_row, row)
        _mix(under, over, share, plane.shape, rows, (under_step, over_step, step), memory)


@kernel
def _mix(source, painted, share, shape, rows, steps, out):  # type: ignore[no-untyped-def]
    rest = np.uint32(np.uint32(256) - share)
    for y in range(shape[0]):
        below, above, line = source[y * rows[0] :], painted[y * rows[1] :], out[y * rows[2] :]
        if steps == (1, 1, 1):
            for x in range(shape[1]):
                total = np.uint32(below[x]) * rest + np.uint32(above[x]) * share
                line[x] = np.uint32(total + np.uint32(128)) >> np.uint32(8)
        else:
            for x in range(shape[1]):
                total = (
                    np.uint32(below[x * steps[0]]) * rest + np.uint32(above[x * steps[1]]) * share
                )
                line[x * steps[2]] = np.uint32(total + np.uint32(128)) >> np.uint32(8)
