"""The next smaller plan, where memory runs out in spite of what was planned."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sfumato.stream.plan import Plan


def smaller(plan: Plan, others: Iterable[Plan]) -> Plan | None:
    """The plan with shorter queues; where they are short, the one of ``others``, from best to
    worst, whose workers hold at most half of this one's tiles; None where nothing is left to give.

    Both give the same picture: tiles are left alone where they are feathered.
    """
    shortest = replace(plan, queue_frames=1, frames_in_flight=1)
    if shortest != plan:
        return shortest
    if not plan.exact:
        return None
    halved = (other for other in others if other.exact and 2 * held_px(other) <= held_px(plan))
    found = next(halved, None)
    if found is None:
        return None
    return replace(
        plan,
        tile_px=found.tile_px,
        tiles=found.tiles,
        overlap_px=found.overlap_px,
        workers=found.workers,
        intra_op=found.intra_op,
    )


def held_px(plan: Plan) -> int:
    """Pixels of all tiles that are worked on at the same time."""
    return plan.workers * plan.tile_px[0] * plan.tile_px[1]
