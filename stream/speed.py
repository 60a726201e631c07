"""How fast a plan is: CPU time by stage, and what holds the frames up."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.models.spec import computed_px
from sfumato.stream.changes import Changes
from sfumato.stream.coding import encoder_cost
from sfumato.stream.plan import Plan
from sfumato.stream.work import Work

DECODE_NS, GATHER_NS, SCATTER_NS, SMOOTH_NS, RESIZE_NS = 4.2, 4.0, 1.6, 2.2, 1.5
"""Nanoseconds of one core per pixel: of a frame (H.264), of a tile, of a frame for the others.
Measured on an AMD EPYC at 2.6 GHz; elsewhere only their ratio to the network's time is off."""

TILE_MS = 0.15
"""What each tile costs whatever its size: hand-over between threads, call of the session."""

FRAME_MS = 1.0
"""What each painted frame adds whatever its size: threads that wait for each other and for the
interpreter. It shows where frames are small: at 176x144 both cores work for 1.9 of 2.5 ms."""

INTRA_OP_GAIN = 0.85
"""What each further thread inside one inference adds, against a worker of its own."""


@dataclass(frozen=True, slots=True)
class Speed:
    """A prediction."""

    fps: float
    cpu_ms: dict[str, float]
    """CPU time of one frame by stage."""


def predict_speed(plan: Plan, work: Work, cores: int, changes: Changes | None = None) -> Speed:
    """Frames per second: what the cores can do, and no more than the slowest of the threads.

    ``changes`` None: every frame is painted as a whole.
    """
    cpu, painted = cpu_ms(plan, work), 1.0
    if changes is not None:
        cpu, painted = _spared(cpu, work, changes), 1 - changes.repeated
    lanes = plan.workers * (1 + INTRA_OP_GAIN * (plan.intra_op - 1))
    pool_ms = (cpu["gather"] + cpu["infer"] + cpu["scatter"]) / lanes
    caller_ms = cpu["smooth"]
    if plan.frames_in_flight * len(plan.tiles) < plan.workers:
        pool_ms *= plan.workers / (plan.frames_in_flight * len(plan.tiles))
    if plan.frames_in_flight == 1:  # workers wait while the painted frame is handed on
        pool_ms, caller_ms = pool_ms + caller_ms, pool_ms + caller_ms
    frame_ms = painted * FRAME_MS + max(
        sum(cpu.values()) / cores,
        pool_ms,
        caller_ms,
        cpu["decode"] / plan.decoder_threads,
        cpu["encode"] / plan.encoder_threads,
    )
    return Speed(1e3 / frame_ms, {stage: round(ms, 3) for stage, ms in cpu.items()})


def cpu_ms(plan: Plan, work: Work) -> dict[str, float]:
    """CPU time of one frame by stage, in milliseconds."""
    frame_mpx = work.source_px[0] * work.source_px[1] / 1e6
    paint_mpx = work.paint_px[0] * work.paint_px[1] / 1e6
    tiles = len(plan.tiles)
    tiles_mpx = tiles * plan.tile_px[0] * plan.tile_px[1] / 1e6
    computed_mpx = tiles * computed_px(*plan.tile_px, work.trim_px) / 1e6
    encode = 0.0
    if work.encoder is not None:
        by_preset = encoder_cost(work.encoder).ns_per_px
        encode = by_preset.get(work.preset, by_preset[""]) * frame_mpx
    resize = 2 * RESIZE_NS * frame_mpx if work.scaled else 0.0
    return {
        "decode": DECODE_NS * frame_mpx,
        "gather": GATHER_NS * tiles_mpx,
        "infer": work.network.ms_per_mpx * computed_mpx + TILE_MS * tiles,
        "scatter": SCATTER_NS * paint_mpx,
        "smooth": (SMOOTH_NS * paint_mpx if work.smoothed else 0.0) + resize,
        "encode": encode,
    }


def _spared(cpu: dict[str, float], work: Work, changes: Changes) -> dict[str, float]:
    """The same where only what changes is painted."""
    encode = 0.0
    if work.encoder is not None:
        by_preset = encoder_cost(work.encoder).still_share
        still = by_preset.get(work.preset, by_preset[""])
        encode = still + (1 - still) * changes.moving
    smoothed = SMOOTH_NS * work.paint_px[0] * work.paint_px[1] / 1e6 if work.smoothed else 0.0
    return {
        "decode": changes.decode_ms,
        "gather": cpu["gather"] * changes.cost,
        "infer": cpu["infer"] * changes.cost,
        "scatter": cpu["scatter"] * (1 - changes.repeated),  # what is not painted is copied
        "smooth": cpu["smooth"] - smoothed * (1 - changes.painted) + changes.hold_ms,
        "encode": cpu["encode"] * encode,
    }
