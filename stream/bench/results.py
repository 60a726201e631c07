"""Results in a file: what is there is kept, what is new is added after each cell."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any, Self, get_args, get_type_hints

from sfumato.stream.bench.cell import Result, Status
from sfumato.stream.bench.facts import Facts
from sfumato.stream.bench.matrix import BenchSettings, Cell, make_cells
from sfumato.stream.errors import SettingsError
from sfumato.stream.media.errors import writing
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
        """Replace the file by these results, whole. Raises :class:`SinkError`."""
        with writing(str(path)):
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
            return cls._checked(**json.loads(path.read_text()))
        except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError,
                RecursionError) as exc:  # fmt: skip
            raise SettingsError(
                f"{path}: not a file of results that this version of `sfumato bench` wrote"
            ) from exc

    @classmethod
    def _checked(cls, machine: Any, versions: Any, held_by: Any, settings: Any, cells: Any) -> Self:
        """From the values of a file, which may hold anything. Raises whatever tells that they are
        not ours."""
        shared = BenchSettings(**settings)
        types = get_type_hints(BenchSettings)
        _expect(all(type(getattr(shared, name)) is types[name] for name in types))
        _expect(isinstance(machine, dict) and isinstance(versions, dict))
        _expect(isinstance(held_by, str))
        results = [_result(**values) for values in cells]
        return cls(
            machine=machine,
            versions=versions,
            settings=shared,
            held_by=held_by,
            cells={result.cell: result for result in results},
        )


_MOST = 1e15
"""No figure is larger: not even a peak of memory in bytes."""


def _result(cell: Any, **values: Any) -> Result:
    values.pop("figures", None)
    result = Result(cell=Cell(**cell), **values)
    _expect(make_cells(**_plural(result.cell)) == [result.cell])
    statuses = get_args(Status)
    _expect(result.status in statuses and result.cold_status in (*statuses, None))
    _expect(isinstance(result.reason, str))
    _expect(bool(result.runs) == (result.status == "ok"))
    for run in result.runs:
        _expect(isinstance(run["precision"], str) and _is_figure(run["predicted_peak_rss_bytes"]))
        _expect(all(map(_is_figure, _figures(run).values())))
    _expect(result.cold_start_s is None or _is_figure(result.cold_start_s))
    return result


def _plural(cell: Cell) -> dict[str, str]:
    return {f"{name}s": word for name, word in asdict(cell).items()}


def _is_figure(value: object) -> bool:
    """A number, neither NaN nor a truth value, such as can be measured: a clock that was set back
    makes a start come before its command."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -_MOST < value < _MOST


def _expect(fact: bool) -> None:
    if not fact:
        raise ValueError
