"""How speed follows the size of frames, the size of tiles and the number of workers."""

from __future__ import annotations

from typing import Any

from benchmarks.harness import run_job, sample_at
from sfumato.models.cores import usable_cores

SIZES = ("360p", "540p", "720p", "1080p", "1440p", "2160p")
TILES = ("256x256", "384x384", "640x384", "704x768", "1344x768")
REPEATS = 2
FEWEST_FRAMES, MOST_FRAMES = 24, 120
"""Frames of the largest and the smallest sizes: short jobs are mostly their beginning and end."""
BASE = "720p"


def size_figures() -> list[dict[str, Any]]:
    """Steady fps, pixels per second beside those at 720p, and peak memory, size by size."""
    best = {size: _best(size) for size in SIZES}
    speeds = {size: run["steady_fps"] * _megapixels(size) for size, run in best.items()}
    return [
        {
            "size": size,
            "fps": run["steady_fps"],
            "megapixels per s": speeds[size],
            f"beside {BASE} %": 100 * (speeds[size] / speeds[BASE] - 1),
            "peak MiB": run["peak_rss_bytes"] / 2**20,
            "tile": run["plan"]["tile"],
        }
        for size, run in best.items()
    ]


def tile_job_figures() -> list[dict[str, Any]]:
    """Steady fps of 720p jobs that are cut up in a given way."""
    return [
        {"--tile": tile, "tiles per frame": run["plan"]["tiles_per_frame"],
         "fps": run["steady_fps"], "peak MiB": run["peak_rss_bytes"] / 2**20}
        for tile in TILES
        for run in [_best(BASE, "--tile", tile)]
    ]  # fmt: skip


def worker_figures() -> list[dict[str, Any]]:
    """Steady fps of 720p jobs with one worker, two, and so on up to twice the cores."""
    counts = sorted({1, 2, usable_cores(), 2 * usable_cores()})
    return [
        {"--workers": count, "fps": run["steady_fps"], "threads each": run["plan"]["intra_op"],
         "peak MiB": run["peak_rss_bytes"] / 2**20}
        for count in counts
        for run in [_best(BASE, "--workers", str(count))]
    ]  # fmt: skip


def _best(size: str, *options: str) -> dict[str, Any]:
    """The fastest of some runs: other programs only ever slow one down."""
    as_long = FEWEST_FRAMES * _megapixels(SIZES[-1]) / _megapixels(size)
    clip = sample_at(size, min(MOST_FRAMES, int(as_long)))
    runs = [run_job(clip, *options) for _ in range(REPEATS)]
    return max(runs, key=lambda run: float(run["steady_fps"]))


def _megapixels(size: str) -> float:
    tall = int(size.removesuffix("p"))
    return tall * round(tall * 16 / 9 / 2) * 2 / 1e6
