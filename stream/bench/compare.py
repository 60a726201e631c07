"""Two benches beside each other: what changed by more than the noise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sfumato.stream.bench.cell import Result
from sfumato.stream.bench.matrix import Cell
from sfumato.stream.bench.results import Results, Spread, figures


@dataclass(frozen=True, slots=True)
class Rule:
    """When a difference of one figure is worth a word."""

    tolerance: float
    """As a share of the old median: less is nobody's concern."""
    more_is_better: bool = False
    of_machine: bool = True
    """A time: it means nothing on another machine."""


RULES = {
    "fps": Rule(0.05, more_is_better=True),
    "latency_p50_ms": Rule(0.10),
    "latency_p95_ms": Rule(0.15),
    "cpu_s_per_frame": Rule(0.05),
    "warm_start_s": Rule(0.10),
    "cold_start_s": Rule(0.15),
    "peak_rss_bytes": Rule(0.03, of_machine=False),
}
"""Medians of three runs of the same code on a quiet machine stay well within these."""

FEW_RUNS = 3
"""With fewer runs the spread says little, and the tolerance counts twice."""

OUTCOMES = ("ok", "refused", "killed", "failed")
"""From best to worst: who refuses has kept the promise that who is killed has broken."""


@dataclass(frozen=True, slots=True)
class Change:
    """One figure of one cell that is not what it was."""

    cell: Cell
    figure: str
    """A name of :data:`RULES`, or ``outcome``."""
    old: float | str
    new: float | str
    worse: bool
    counts: bool
    """False for times of another machine: shown, but no regression."""

    @property
    def regression(self) -> bool:
        """Something to fail for."""
        return self.worse and self.counts


def same_machine(old: Results, new: Results) -> bool:
    """Times can be compared: same processor, same cores, limits held in the same way."""
    return (old.machine, old.held_by) == (new.machine, new.held_by)


def comparable_cells(old: Results, new: Results) -> list[Cell]:
    """Cells that both have, measured on the same clip for as many frames with the same preset."""
    a, b = old.settings, new.settings
    if (a.clip, a.frames, a.preset) != (b.clip, b.frames, b.preset):
        return []
    return [cell for cell in new.cells if cell in old.cells]


def compare(old: Results, new: Results) -> list[Change]:
    """All changes beyond the noise, in the order of the new cells.

    A figure has changed if its medians are apart by more than its tolerance, and by more than the
    runs of either side are among themselves.
    """
    times_count = same_machine(old, new)
    return [
        change
        for cell in comparable_cells(old, new)
        for change in _changes(old.cells[cell], new.cells[cell], times_count)
    ]


def _changes(old: Result, new: Result, times_count: bool) -> Iterator[Change]:
    if old.status != new.status:
        worse = OUTCOMES.index(new.status) > OUTCOMES.index(old.status)
        yield Change(new.cell, "outcome", old.status, new.status, worse, True)
    before, after = figures(old), figures(new)
    for name, rule in RULES.items():
        if name in before and name in after and _differ(before[name], after[name], rule):
            a, b = before[name].median, after[name].median
            counts = times_count or not rule.of_machine
            yield Change(new.cell, name, a, b, (b < a) == rule.more_is_better, counts)


def _differ(old: Spread, new: Spread, rule: Rule) -> bool:
    few = min(old.runs, new.runs) < FEW_RUNS
    tolerance = rule.tolerance * (2 if few else 1) * abs(old.median)
    return abs(new.median - old.median) > max(tolerance, old.width, new.width)
