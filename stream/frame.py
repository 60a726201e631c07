"""One picture of a video, and what is known about the video before the first one."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.formats import PixelFormat

Plane = NDArray[np.uint8] | NDArray[np.uint16]


@dataclass(frozen=True, slots=True)
class VideoInfo:
    """What a source knows before its first frame."""

    width_px: int
    height_px: int
    """Display size before rotation: what ``Frame.planes`` hold."""
    pixels: PixelFormat
    frame_rate: Fraction | None = None
    """Average frames per second; None where the container does not say."""
    time_base: Fraction = Fraction(1, 1000)
    """Seconds per PTS tick."""
    frames_estimate: int | None = None
    """Frames to come: as many as the container counts, or as its length and rate come to. It may lie,
    and rates may vary: for progress bars and forecasts only."""
    guessed_colour: bool = False
    """The stream carries no matrix tag; ``pixels.matrix`` follows from its height."""
    notes: tuple[str, ...] = ()
    """What a user should know about how this source is read, one sentence each."""
    decoder_threads: int = 1
    """Pictures that are decoded at the same time."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One picture in YUV planes."""

    planes: tuple[Plane, ...]
    """Y, U, V (Y alone for grey): 2-D, uint8 at 8 bit, uint16 at 10 bit; rows may be padded and the
    two chroma planes may be the even and odd columns of one (NV12)."""
    pixels: PixelFormat
    pts: int
    """Presentation time in ticks of ``time_base``."""
    time_base: Fraction
    keep: Any = field(default=None, compare=False)
    """Whatever owns the planes' memory."""
    duration: int = field(default=0, compare=False)
    """How long it is shown, in ticks of ``time_base``; 0 where the source does not say."""
    side_packets: list[Any] | tuple[()] = field(default=(), compare=False)
    """Packets of copied streams (audio, subtitles) that the source met before this frame; a sink
    that copies them takes them off it."""

    def __post_init__(self) -> None:
        shapes = self.pixels.plane_shapes(self.width_px, self.height_px)
        if [plane.shape for plane in self.planes] != shapes:
            found = [plane.shape for plane in self.planes]
            raise ValueError(f"plane shapes {found} should be {shapes} for {self.pixels}")

    @property
    def width_px(self) -> int:
        """Columns of luma."""
        return int(self.planes[0].shape[1])

    @property
    def height_px(self) -> int:
        """Rows of luma."""
        return int(self.planes[0].shape[0])

    def __repr__(self) -> str:
        return (
            f"Frame({self.width_px}x{self.height_px} {self.pixels.chroma} "
            f"{self.pixels.bits} bit, pts={self.pts} x {self.time_base})"
        )
