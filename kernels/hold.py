"""What changed since the picture shown last, and the picture to show instead.

Statistics are taken on blocks of 8 × 8 luma samples and on the chroma samples that lie under them, so
that sensor noise averages out while an edge that moves stands out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels._jit import helper, kernel
from sfumato.kernels.planes import flat

Array = NDArray[Any]
Blocks = NDArray[np.float32]

BLOCK_PX = 8
"""Side of the blocks on which changes are measured."""


def blocks_shape(width_px: int, height_px: int) -> tuple[int, int]:
    """(rows, columns) of the block map of a frame; the last ones may be partly filled."""
    return -(-height_px // BLOCK_PX), -(-width_px // BLOCK_PX)


def block_sides(plane_shape: tuple[int, ...], blocks: tuple[int, ...]) -> tuple[int, int]:
    """(across, down) samples of a block in a plane: 8, or 4 along an axis of halved chroma."""
    half = BLOCK_PX // 2
    down, across = (
        BLOCK_PX if samples > count * half else half
        for samples, count in zip(plane_shape, blocks, strict=True)
    )
    return across, down


def survey(now: Array, shown: Array, bits: int, maps: NDArray[np.float32]) -> None:
    """Measure what separates ``now`` from ``shown`` in each block.

    ``now``, ``shown``: 2-D planes, uint8 or uint16, of one shape and dtype; ``maps``: float32
    (3, rows, columns) of :func:`blocks_shape`, filled with the mean squared difference, the mean
    difference (now - shown) and the largest absolute one, in codes of 8 bit whatever ``bits`` is.
    Raises ``ValueError`` when shapes disagree.
    """
    if now.shape != shown.shape or now.dtype != shown.dtype:
        raise ValueError(f"{shown.shape = } {shown.dtype} should be {now.shape} {now.dtype}")
    if maps.shape[0] != 3 or maps.ndim != 3:
        raise ValueError(f"{maps.shape = } should be 3 maps of blocks")
    sides = block_sides(now.shape, maps.shape[1:])
    _check_blocks(now.shape, maps.shape[1:], sides)
    columns = maps.shape[2] * sides[0]
    # The narrower the sums, the more of them the processor adds at once.
    narrow = np.empty((2, columns), np.int16 if now.itemsize == 1 else np.int32)
    sums = (narrow[0], np.empty(columns, np.int32), narrow[1])
    code, block = np.float32(2.0 ** (8 - bits)), (0,) * sides[0]
    _survey(*_dense(now), *_dense(shown), block, sides[1], now.shape, code, sums, maps)


def settle(
    now: Array, shown: Array, moving: NDArray[np.uint8], shift: Blocks | None,
    phase: Blocks, out: Array,
) -> None:  # fmt: skip
    """``out`` = ``now`` in blocks that move, ``shown`` elsewhere, following slow light.

    ``now``, ``shown``: as for :func:`survey`; ``out``: contiguous, their shape. ``moving``: uint8
    block map, 0 or 1. ``shift``: by how many of the plane's codes the light rose since each block was
    last followed, ``phase``: by how many before that; both are spread over the plane by linear
    interpolation between block centres. Each sample steps by a whole code when its sum passes a
    threshold of its own, spread evenly over neighbours, so that a slow change comes as a fine
    dither and never as patches. ``shift`` None: no block is followed. Raises ``ValueError`` when
    shapes disagree.
    """
    if now.shape != shown.shape or out.shape != now.shape or not out.flags.c_contiguous:
        raise ValueError(f"{shown.shape = } {out.shape = } should be {now.shape}")
    sides = block_sides(now.shape, moving.shape)
    _check_blocks(now.shape, moving.shape, sides)
    follow = shift is not None
    rise = shift if shift is not None else phase
    if rise.shape != moving.shape or phase.shape != moving.shape:
        raise ValueError(f"{rise.shape = } {phase.shape = } should be {moving.shape}")
    ramps = tuple((np.arange(side, dtype=np.float32) + np.float32(0.5)) / side for side in sides)
    lines = np.empty((6, moving.shape[1] * sides[0] + BLOCK_PX), np.float32)
    top = np.int32(255 if now.itemsize == 1 else 1023)
    np.copyto(out, shown)
    _settle(*_dense(now), sides, ramps, top, moving, follow, rise, phase, lines, out)


def _dense(plane: Array) -> tuple[Array, int]:
    """(memory, samples from row to row) with adjacent columns."""
    memory, row, step = flat(plane)
    if step != 1:
        memory, row, _ = flat(np.ascontiguousarray(plane))
    return memory, row


def _check_blocks(shape: tuple[int, ...], blocks: tuple[int, ...], sides: tuple[int, int]) -> None:
    across, down = sides
    if blocks != (-(-shape[0] // down), -(-shape[1] // across)):
        raise ValueError(f"{blocks} blocks should cover a plane of {shape}")


@kernel
def _survey(  # type: ignore[no-untyped-def]
    now, now_row, shown, shown_row, block, down, shape, code, sums, maps
):
    """``block``: one item per column of a block; a constant to the compiler, for its loops."""
    rows, columns = shape
    across, last = len(block), maps.shape[2] - 1
    totals, sums_of_squares, largest = sums
    for block_y in range(maps.shape[1]):
        top = block_y * down
        bottom = min(top + down, rows)
        totals[:] = 0
        sums_of_squares[:] = 0
        largest[:] = 0
        for y in range(top, bottom):
            new = now[y * now_row : y * now_row + columns]
            old = shown[y * shown_row : y * shown_row + columns]
            _add_row(new, old, totals, sums_of_squares, largest)
        squares, means, peaks = maps[0, block_y], maps[1, block_y], maps[2, block_y]
        share = code / np.float32((bottom - top) * across)
        for block_x in range(last + 1):
            mean, square, peak = np.int32(0), np.int32(0), np.int32(0)
            for place in range(len(block)):
                x = block_x * len(block) + place
                mean = np.int32(mean + totals[x])
                square = np.int32(square + sums_of_squares[x])
                peak = max(peak, np.int32(largest[x]))
            squares[block_x] = np.float32(square) * share * code
            means[block_x] = np.float32(mean) * share
            peaks[block_x] = np.float32(peak) * code
        filled = np.float32(across) / np.float32(columns - last * across)
        squares[last] *= filled
        means[last] *= filled


@helper
def _add_row(new, old, total, squares, largest):  # type: ignore[no-untyped-def]
    code = total.dtype.type
    for x in range(new.size):
        step = code(code(new[x]) - code(old[x]))
        total[x] = code(total[x] + step)
        squares[x] = np.int32(squares[x] + np.int32(step) * np.int32(step))
        largest[x] = max(largest[x], abs(step))


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
def _settle(  # type: ignore[no-untyped-def]
    now, now_row, sides, ramps, limit, moving, follow, rise, phase, lines, out
):
    across, down = sides
    ramp_x, ramp_y = ramps
    rows, columns = out.shape
    rises = False
    for y in range(rows):
        if not follow:
            break
        above, place = (y + down // 2) // down - 1, (y + down // 2) % down
        if place == 0 or y == 0:
            lower = min(above + 1, rise.shape[0] - 1)
            above = max(above, 0)
            rises = bool(np.any(rise[above]) or np.any(rise[lower]))
            if rises:
                _spread(rise[above], ramp_x, lines[0])
                _spread(rise[lower], ramp_x, lines[1])
                _spread(phase[above], ramp_x, lines[2])
                _spread(phase[lower], ramp_x, lines[3])
        if rises:
            _follow(lines, ramp_y[place], y, limit, out[y])
    for block_y in range(moving.shape[0]):
        top, bottom = block_y * down, min(block_y * down + down, rows)
        block_x = 0
        while block_x < moving.shape[1]:
            first = block_x
            while block_x < moving.shape[1] and moving[block_y, block_x]:
                block_x += 1
            left, right = first * across, min(block_x * across, columns)
            if right > left:
                for y in range(top, bottom):
                    new, target = now[y * now_row + left :], out[y, left:right]
                    for x in range(target.size):
                        target[x] = new[x]
            block_x += 1


@kernel
def _follow(lines, share, y, limit, target):  # type: ignore[no-untyped-def]
    """Step the samples of a row whose sum of light passes a whole number between phase and rise."""
    # Multiples of these two numbers (1 / the plastic number and its square) fall evenly in 0…1.
    across, down = np.float32(0.7548776662), np.float32(0.5698402910)
    start = np.float32(y) * down
    start -= np.floor(start)
    for x in range(target.size):
        threshold = np.float32(x) * across + start
        threshold -= np.floor(threshold)
        before = lines[2, x] + (lines[3, x] - lines[2, x]) * share + threshold
        after = before + (lines[0, x] + (lines[1, x] - lines[0, x]) * share)
        step = np.int32(np.floor(after)) - np.int32(np.floor(before))
        target[x] = min(max(np.int32(target[x]) + step, np.int32(0)), limit)
