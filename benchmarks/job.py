"""A whole file job beside the obvious script: fps, busy cores, memory, start-up."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from sfumato.models.catalog import find_style
from sfumato.models.cores import usable_cores
from sfumato.models.head import read_spec

REPEATS = 3


def job_figures(clip: Path, style: str = "toon", repeats: int = REPEATS) -> dict[str, Any]:
    """Medians over fresh processes, the two taking turns so that both meet the same machine.

    Styles with grain have no obvious script: feeding them takes a kernel.
    """
    ours: list[dict[str, Any]] = []
    theirs: list[dict[str, Any]] = []
    beside = read_spec(find_style(style).paths[0]).grain_seed is None
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(repeats):
            ours.append(_sfumato(clip, style, Path(folder) / f"ours{turn}.mp4"))
            if beside:
                theirs.append(_obvious(clip, style, Path(folder) / f"theirs{turn}.mp4"))
    cores = usable_cores()
    return {
        "clip": clip.name,
        "frames": ours[0]["frames_out"],
        "style": style,
        "precision": ours[0]["precision"],
        "fps": median(run["fps"] for run in ours),
        "obvious_fps": median(run["fps"] for run in theirs) if beside else None,
        "ratio": median(a["fps"] / b["fps"] for a, b in zip(ours, theirs, strict=True))
        if beside
        else None,
        "busy_percent": median(100 * r["cpu_seconds"] / r["seconds"] / cores for r in ours),
        "peak_rss_mb": median(r["peak_rss_bytes"] for r in ours) / 1e6,
        "stage_ms": ours[-1]["stage_ms"],
    }


def start_up_s(clip: Path, style: str = "toon", repeats: int = REPEATS) -> dict[str, float]:
    """Seconds of whole commands in fresh processes, caches warm: help, and a one-frame job."""
    with tempfile.TemporaryDirectory() as folder:
        target = str(Path(folder) / "one.mp4")
        one = ["run", str(clip), "-o", target, "--style", style, "--duration", "0.04"]
        commands = {"help": ["--help"], "one frame": [*one, "--overwrite", "--quiet"]}
        return {
            name: median(
                _seconds([sys.executable, "-m", "sfumato", *words]) for _ in range(repeats)
            )
            for name, words in commands.items()
        }


def _seconds(command: list[str]) -> float:
    started_s = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - started_s


def _sfumato(clip: Path, style: str, target: Path) -> dict[str, Any]:
    report = target.with_suffix(".json")
    words = ["run", str(clip), "-o", str(target), "--style", style, "--preset", "superfast"]
    words += ["--quiet", "--report", str(report)]
    subprocess.run([sys.executable, "-m", "sfumato", *words], check=True)
    figures: dict[str, Any] = json.loads(report.read_text())
    return figures


_OBVIOUS = """
import json, sys
from pathlib import Path
from benchmarks.obvious import paint_file
from sfumato.stream.report import peak_rss_bytes
frames, seconds = paint_file(*map(Path, sys.argv[1:4]))
print(json.dumps({"fps": frames / seconds, "peak_rss_bytes": peak_rss_bytes()}))
"""


def _obvious(clip: Path, style: str, target: Path) -> dict[str, Any]:
    fp32 = find_style(style).fp32
    assert fp32 is not None, f"{style} has no FP32 file"
    command = [sys.executable, "-c", _OBVIOUS, str(clip), str(target), str(fp32)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures
