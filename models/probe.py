"""What a style's network costs here: memory and time for each pixel of a tile."""

from __future__ import annotations

import ctypes
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from sfumato.models.cache import Measurements, measurement_key
from sfumato.models.head import read_head, require_spec
from sfumato.models.session import StyleSession, TileRunner
from sfumato.models.spec import computed_px

PROBE_PX = (768, 512)
"""Tile of the measurement: large enough that activations outweigh what any session holds."""

_RUNS = 3
_LEAST_BYTES_PER_PX = 8.0
"""Input and output tensors and one layer between them: less is an error of measurement."""

_RANGES = {
    "bytes_per_px": (_LEAST_BYTES_PER_PX, 1e5),
    "fixed_bytes": (1, 2**36),
    "ms_per_mpx": (1e-3, 1e6),
    "more_bytes_per_px": (_LEAST_BYTES_PER_PX, 1e5),
}
"""A remembered cost outside of these was not measured: no network takes hours for a picture."""


@dataclass(frozen=True, slots=True)
class NetworkCost:
    """Costs of one model file on this machine."""

    bytes_per_px: float
    """Activations, input and output of one worker, per pixel of its tile."""
    fixed_bytes: int
    """What a session holds whatever its tile: weights, graph, code."""
    ms_per_mpx: float
    """One thread's time for a million computed pixels (see :func:`.spec.computed_px`)."""
    more_bytes_per_px: float
    """What a second worker at the same time adds: runs that meet leave holes between each other's
    activations, and so take more than one by itself."""


def network_cost(path: Path, *, provider: str = "cpu", cache: Path | None = None) -> NetworkCost:
    """Costs of one model file, measured once (a fifth of a second) and then remembered.

    Raises as :class:`~sfumato.models.session.StyleSession` does.
    """
    memory = Measurements("networks.json", cache)
    key = measurement_key([path], provider, "any shape", "two workers", "computed")
    known = memory.numbers(key, _RANGES)
    if known is not None:
        return NetworkCost(**{**known, "fixed_bytes": round(known["fixed_bytes"])})  # type: ignore[arg-type]
    cost = measure_network(path, provider)
    memory.put(key, asdict(cost))
    return cost


def measure_network(path: Path, provider: str = "cpu") -> NetworkCost:
    """Run one tile of the model and watch this process grow."""
    head = read_head(path)
    width_px, height_px = head.fixed_size_px or require_spec(head).least_tile_px(*PROBE_PX)
    trim_heap()
    before = private_bytes()
    with StyleSession(
        path, width_px, height_px, intra_op_threads=1, workers=1, provider=provider
    ) as session:
        runner = session.runner()
        for tensor in (runner.input, runner.output):
            tensor[...] = 0  # pages count once they are touched
        best_s = min(_run_s(runner) for _ in range(_RUNS))
        grown = private_bytes() - before
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(_run_often, (runner, session.runner())))
        grown_more = private_bytes() - before - grown
    del runner
    trim_heap()
    fixed = _FIXED_BYTES + 2 * path.stat().st_size  # the file's bytes, and the weights packed
    area = width_px * height_px
    computed = computed_px(width_px, height_px, require_spec(head).trim_px)
    per_px = round(max(_LEAST_BYTES_PER_PX, (grown - fixed) / area), 2)
    more_per_px = round(max(_LEAST_BYTES_PER_PX, grown_more / area), 2)
    return NetworkCost(per_px, fixed, round(best_s * 1e9 / computed, 3), more_per_px)


def _run_often(runner: TileRunner) -> None:
    for _ in range(2 * _RUNS):
        runner.run()


def _run_s(runner: TileRunner) -> float:
    """Time of one run: of the processor where it ran in this thread, which others do not disturb."""
    started_s, busy_s = time.perf_counter(), time.thread_time()
    runner.run()
    wall_s, busy_s = time.perf_counter() - started_s, time.thread_time() - busy_s
    return min(wall_s, busy_s) if busy_s > 0.01 * wall_s else wall_s


_FIXED_BYTES = 3 << 20
"""Graph, threads and allocator of a session, by its growth at 64x64 pixels."""


def private_bytes() -> int:
    """Resident bytes of this process that belong to no file."""
    import psutil

    info = psutil.Process().memory_info()
    return int(info.rss - getattr(info, "shared", 0))


def trim_heap() -> None:
    """Give freed memory back to the system, where the C library can."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
