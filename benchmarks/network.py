"""The networks alone on one thread: INT8 beside FP32 and beside the processor's peak."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.harness import sample, time_in_turns
from sfumato.models.catalog import StyleFiles, find_style, list_styles
from sfumato.models.cores import usable_cores
from sfumato.models.head import read_spec
from sfumato.models.session import StyleSession, TileRunner
from sfumato.models.spec import computed_px
from sfumato.stream.api import prepare_job

TILES_PX = ((128, 128), (256, 256), (384, 384), (640, 384), (704, 768), (1344, 768), (1984, 1152))
"""From the smallest useful tile to a whole 1080p frame."""
ROUNDS = 9


def network_figures(peak_gmac_s: float, rounds: int = ROUNDS) -> list[dict[str, Any]]:
    """Best milliseconds of the tile that a 720p job takes, for every style that has both files."""
    both = [style for style in list_styles() if style.int8 and style.fp32]
    return [_compare(style, peak_gmac_s, rounds) for style in both]


def _compare(files: StyleFiles, peak_gmac_s: float, rounds: int) -> dict[str, Any]:
    wide, tall = prepare_job(sample(), "painted.mp4", style=files.name).forecast.plan.tile_px
    runners = {path.name: _runner(path, (wide, tall)) for path in files.paths}
    timings = time_in_turns({name: runner.run for name, runner in runners.items()}, rounds)
    int8, fp32 = (timings[path.name].best_ms for path in files.paths)
    assert files.int8 is not None
    spec = read_spec(files.int8)
    kmac = spec.kmac_per_pixel or 0.0
    speed = kmac * computed_px(wide, tall, spec.trim_px) / int8 / 1e3
    return {
        "style": files.name,
        "tile": f"{wide} × {tall}",
        "kMAC per pixel": kmac,
        "INT8 ms": int8,
        "FP32 ms": fp32,
        "times as fast": fp32 / int8,
        "INT8 GMAC/s": speed,
        "of the peak %": 100 * speed / peak_gmac_s,
    }


def tile_figures(style: str = "toon", rounds: int = ROUNDS) -> list[dict[str, Any]]:
    """Milliseconds and nanoseconds per pixel of one inference, tile by tile."""
    path = find_style(style).paths[0]
    runners = {f"{w} × {h}": (_runner(path, (w, h)), w * h) for w, h in TILES_PX}
    timings = time_in_turns({name: runner.run for name, (runner, _) in runners.items()}, rounds)
    return [
        {
            "tile": name,
            "ms": timings[name].best_ms,
            "ns per pixel": 1e6 * timings[name].best_ms / pixels,
        }
        for name, (_, pixels) in runners.items()
    ]


def _runner(path: Path, tile_px: tuple[int, int]) -> TileRunner:
    """One worker's tile, filled with grey."""
    session = StyleSession(path, *tile_px, intra_op_threads=1, workers=usable_cores())
    runner = session.runner()
    runner.input[...] = 100
    return runner
