"""The networks alone: INT8 beside FP32 on one tile, the two taking turns."""

from __future__ import annotations

import time
from typing import Any

from sfumato.models.catalog import StyleFiles, list_styles
from sfumato.models.cores import usable_cores
from sfumato.models.head import read_spec
from sfumato.models.session import StyleSession, TileRunner

TILE_PX = (1344, 768)
"""The tile that covers a 720p frame with its halo."""
ROUNDS = 9


def network_figures(threads: int = 1, rounds: int = ROUNDS) -> list[dict[str, Any]]:
    """Best milliseconds per tile of every style that has both files."""
    both = [style for style in list_styles() if style.int8 and style.fp32]
    return [_compare(style, threads, rounds) for style in both]


def _compare(files: StyleFiles, threads: int, rounds: int) -> dict[str, Any]:
    sessions = [
        StyleSession(path, *TILE_PX, intra_op_threads=threads, workers=usable_cores())
        for path in files.paths
    ]
    runners = [session.runner() for session in sessions]
    for runner in runners:
        runner.input[...] = 100
    times = [[_ms(runner) for runner in runners] for _ in range(rounds)]
    int8, fp32 = (min(column) for column in zip(*times, strict=True))
    spec = read_spec(files.paths[0])
    macs = (spec.kmac_per_pixel or 0) * 1e3 * TILE_PX[0] * TILE_PX[1]
    return {
        "style": files.name,
        "kMAC/pixel": spec.kmac_per_pixel,
        "INT8 ms": int8,
        "FP32 ms": fp32,
        "ratio": fp32 / int8,
        "INT8 GMAC/s": macs / int8 / 1e6,
    }


def _ms(runner: TileRunner) -> float:
    started_s = time.perf_counter()
    runner.run()
    return 1e3 * (time.perf_counter() - started_s)
