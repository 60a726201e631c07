"""A whole file job beside the obvious script: fps, busy cores, memory."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.harness import run_job, user_env
from sfumato.models.catalog import find_style
from sfumato.models.cores import usable_cores
from sfumato.models.head import read_spec

REPEATS = 5
OBVIOUS_FRAMES = 48
"""The obvious script has no start-up in its figure and needs no more to be timed."""


def job_figures(clip: Path, style: str = "toon", repeats: int = REPEATS) -> dict[str, Any]:
    """Medians over fresh processes, the two taking turns so that both meet the same machine.

    Styles with grain have no obvious script: feeding them takes a kernel.
    """
    ours: list[dict[str, Any]] = []
    theirs: list[dict[str, Any]] = []
    beside = read_spec(find_style(style).paths[0]).grain_seed is None
    for _ in range(repeats):
        ours.append(run_job(clip, "--style", style))
        if beside:
            theirs.append(_obvious(clip, style))
    cores = usable_cores()
    return {
        "style": style,
        "fps": median(run["fps"] for run in ours),
        "obvious script fps": median(run["fps"] for run in theirs) if beside else None,
        "times as fast": median(a["fps"] / b["fps"] for a, b in zip(ours, theirs, strict=True))
        if beside
        else None,
        "cores busy %": median(100 * r["cpu_seconds"] / r["seconds"] / cores for r in ours),
        "peak memory MB": median(r["peak_rss_bytes"] for r in ours) / 1e6,
    }


_OBVIOUS = """
import json, sys
from pathlib import Path
from benchmarks.obvious import paint_file
source, target, fp32, frames = sys.argv[1:5]
painted, seconds = paint_file(Path(source), Path(target), Path(fp32), int(frames))
print(json.dumps({"fps": painted / seconds}))
"""


def _obvious(clip: Path, style: str) -> dict[str, Any]:
    fp32 = find_style(style).fp32
    assert fp32 is not None, f"{style} has no FP32 file"
    with tempfile.TemporaryDirectory() as folder:
        words = [str(clip), f"{folder}/painted.mp4", str(fp32), str(OBVIOUS_FRAMES)]
        command = [sys.executable, "-c", _OBVIOUS, *words]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=user_env())
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures
