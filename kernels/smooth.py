"""Smoothing over time: how much the source changed, and the blend that follows from it.

The change of blocks of 8 × 8 luma samples becomes a smooth map of how much of the past to keep.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels._jit import helper, kernel
from sfumato.kernels.hold import BLOCK_PX, block_sides
from sfumato.kernels.planes import flat

Array = NDArray[Any]

STATE_BITS = 15
"""Bits of the remembered output; 7 more than 8-bit planes have and 5 more than 10-bit ones."""

NEAR = 8
"""Steps of the state, 1/16 of a code of 8 bit, from which a sample goes all the way to its new value:
so that it gets there, and rests."""


def keep_from_change(
    change: NDArray[np.float32], low: float, high: float, most: float
) -> NDArray[np.float32]:
    """Share of the past to keep in each block, ``most`` … 0; the shape of the block map.

    A block goes by the largest change of its 3×3 neighbourhood, because a painted stroke reaches
    farther than what moved: ``most`` up to ``low``, 0 from ``high`` on, a smoothstep between.
    """
    largest = change.copy()
    np.maximum(largest[1:], change[:-1], out=largest[1:])
    np.maximum(largest[:-1], change[1:], out=largest[:-1])
    tall = largest.copy()
    np.maximum(largest[:, 1:], tall[:, :-1], out=largest[:, 1:])
    np.maximum(largest[:, :-1], tall[:, 1:], out=largest[:, :-1])
    calm = ((high - largest) / (high - low)).clip(0, 1)
    return np.asarray(most * calm * calm * (3 - 2 * calm), np.float32)


def blend(
    plane: Array,
    bits: int,
    keep: NDArray[np.float32],
    state: NDArray[np.uint16],
    active: NDArray[np.bool_],
    out: Array,
) -> None:
    """``out`` = ``plane`` pulled towards ``state``, the past output, which becomes the result.

    ``plane``, ``out``: 2-D, uint8 or uint16 with ``bits`` per sample, luma or chroma, ``out``
    contiguous; ``keep``: the block map, 0 … 1, spread over the plane by linear interpolation between
    block centres; ``state``: uint16, the plane's shape, in steps of 2^-(15-bits) codes. Where
    ``keep`` is 0 and where the plane equals the state, ``out`` is the plane, exactly.

    ``active``: bool block map. Blocks that are not are left out, ``out`` and ``state`` stay as they
    are; the map comes back with the blocks whose state is not yet the plane, and that would
    therefore change with the same plane. Raises ``ValueError`` when shapes disagree.
    """
    if state.shape != plane.shape or out.shape != plane.shape:
        raise ValueError(f"{state.shape = } {out.shape = } should be {plane.shape}")
    if active.shape != keep.shape or not out.flags.c_contiguous:
        raise ValueError(f"{active.shape = } should be {keep.shape}, and out contiguous")
    memory, row, step = flat(plane)
    if step != 1:
        memory, row, _ = flat(np.ascontiguousarray(plane))
    sides = block_sides(plane.shape, keep.shape)
    ramps = tuple((np.arange(side, dtype=np.float32) + 0.5) / side for side in sides)
    lines = np.empty((4, keep.shape[1] * sides[0] + BLOCK_PX), np.float32)
    rest = np.empty(plane.shape[1], np.uint16)
    unit = np.float32(1 << (STATE_BITS - bits))
    _blend(memory, row, unit, np.float32(NEAR), keep, ramps, lines, rest, state, active, out)


@kernel
def _spread(blocks, ramp, line):  # type: ignore[no-untyped-def]
    """``line`` = one row of the map for each sample, linear between block centres."""
    side, half = ramp.size, ramp.size // 2
    line[:half] = blocks[0]
    for block in range(blocks.size - 1):
        left, rise = blocks[block], blocks[block + 1] - blocks[block]
        between = line[half + block * side : half + (block + 1) * side]
        for i in range(side):
            between[i] = left + rise * ramp[i]
    line[half + (blocks.size - 1) * side :] = blocks[-1]


@kernel
def _blend(  # type: ignore[no-untyped-def]
    plane, row, unit, near, keep, ramps, lines, rest, state, active, out
):
    ramp_x, _ = ramps
    blocks_y, blocks_x = keep.shape
    done = -1  # the last row of the map that was spread over a line
    for block_y in range(blocks_y):
        if not active[block_y].any():
            continue
        first = max(done + 1, max(block_y - 1, 0))
        for near_y in range(first, min(block_y + 2, blocks_y)):
            _spread(keep[near_y], ramp_x, lines[near_y % 3])
            done = near_y
        block_x = 0
        while block_x < blocks_x:
            first = block_x
            while block_x < blocks_x and active[block_y, block_x]:
                block_x += 1
            if block_x > first:
                run = (block_y, first, block_x)
                _blend_run(plane, row, unit, near, run, ramps, lines, rest, state, active, out)
            block_x += 1


@helper
def _blend_run(  # type: ignore[no-untyped-def]
    plane, row, unit, near, run, ramps, lines, rest, state, active, out
):
    """Adjacent blocks of one row of them; ``lines``: the rows of the map around it, and room."""
    block_y, first, last = run
    across, down = ramps[0].size, ramps[1].size
    left, right = first * across, min(last * across, out.shape[1])
    code, half, count = np.float32(1.0) / unit, np.float32(0.5), right - left
    fresh, far = lines[3], rest[:count]
    far[:] = 0
    for y in range(block_y * down, min(block_y * down + down, out.shape[0])):
        place = y - block_y * down + down // 2  # rows below the row of block centres above
        above = max(block_y - 1, 0) if place < down else block_y
        below = block_y if place < down else min(block_y + 1, active.shape[0] - 1)
        upper, lower = lines[above % 3][left:right], lines[below % 3][left:right]
        share = ramps[1][place % down]
        now, past = plane[y * row + left : y * row + right], state[y, left:right]
        shown = out[y, left:right]
        for x in range(count):
            fresh[x] = np.float32(1.0) - (upper[x] + (lower[x] - upper[x]) * share)
        for x in range(count):
            before, target = np.float32(past[x]), np.float32(now[x]) * unit
            ahead = target - before
            after = np.int32(before + ahead * fresh[x] + half)
            after = np.int32(target) if abs(ahead) <= near else after
            far[x] |= np.uint16(after ^ np.int32(target))
            past[x] = after
            shown[x] = np.int32(np.float32(after) * code + half)
    for block in range(first, last):
        bits = np.uint16(0)
        for x in range(block * across - left, min((block + 1) * across - left, count)):
            bits |= far[x]
        active[block_y, block] = bits != 0
