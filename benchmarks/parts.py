"""Each part of the figures as Markdown, by name."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median

from benchmarks.blocks import ROOT
from benchmarks.harness import sample, sample_at
from benchmarks.job import job_figures
from benchmarks.kernels import enlarge_figures, kernel_figures, obvious_figures
from benchmarks.memory import memory_results, start_results
from benchmarks.network import network_figures, tile_figures
from benchmarks.reuse import reuse_figures
from benchmarks.roofline import peak_gmac_s, roofline_figures
from benchmarks.scaling import size_figures, tile_job_figures, worker_figures
from benchmarks.smoothing import smoothing_figures
from benchmarks.stages import stage_figures
from sfumato.stream.bench.facts import machine_line
from sfumato.stream.bench.plot import write_plot
from sfumato.stream.bench.results import figures
from sfumato.stream.bench.table import markdown_table, reasons, results_table

STYLES = ("toon", "toon-fast", "oil", "ukiyoe", "scream")
PLOT = ROOT / "docs" / "images" / "memory.png"
STAGE_FRAMES = 48
HELP_REPEATS = 5


def jobs() -> str:
    """Whole 720p jobs of every style beside the obvious script."""
    return _measured(
        "A 720p H.264 clip, file to file, `--preset superfast`, start-up included; the obvious",
        "script reads with OpenCV, resizes with Pillow, runs the same network at FP32 and writes",
        "with OpenCV:",
        markdown_table([job_figures(sample(), style) for style in STYLES]),
    )


def network() -> str:
    """The networks beside the peak of a plain matrix product."""
    peak = roofline_figures()
    return _measured(
        "Plain matrix products on one core:",
        markdown_table(peak),
        "The networks alone on one core, one tile as a 720p job takes it:",
        markdown_table(network_figures(peak_gmac_s(peak))),
        "`toon` at INT8 on tiles of other sizes:",
        markdown_table(tile_figures()),
    )


def kernels() -> str:
    """Gather, scatter and enlarging, beside a plain copy and beside OpenCV with NumPy."""
    return _measured(
        "A 1080p frame on one core:",
        markdown_table(kernel_figures()),
        markdown_table(obvious_figures()),
        "Smoothing and cut detection, a 720p frame in milliseconds:",
        markdown_table([smoothing_figures()]),
        "A frame painted at a smaller scale and brought back to full size:",
        markdown_table(enlarge_figures()),
    )


def stages() -> str:
    """Where the processor time of a job goes."""
    rows = stage_figures(sample_at("720p", STAGE_FRAMES))
    return _measured("`toon` at 720p:", markdown_table(rows))


def scaling() -> str:
    """Frame size, tile size, workers."""
    return _measured(
        "Frame size:",
        markdown_table(size_figures()),
        "Tile size, at 720p:",
        markdown_table(tile_job_figures()),
        "Workers, at 720p:",
        markdown_table(worker_figures()),
    )


def memory() -> str:
    """fps under memory limits, as a table and a plot."""
    results = memory_results()
    write_plot(results, PLOT, machine_line())
    for line in reasons(results.cells.values()):
        print(line, file=sys.stderr)
    return _measured(
        f"`toon`, `--preset superfast`; limits held by {results.held_by} without swap:",
        results_table(results),
    )


def start() -> str:
    """From the command to its first effect."""
    [result] = start_results().cells.values()
    seconds = {name: spread.median for name, spread in figures(result).items()}
    return _measured(
        f"`sfumato --help` takes {_help_s():.2f} s. From `sfumato run` to the first encoded 720p "
        f"frame: {seconds['warm_start_s']:.2f} s; the very first time on a machine, when kernels "
        f"are compiled and styles timed, {seconds['cold_start_s']:.1f} s."
    )


def reuse() -> str:
    """Painting only what changed, beside painting everything."""
    return _measured("`toon` at 720p, 300 frames:", markdown_table(reuse_figures()))


PARTS: dict[str, Callable[[], str]] = {
    "jobs": jobs,
    "network": network,
    "kernels": kernels,
    "stages": stages,
    "scaling": scaling,
    "memory": memory,
    "start": start,
    "reuse": reuse,
}


def _measured(*texts: str) -> str:
    """Paragraphs and tables, and what machine they were measured on."""
    paragraphs: list[str] = []
    for text in texts:
        if paragraphs and not text.startswith("|") and not paragraphs[-1].startswith("|"):
            paragraphs[-1] += f"\n{text}"
        else:
            paragraphs.append(text)
    return "\n\n".join([*paragraphs, f"<sub>{machine_line()}</sub>"])


def _help_s() -> float:
    """Seconds of the whole command, in fresh processes."""
    seconds = []
    for _ in range(HELP_REPEATS):
        started_s = time.perf_counter()
        subprocess.run([sys.executable, "-m", "sfumato", "--help"], check=True, capture_output=True)
        seconds.append(time.perf_counter() - started_s)
    return median(seconds)
