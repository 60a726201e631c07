"""The promise of `--memory-limit`: jobs under real limits, as `sfumato bench` measures them."""

from __future__ import annotations

from pathlib import Path
from threading import Event

from platformdirs import user_cache_path

from benchmarks.harness import PRESET, sample
from sfumato.stream.bench.cell import CellRunner
from sfumato.stream.bench.clips import fingerprint
from sfumato.stream.bench.facts import machine_facts, version_facts
from sfumato.stream.bench.holder import find_holder
from sfumato.stream.bench.matrix import BenchSettings, Cell, make_cells
from sfumato.stream.bench.results import Results

SIZES = "720p,1080p,2160p"
LIMITS = "224M,256M,320M,384M,512M,1G"
FRAMES, RUNS = 24, 2


def memory_results() -> Results:
    """Every size under every limit, with the default style."""
    return _measure(make_cells(SIZES, LIMITS, "toon", "auto"), FRAMES, RUNS, cold=False)


def start_results() -> Results:
    """One cell without a limit, caches empty at first."""
    return _measure([Cell("720p", "none", "toon", "auto")], FRAMES, 3, cold=True)


def _measure(cells: list[Cell], frames: int, runs: int, *, cold: bool) -> Results:
    clip, holder = sample(), find_holder()
    settings = BenchSettings(
        clip=fingerprint(clip), frames=frames, runs=runs, cold=cold, preset=PRESET
    )
    results = Results(
        machine=machine_facts(), versions=version_facts(), settings=settings, held_by=holder.name
    )
    folder: Path = user_cache_path("sfumato") / "bench"
    with CellRunner(clip, settings, holder, folder, Event()) as run:
        for cell in cells:
            results.cells[cell] = run(cell)
    return results
