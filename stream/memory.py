"""How much memory a plan takes: one figure for each part, and their sum is the peak."""

from __future__ import annotations

from dataclasses import replace

from sfumato.stream.coding import CLOSE, encoder_cost
from sfumato.stream.plan import Plan
from sfumato.stream.work import Work, frame_bytes

DECODER_FRAMES = 5
"""Frames that FFmpeg's decoders keep for reference and reordering, beyond those handed out and those
that the first picture took."""

KERNELS_BYTES = 26 << 20
"""Compiled kernels and what loads them."""

COLD_BYTES = 55 << 20
"""What compiling the kernels takes on top, the first time ever."""

CODE_BYTES = 29 << 20
"""Pages of libraries that are in use while frames flow."""

STARTUP_CODE_BYTES = 66 << 20
"""The same while kernels are loaded, most of it LLVM; given back before the first frame."""

PER_THREAD_BYTES = 1 << 20
"""Stack and allocator arena of one thread that is busy."""

RESIZE_BYTES = 12 << 20
"""OpenCV, which only jobs load that paint at another size."""

RECODE_BYTES_PER_PX = 12
"""A whole frame in RGB at 32 bit, on its way into the format that the sink wants."""

WAITING = 0.3
"""What a worker that waits for a tile holds of what one at work takes: input and output."""

UNEVEN_PERCENT = 12.0
"""Where frames are resized or mixed, or tiles feathered: parts that follow each other closely."""


def error_percent(plan: Plan, work: Work) -> float:
    """Largest difference between prediction and measurement: of H.264 jobs at 720p, 1080p and
    2160p with limits from 224 MiB to 1 GiB, more where less was measured."""
    encoder = CLOSE if work.encoder is None else encoder_cost(work.encoder).error_percent
    plain = plan.exact and not (work.scaled or work.mixed)
    return encoder if plain else max(encoder, UNEVEN_PERCENT)


def predict_memory(plan: Plan, work: Work) -> dict[str, int]:
    """Bytes by part, in the largest moment of the job.

    That is while frames flow, unless so little flows that loading the kernels takes more: then the
    difference is the part ``startup``.
    """
    program = work.held_bytes + work.cold_bytes + KERNELS_BYTES
    parts = {
        "program": program + CODE_BYTES,
        "network": _network(plan, work),
        "decoder": _decoder(plan, work),
        "frames": _frames(plan, work),
        "resizing": _resizing(plan, work),
        "mixing": _mixing(work),
        "smoothing": _smoothing(work),
        "encoder": _encoder(plan, work),
    }
    loading = program + STARTUP_CODE_BYTES + parts["network"]
    parts["startup"] = max(0, loading - sum(parts.values()))
    return {name: round(size) for name, size in parts.items() if size}


def _network(plan: Plan, work: Work) -> float:
    cost, tile_px = work.network, plan.tile_px[0] * plan.tile_px[1]
    busy = min(plan.workers, plan.frames_in_flight * len(plan.tiles))
    more = busy - 1 + WAITING * (plan.workers - busy)
    threads = plan.workers * plan.intra_op * PER_THREAD_BYTES
    per_px = cost.bytes_per_px + more * cost.more_bytes_per_px
    return cost.fixed_bytes + tile_px * per_px + threads


def _decoder(plan: Plan, work: Work) -> float:
    kept = 0 if work.still else DECODER_FRAMES + plan.decoder_threads - 1
    return kept * frame_bytes(work.source_px, work.source)


def _frames(plan: Plan, work: Work) -> float:
    """Decoded frames that wait or are worked on, one of them in the decode thread's hand, and the
    planes that are painted."""
    in_flight = 1 if work.still else plan.frames_in_flight
    ahead = 1 if work.still else plan.queue_frames + 1 + in_flight
    painted = frame_bytes(work.paint_px, work.painted)
    if not plan.exact:
        painted += 4 * frame_bytes(work.paint_px, work.painted)  # sums of 32 bit
    return ahead * frame_bytes(work.source_px, work.source) + in_flight * painted


def _resizing(plan: Plan, work: Work) -> float:
    """OpenCV, the frames at working size, the last painting, also at full size, and a plane on its
    way."""
    if not work.scaled:
        return 0
    small = (1 if work.still else plan.frames_in_flight) * frame_bytes(work.paint_px, work.source)
    small += frame_bytes(work.paint_px, work.painted)
    full = frame_bytes(work.source_px, work.painted)
    plane = work.source_px[0] * work.source_px[1] * (1 if work.painted.bits == 8 else 2)
    return RESIZE_BYTES + small + full + plane


def _mixing(work: Work) -> float:
    """The mixture, and the original in the painting's format where it has another."""
    if not work.mixed:
        return 0
    full = frame_bytes(work.source_px, work.painted)
    if work.source == work.painted:
        return full
    width, height = work.source_px
    return 2 * full + RECODE_BYTES_PER_PX * width * height


def _smoothing(work: Work) -> float:
    """The last luma, and the last output at 16 bit."""
    if not work.smoothed:
        return 0
    width, height = work.paint_px
    samples = frame_bytes(work.paint_px, work.painted) / (1 if work.painted.bits == 8 else 2)
    return width * height * (1 if work.source.bits == 8 else 2) + 2 * samples


def _encoder(plan: Plan, work: Work) -> float:
    if work.encoder is None:
        return 0
    cost = encoder_cost(work.encoder)
    per_px = cost.held_bytes_per_px(work.preset, plan.encoder_threads, plan.lookahead_frames)
    width, height = work.source_px
    samples = frame_bytes(work.source_px, replace(work.painted, bits=8))
    depth = 1.0 if work.painted.bits == 8 else cost.deep
    usual = samples / (width * height * 1.5)  # the table is for 4:2:0 at 8 bit
    return cost.held_bytes(plan.lookahead_frames) + per_px * width * height * usual * depth
