"""How much of a clip is painted anew, as far as a look at parts of it tells."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Changes:
    """What painting only what changes comes to, on the frames looked at. Shares are 0…1."""

    frames: int
    """How many were looked at, each beside the one before."""
    moving: float
    """Share of all pixels that may come out otherwise than in the frame before."""
    painted: float
    """Share of all pixels that is painted anew: those, or all without reuse."""
    repeated: float
    """Share of the frames that are copied from the one before outright."""
    cost: float
    """Painting, against painting every frame as a whole: halos and starts of patches are in it."""
    decode_ms: float
    """One thread's time to decode a frame."""
    hold_ms: float
    """One thread's time to tell what changed in a frame, and to hold the rest."""

    def to_dict(self) -> dict[str, float]:
        """The figures for ``plan --json``."""
        return {
            "frames": self.frames,
            "painted_share": round(self.painted, 4),
            "repeated_share": round(self.repeated, 4),
            "cost_share": round(self.cost, 4),
        }
