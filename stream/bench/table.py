"""Results as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sfumato.stream.bench.cell import Result
from sfumato.stream.bench.compare import Change
from sfumato.stream.bench.results import Results, figures


def markdown_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows, which share their keys, as a Markdown table; floats get three digits."""
    names = list(rows[0])
    lines = [names, ["---"] * len(names)]
    lines += [[_text(row[name]) for name in names] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return "" if value is None else str(value)


def results_table(results: Results) -> str:
    """One row per cell; what has no figures says why under ``fps``."""
    return markdown_table([_row(result) for result in results.cells.values()])


def reasons(results: Iterable[Result]) -> list[str]:
    """One line for each cell without figures."""
    return [
        f"{result.cell}: {result.status}: {result.reason}"
        for result in results
        if result.status != "ok"
    ]


def _row(result: Result) -> dict[str, Any]:
    cell, spreads = result.cell, figures(result)
    middle = {name: spread.median for name, spread in spreads.items()}
    peak, promised = middle.get("peak_rss_bytes"), _promised(result)
    return {
        "size": cell.size,
        "limit": cell.limit,
        "style": cell.style,
        "precision": _precision(result),
        "fps": middle.get("fps") if result.status == "ok" else result.status,
        "p50 ms": middle.get("latency_p50_ms"),
        "p95 ms": middle.get("latency_p95_ms"),
        "CPU s/frame": middle.get("cpu_s_per_frame"),
        "cold start s": middle.get("cold_start_s", _unless_ok(result)),
        "warm start s": middle.get("warm_start_s"),
        "peak MiB": _mib(peak),
        "predicted MiB": _mib(promised),
        "off %": 100 * (promised / peak - 1) if promised and peak else None,
    }


def changes_table(changes: Sequence[Change]) -> str:
    """One row per change, regressions named."""
    return markdown_table([_change_row(change) for change in changes])


def _change_row(change: Change) -> dict[str, Any]:
    old, new = change.old, change.new
    numbers = isinstance(old, float | int) and isinstance(new, float | int)
    scale = 2**-20 if change.figure == "peak_rss_bytes" else 1
    return {
        "cell": str(change.cell),
        "figure": change.figure.replace("_rss_bytes", " MiB").replace("_", " "),
        "old": float(old) * scale if numbers else old,
        "new": float(new) * scale if numbers else new,
        "change": f"{100 * (float(new) / float(old) - 1):+.0f} %" if numbers and old else None,
        "verdict": "regression" if change.regression else _verdict(change),
    }


def _verdict(change: Change) -> str:
    if not change.counts:
        return "other machine"
    return "worse" if change.worse else "better"


def _precision(result: Result) -> str:
    """What ``auto`` came to, where it is known."""
    return str(result.runs[0]["precision"]) if result.runs else result.cell.precision


def _promised(result: Result) -> int | None:
    """The peak that the plan predicted; the runs of a cell have one plan."""
    return result.runs[0]["predicted_peak_rss_bytes"] or None if result.runs else None


def _unless_ok(result: Result) -> str | None:
    """How the cold job ended, where the timed ones did better."""
    return result.cold_status if result.status == "ok" and result.cold_status != "ok" else None


def _mib(value: float | None) -> float | None:
    return value / 2**20 if value else None
