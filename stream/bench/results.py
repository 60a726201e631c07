"""Results in a file: what is there is kept, what is new is added after each cell."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any, Self

from sfumato.stream.bench.cell import Result
from sfumato.stream.bench.facts import Facts
from sfumato.stream.bench.matrix import BenchSettings, Cell
from sfumato.stream.errors import SettingsError
from sfumato.stream.report import write_text_whole


@dataclass(frozen=True, slots=True)
class Spread:
    """One figure over the runs of a cell."""

    median: float
    low: float
    high: float
    runs: int

    @property
    def width(self) -> float:
        """How far apart the runs lie."""
        return self.high - self.low


FIGURES = ("fps", "latency_p50_ms", "latency_p95_ms", "cpu_s_per_frame", "warm_start_s",
           "peak_rss_bytes")  # fmt: skip
"""What a cell's runs are summed up in; ``cold_start_s`` is measured once."""


def figures(result: Result) -> dict[str, Spread]:
    """The figures by name; those that were not measured are missing."""
    spreads = {}
    columns = [_figures(run) for run in result.runs]
    for name in FIGURES if columns else ():
        values = [column[name] for column in columns]
        spreads[name] = Spread(median(values), min(values), max(values), len(values))
    if result.cold_start_s is not None:
        value = result.cold_start_s
        spreads["cold_start_s"] = Spread(value, value, value, 1)
    return spreads


def _figures(run: dict[str, Any]) -> dict[str, float]:
    return {
        "fps": run["steady_fps"],
        "latency_p50_ms": run["latency_ms"]["p50"],
        "latency_p95_ms": run["latency_ms"]["p95"],
        "cpu_s_per_frame": run["cpu_seconds"] / max(1, run["frames_out"]),
        "warm_start_s": run["start_s"],
        "peak_rss_bytes": run["peak_rss_bytes"],
    }


@dataclass(slots=True, kw_only=True)
class Results:
    """Everything one bench found out, and what it depends on."""

    machine: Facts
    versions: Facts
    settings: BenchSettings
    held_by: str
    """What held jobs to their limits."""
    cells: dict[Cell, Result] = field(default_factory=dict)

    def resumed(self, path: Path) -> Self:
        """The results in ``path``, if they were measured as these are to be.

        Raises :class:`SettingsError` that says what differs: nothing is overwritten unasked.
        """
        found = self.read(path)
        parts = ("machine", "versions", "settings", "held_by")
        differing = [name for name in parts if getattr(found, name) != getattr(self, name)]
        if differing:
            raise SettingsError(
                f"--json {path} holds results of other {' and '.join(differing)}: give another "
                "name, or --overwrite to replace it"
            )
        return found

    def missing(self, cells: Iterable[Cell]) -> list[Cell]:
        """Those of ``cells`` still to be measured; what failed is tried again."""
        done = {cell for cell, result in self.cells.items() if result.status != "failed"}
        return [cell for cell in cells if cell not in done]

    def only(self, cells: Iterable[Cell]) -> Self:
        """These cells alone, in this order."""
        return replace(self, cells={cell: self.cells[cell] for cell in cells})

    def write(self, path: Path) -> None:
        """Replace the file by these results, whole."""
        write_text_whole(path, self.to_json() + "\n")

    def to_json(self) -> str:
        """As indented JSON; each cell's figures are repeated as medians for easy reading."""
        cells = [
            {
                **asdict(result),
                "figures": {name: asdict(spread) for name, spread in figures(result).items()},
            }
            for result in self.cells.values()
        ]
        basis = {"machine": self.machine, "versions": self.versions, "held_by": self.held_by}
        return json.dumps({**basis, "settings": asdict(self.settings), "cells": cells}, indent=1)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Raises :class:`FileNotFoundError`, and :class:`SettingsError` for other files."""
        try:
            values = json.loads(path.read_text())
            settings = BenchSettings(**values.pop("settings"))
            results = [_result(entry) for entry in values.pop("cells")]
            return cls(**values, settings=settings, cells={r.cell: r for r in results})
        except (ValueError, KeyError, TypeError, AttributeError) as exc:
            raise SettingsError(
                f"{path}: not a file of results that this version of `sfumato bench` wrote"
            ) from exc


def _result(values: dict[str, Any]) -> Result:
    cell = Cell(**values["cell"])
    rest = {name: value for name, value in values.items() if name not in ("cell", "figures")}
    return Result(cell=cell, **rest)
