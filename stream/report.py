"""What a job did: counts, times, memory, and what the user should know."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from sfumato.stream.budget import status_bytes

STAGES = ("decode", "gather", "infer", "scatter", "smooth", "encode")


class StageTimes:
    """Seconds spent in each stage, added up from all threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def adder(self, stage: str) -> Callable[[float], None]:
        """A function that adds seconds to ``stage``."""

        def add(seconds: float) -> None:
            with self._lock:
                self._seconds[stage] += seconds

        return add

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        """Add the time spent in the ``with`` block to ``name``."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.adder(name)(time.perf_counter() - started)

    def per_frame_ms(self, frames: int) -> dict[str, float]:
        """Milliseconds per frame of each stage, summed over threads."""
        with self._lock:
            return {s: round(1e3 * self._seconds[s] / max(1, frames), 3) for s in STAGES}

    def slowest(self) -> str | None:
        """The stage that has taken most time so far."""
        with self._lock:
            return max(self._seconds, key=self._seconds.__getitem__, default=None)


@dataclass(slots=True, kw_only=True)
class Report:
    """Result of one job; :meth:`to_json` is what ``--report`` writes."""

    source: str
    sink: str
    frames_in: int = 0
    frames_out: int = 0
    frames_reused: int = 0
    tiles_run: int = 0
    patches_run: int = 0
    """Those of the tiles that were cut to fit what changed."""
    tiles_reused: int = 0
    pixels_reused: float = 0.0
    """Share of all pixels that were copied from the painting before; counted in frames until the
    job ends."""
    noise_codes: float = 0.0
    """Standard deviation of the sensor's noise in luma as last estimated, in codes of 8 bit."""
    cuts: int = 0
    fps: float = 0.0
    """Frames over seconds of the whole job."""
    steady_fps: float = 0.0
    """The pace once running: start-up, the first quarter of the frames and the end left out."""
    seconds: float = 0.0
    started_unix_s: float = 0.0
    """When the job began, in seconds since 1970."""
    first_frame_s: float = 0.0
    """From then until the first painted frame was handed to the sink."""
    latency_ms: dict[str, float] = field(default_factory=dict)
    """``p50`` and ``p95`` of the time from source to sink, waits included."""
    stage_ms: dict[str, float] = field(default_factory=dict)
    """Per frame and stage, wall clock, summed over threads."""
    cpu_seconds: float = 0.0
    peak_rss_bytes: int = 0
    predicted_peak_rss_bytes: int = 0
    """What the plan promised before the first frame; 0 where nothing was planned."""
    memory_limit_bytes: int | None = None
    """What the job was to stay below: asked for, or set by the system; None: no limit."""
    plan: dict[str, Any] = field(default_factory=dict)
    style: str = ""
    precision: str = ""
    precision_reason: str = ""
    provider: str = ""
    color: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def to_json(self) -> str:
        """The report as indented JSON."""
        return json.dumps(asdict(self), indent=2)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job is; handed to the caller after every frame."""

    frames: int
    frames_estimate: int | None
    seconds: float
    slowest_stage: str | None

    @property
    def fps(self) -> float:
        """Frames per second so far."""
        return self.frames / self.seconds if self.seconds else 0.0


def peak_rss_bytes() -> int:
    """Largest resident memory of this process so far, in bytes.

    On Linux from ``VmHWM``: ``ru_maxrss`` also remembers the process that started this one.
    """
    if peak := status_bytes("VmHWM:"):
        return peak
    if sys.platform == "win32":
        import psutil

        return int(psutil.Process().memory_info().peak_wset)
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def write_text_whole(path: Path, text: str) -> None:
    """Write a small text file so that readers see the old content or all of the new."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        part.write_text(text)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
