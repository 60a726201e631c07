"""What a sink takes over from a source beside the pictures."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from sfumato.stream.media.colour import ColourTags


@dataclass(frozen=True, slots=True)
class Carried:
    """What a sink takes over from a source beside the pictures."""

    path: Path | None = None
    """The file that is read; None for pipes, addresses and image sequences."""
    tags: ColourTags = field(default_factory=ColourTags)
    rgb: bool = False
    """The source is coded in RGB, so the sink may choose how to subsample."""
    display_matrix: tuple[int, ...] = ()
    """How to turn the picture before showing it (nine numbers, FFmpeg's layout); () for upright."""
    sample_aspect: Fraction | None = None
    """Width of a pixel divided by its height; None for square."""
    side_streams: tuple[Any, ...] = ()
    """Audio, subtitle, data, attachment and cover streams, whose packets ride on the frames."""
    covers: dict[int, bytes] = field(default_factory=dict)
    """The picture of each cover stream, by stream index."""
    metadata: dict[str, str] = field(default_factory=dict)
    stream_metadata: dict[str, str] = field(default_factory=dict)
    chapters: tuple[Any, ...] = ()
    pictures: tuple[Path, ...] = ()
    """The files of an image sequence."""
    first_number: int = 1
    """Number of the first picture of an image sequence."""
