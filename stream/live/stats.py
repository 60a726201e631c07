"""What a live run has done so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from sfumato.stream.live.age import Ages
from sfumato.stream.report import Report


@dataclass(frozen=True, slots=True)
class Change:
    """Something that changed in mid-run, for logs and reports."""

    at_s: float
    """Seconds since the start."""
    text: str

    def to_dict(self) -> dict[str, Any]:
        """The figures for a report."""
        return {"at_s": round(self.at_s, 2), "what": self.text}


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveStats:
    """A look at a running painter."""

    fps: float
    """Pictures handed out per second, of the last seconds."""
    age_ms: Ages
    """Age of the pictures of the last seconds when they were handed out."""
    shown: int
    """Pictures handed out in all."""
    dropped: dict[str, int]
    """Frames that were offered and not handed out, by cause."""
    stage_ms: dict[str, float]
    """Milliseconds per frame and stage, summed over threads."""
    style: str
    strength: float
    scale: float
    """The size at which frames are painted."""
    tiles_run: int
    tiles_reused: int
    patches_run: int
    frames_reused: int
    reused: float
    """Share of the pixels that were copied instead of painted, 0 to 1."""
    changes: list[Change] = field(default_factory=list)
    """What the governor, or a caller, changed; the last hundred."""


class Drops:
    """Counts frames that are not shown, by cause. For any number of threads."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._lock = Lock()

    def add(self, cause: str, count: int = 1) -> None:
        """Count frames dropped for ``cause``."""
        if count:
            with self._lock:
                self._counts[cause] += count

    def to_dict(self) -> dict[str, int]:
        """Counts by cause."""
        with self._lock:
            return dict(self._counts)


class Counts:
    """What several engines did, added up."""

    def __init__(self) -> None:
        self.frames = self.tiles_run = self.tiles_reused = self.frames_reused = 0
        self.patches_run = 0
        self.pixels_reused = 0.0
        """Frames' worth of pixels that were copied."""

    @contextmanager
    def counting(self, report: Report) -> Generator[None]:
        """Add what an engine's report grows by while it paints a frame."""
        run, reused, frames = report.tiles_run, report.tiles_reused, report.frames_reused
        pixels, patches = report.pixels_reused, report.patches_run
        yield
        self.pixels_reused += report.pixels_reused - pixels
        self.frames += 1
        self.tiles_run += report.tiles_run - run
        self.tiles_reused += report.tiles_reused - reused
        self.frames_reused += report.frames_reused - frames
        self.patches_run += report.patches_run - patches
