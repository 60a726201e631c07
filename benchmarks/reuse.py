"""What painting only what changed gains, on clips in which little moves and on one that moves."""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.harness import run_job, sample
from benchmarks.scenes import slide_show, talking_head

FRAMES = 300
REPEATS = 3
MOVING = ("--start", "1")
"""The sample's camera begins to move within its first second."""


def reuse_figures(frames: int = FRAMES, repeats: int = REPEATS) -> list[dict[str, Any]]:
    """Steady fps with and without reuse, the two taking turns in fresh processes; medians."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        return [
            _figures("talking head, noise of 2 codes", repeats,
                     talking_head(folder / "head2.mp4", 2.0, frames)),
            _figures("talking head, noise of 4 codes", repeats,
                     talking_head(folder / "head4.mp4", 4.0, frames)),
            _figures("the same, not coded (y4m)", repeats,
                     talking_head(folder / "head4.y4m", 4.0, frames)),
            _figures("slide show", repeats, slide_show(folder / "slides.mp4", frames)),
            _figures("everything moves", repeats, sample(), *MOVING),
        ]  # fmt: skip


def _figures(name: str, repeats: int, clip: Path, *options: str) -> dict[str, Any]:
    runs: dict[str, list[dict[str, Any]]] = {"auto": [], "off": []}
    for _ in range(repeats):
        for reuse, reports in runs.items():
            reports.append(run_job(clip, "--reuse", reuse, *options))
    pairs = list(zip(runs["auto"], runs["off"], strict=True))
    last = runs["auto"][-1]
    return {
        "clip": name,
        "fps": median(run["steady_fps"] for run in runs["auto"]),
        "fps, reuse off": median(run["steady_fps"] for run in runs["off"]),
        "times as fast": median(one["steady_fps"] / other["steady_fps"] for one, other in pairs),
        "times less CPU": median(other["cpu_seconds"] / one["cpu_seconds"] for one, other in pairs),
        "pixels copied %": 100 * last["pixels_reused"],
        "frames reused": last["frames_reused"],
    }
