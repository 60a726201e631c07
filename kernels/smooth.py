"""Smoothing over time: how much the source changed, and the blend that follows from it.

Changes are measured on blocks of 8 × 8 luma samples, so that sensor noise averages out while an edge
that moves stands out, and turned into a smooth map of how much of the past to keep.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels._jit import kernel
from sfumato.kernels.planes import flat

Array = NDArray[Any]

BLOCK_PX = 8
"""Side of the blocks on which changes are measured."""

STATE_BITS = 15
"""Bits of the remembered output; 7 more than 8-bit planes have and 5 more than 10-bit ones."""

COHERENCE = 8.0
"""Weight of a block's squared mean change beside its mean squared change. Noise has a mean of almost
nothing over 64 samples; a light, a shadow or a flat thing that moves has little else."""


def blocks_shape(width_px: int, height_px: int) -> tuple[int, int]:
    """(rows, columns) of the block map of a frame; the last ones may be partly filled."""
    return -(-height_px // BLOCK_PX), -(-width_px // BLOCK_PX)


def measure_change(luma: Array, past: Array, bits: int, change: NDArray[np.float32]) -> None:
    """``change`` = squared change of each block since ``past``, which then becomes ``luma``.

    ``luma``: 2-D, uint8 or uint16; ``past``: contiguous, same shape and dtype; ``change``: float32 of
    :func:`blocks_shape`, in squared codes of 8 bit whatever ``bits`` is. Raises ``ValueError`` when
    shapes disagree.
    """
    rows, columns = luma.shape
    if past.shape != luma.shape or past.dtype != luma.dtype or not past.flags.c_contiguous:
        raise ValueError(f"{past.shape = } {past.dtype} should be contiguous {luma.shape}")
    if change.shape != blocks_shape(columns, rows):
        raise ValueError(f"{change.shape = } should be {blocks_shape(columns, rows)}")
    memory, row, step = flat(luma)
    if step != 1:
        memory, row, _ = flat(np.ascontiguousarray(luma))
    sums = np.empty((2, columns), np.int32)
    _measure(memory, row, past, sums, np.float32(4.0 ** (8 - bits)), np.float32(COHERENCE), change)


@kernel
def _measure(luma, row, past, sums, scale, coherence, change):  # type: ignore[no-untyped-def]
    rows, columns = past.shape
    total, squares = sums[0], sums[1]
    for block_y in range(change.shape[0]):
        top = block_y * 8
        bottom = min(top + 8, rows)
        total[:] = 0
        squares[:] = 0
        for y in range(top, bottom):
            now, before = luma[y * row : y * row + columns], past[y]
            for x in range(columns):
                step = np.int32(now[x]) - np.int32(before[x])
                total[x] += step
                squares[x] += step * step
                before[x] = now[x]
        for block_x in range(change.shape[1]):
            left = block_x * 8
            right = min(left + 8, columns)
            mean, square = np.int32(0), np.int32(0)
            for x in range(left, right):
                mean += total[x]
                square += squares[x]
            share = np.float32(1.0) / np.float32((bottom - top) * (right - left))
            drift = np.float32(mean) * share
            energy = np.float32(square) * share + coherence * drift * drift
            change[block_y, block_x] = energy * scale


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


def blend(plane: Array, bits: int, keep: NDArray[np.float32], state: NDArray[np.uint16]) -> None:
    """Pull ``plane`` towards ``state``, the past output, and remember the result; both in place.

    ``plane``: 2-D, uint8 or uint16 with ``bits`` per sample, luma or chroma; ``keep``: the block map,
    0 … 1, spread over the plane by linear interpolation between block centres; ``state``: uint16, the
    plane's shape, in steps of 2^-(15-bits) codes. Where ``keep`` is 0 and where the plane equals the
    state, the plane stays as it is, exactly. Raises ``ValueError`` when shapes disagree.
    """
    if state.shape != plane.shape:
        raise ValueError(f"{state.shape = } should be {plane.shape}")
    memory, row, step = flat(plane, writeable=True)
    if step != 1:
        copy = np.ascontiguousarray(plane)
        blend(copy, bits, keep, state)
        plane[...] = copy
        return
    side_x, side_y = (
        _side(*pair) for pair in zip(plane.shape[::-1], keep.shape[::-1], strict=True)
    )
    ramps = tuple((np.arange(side, dtype=np.float32) + 0.5) / side for side in (side_x, side_y))
    lines = np.empty((3, keep.shape[1] * side_x + BLOCK_PX), np.float32)
    unit = np.float32(1 << (STATE_BITS - bits))
    _blend(memory, row, unit, keep, ramps, lines, state)


def _side(samples: int, blocks: int) -> int:
    """Samples from block to block along one axis: 8, or 4 for halved chroma."""
    half = BLOCK_PX // 2
    return BLOCK_PX if samples > blocks * half else half


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
def _blend(plane, row, unit, keep, ramps, lines, state):  # type: ignore[no-untyped-def]
    height, width = state.shape
    ramp_x, ramp_y = ramps
    side = ramp_y.size
    code, half = np.float32(1.0) / unit, np.float32(0.5)
    upper, lower, fresh = lines[0], lines[1], lines[2]
    _spread(keep[0], ramp_x, lower)
    for y in range(height):
        place = (y + side // 2) % side  # rows below the last row of block centres
        if place == 0 or y == 0:
            upper, lower = lower, upper
            _spread(keep[min((y + side // 2) // side, keep.shape[0] - 1)], ramp_x, lower)
        down = ramp_y[place]
        now, past = plane[y * row : y * row + width], state[y]
        for x in range(width):
            fresh[x] = np.float32(1.0) - (upper[x] + (lower[x] - upper[x]) * down)
        for x in range(width):
            before = np.float32(past[x])
            after = before + (np.float32(now[x]) * unit - before) * fresh[x] + half
            past[x] = np.int32(after)
            now[x] = np.int32(np.float32(np.int32(after)) * code + half)
