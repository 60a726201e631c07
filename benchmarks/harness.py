"""How things are measured here: in turns, after a warm-up, best and spread; jobs in processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from typing import Any

from platformdirs import user_cache_path

from sfumato.stream.bench.clips import clip_at
from sfumato.stream.media.sample import sample_clip

PRESET = "superfast"
"""The encoder's, for every job: it should not be what is measured."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds of one call, over many."""

    best_ms: float
    """The figure for ratios: other programs only ever add to it."""
    median_ms: float
    iqr_ms: float
    """Distance between the quartiles: how calm the machine was."""


def time_in_turns(
    cases: Mapping[str, Callable[[], object]], rounds: int = 30, warm_up: int = 2
) -> dict[str, Timing]:
    """Time every case once per round, so that all of them meet the same machine.

    The ``warm_up`` rounds compile, load caches and touch memory; they do not count.
    """
    times: dict[str, list[float]] = {name: [] for name in cases}
    for turn in range(warm_up + rounds):
        for name, case in cases.items():
            started_s = time.perf_counter()
            case()
            if turn >= warm_up:
                times[name].append(1e3 * (time.perf_counter() - started_s))
    return {name: _timing(values) for name, values in times.items()}


def _timing(values_ms: Sequence[float]) -> Timing:
    low, middle, high = quantiles(values_ms, n=4)
    return Timing(min(values_ms), middle, high - low)


def sample() -> Path:
    """The clip of `sfumato demo`: 720p."""
    return sample_clip(user_cache_path("sfumato"))


def sample_at(size: str, frames: int) -> Path:
    """Its first frames at another size, scaled once."""
    return clip_at(sample(), size, frames, user_cache_path("sfumato") / "bench")


def user_env() -> dict[str, str]:
    """This process's environment, but with byte code kept, as it is where pip has installed."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def run_job(clip: Path, *options: str) -> dict[str, Any]:
    """Paint a clip with `sfumato run` in a fresh process and give its report."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        words = ["run", str(clip), "-o", f"{folder}/painted.mp4", "--preset", PRESET, "--quiet"]
        words += ["--report", str(report), *options]
        subprocess.run([sys.executable, "-m", "sfumato", *words], check=True, env=user_env())
        figures: dict[str, Any] = json.loads(report.read_text())
        return figures
