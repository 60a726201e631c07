"""A job, as far as its costs go: what the planner needs to know and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.kernels.formats import PixelFormat
from sfumato.models.probe import NetworkCost


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Sizes, formats and what is done with each frame."""

    source_px: tuple[int, int]
    """Width and height of the source's frames, which is the output's."""
    paint_px: tuple[int, int]
    """Width and height at which tiles are painted."""
    source: PixelFormat
    painted: PixelFormat
    network: NetworkCost
    trim_px: int = 0
    """What the network takes off each side of a tile."""
    held_bytes: int
    """Resident memory of this process before the job's own parts: programs, libraries, models."""
    cold_bytes: int = 0
    """What compiling takes on top, where kernels were never compiled."""
    smoothed: bool = True
    mixed: bool = False
    """The painting is mixed with the original."""
    encoder: str | None = None
    """FFmpeg's name, or the ending of single pictures; None where nothing is encoded."""
    preset: str = ""
    frames: int | None = None
    """How many are expected of the source."""
    decoder_threads: int = 1

    @property
    def scaled(self) -> bool:
        """Frames are painted at another size than their own."""
        return self.source_px != self.paint_px

    @property
    def still(self) -> bool:
        """One picture is all there is."""
        return self.frames == 1


def frame_bytes(size_px: tuple[int, int], pixels: PixelFormat) -> int:
    """Bytes of all planes of one frame."""
    samples = sum(rows * columns for rows, columns in pixels.plane_shapes(*size_px))
    return samples * (1 if pixels.bits == 8 else 2)
