"""How things are measured here: in turns, after a warm-up, best and spread, with machine facts."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import quantiles
from typing import Any

PACKAGES = ("numpy", "numba", "onnxruntime", "opencv-python-headless", "av")


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


def machine_facts() -> dict[str, Any]:
    """What a figure depends on: processor, cores this process may use, versions."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "system": platform.system(),
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    flags = next((line for line in lines if line.startswith("flags")), "")
    extras = [flag for flag in ("avx2", "avx512f", "avx512_vnni", "avx_vnni") if flag in flags]
    return " ".join([names[0] if names else platform.processor() or platform.machine(), *extras])


def markdown_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows, which share their keys, as a Markdown table; floats get three digits."""
    names = list(rows[0])
    lines = [names, ["---"] * len(names)]
    lines += [[_cell(row[name]) for name in names] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return "" if value is None else str(value)


def write_json(path: Path, figures: Mapping[str, Any]) -> None:
    """Write figures with the facts of the machine they were measured on."""
    path.write_text(json.dumps({"machine": machine_facts(), **figures}, indent=1) + "\n")
