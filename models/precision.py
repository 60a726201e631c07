"""INT8 or FP32: INT8 only where it is faster here and its picture is right."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.models.cache import Measurements, measurement_key
from sfumato.models.catalog import StyleFiles
from sfumato.models.errors import ModelError
from sfumato.models.head import read_head, require_spec
from sfumato.models.session import StyleSession, TileRunner
from sfumato.models.spec import Precision
from sfumato.models.tensors import to_picture, to_tensor

MIN_PSNR_DB = 25.0
"""INT8 farther than this from FP32 on the test picture is broken (saturated sums give 10–20 dB)."""

PROBE_PX = 256
"""The stopwatch's tile is at most this wide and high: convolutions cost the same per pixel."""

_MIN_ROUNDS, _MAX_ROUNDS, _BUDGET_S = 2, 8, 0.5

_RANGES = {"ms_int8": (1e-4, 1e7), "ms_fp32": (1e-4, 1e7), "psnr_db": (0.0, 99.0)}
"""A remembered trial outside of these was not measured."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What one comparison of a style's two files found on this machine."""

    ms_int8: float
    """Best time of one run on the probe tile, in milliseconds."""
    ms_fp32: float
    psnr_db: float
    """Likeness of the two painted test pictures; infinite (stored as 99) where equal."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The file to run, and why."""

    path: Path
    precision: Precision
    reason: str
    """One clause for the report."""
    ms_int8: float | None = None
    ms_fp32: float | None = None


Compare = Callable[[Path, Path, int, int, int, str], Trial]
"""How two files are compared: INT8, FP32, tile width and height in pixels, threads, provider."""


def pick_precision(
    files: StyleFiles,
    wanted: Literal["auto", "int8", "fp32"],
    width_px: int = PROBE_PX,
    height_px: int = PROBE_PX,
    *,
    intra_op_threads: int = 1,
    provider: str = "cpu",
    compare: Compare | None = None,
    cache: Path | None = None,
) -> Choice:
    """Choose the file of ``files`` to run on tiles of ``width_px`` × ``height_px``.

    ``auto`` takes INT8 where a comparison on this machine says that it is faster and right, which
    takes up to a second the first time and is then remembered in ``cache`` (by default
    ``precision.json`` in the user's cache folder). Raises :class:`ModelError` where the wanted
    file is missing or cannot run.
    """
    if wanted != "auto":
        return _as_wanted(files, wanted)
    if files.int8 is None or files.fp32 is None:
        only: Precision = "fp32" if files.int8 is None else "int8"
        return _as_wanted(
            files, only, f"the style has no {'int8' if only == 'fp32' else 'fp32'} file"
        )
    size = _probe_size(files.int8, width_px, height_px)
    memory = Measurements("precision.json", cache)
    key = measurement_key(files.paths, size, intra_op_threads, provider)
    known = memory.numbers(key, _RANGES)
    if known is not None:
        trial = Trial(**known)
    else:
        trial = (compare or run_trial)(files.int8, files.fp32, *size, intra_op_threads, provider)
        memory.put(key, asdict(trial))
    return _judge(files.int8, files.fp32, trial)


def _as_wanted(files: StyleFiles, wanted: Precision, reason: str = "as asked") -> Choice:
    path = files.int8 if wanted == "int8" else files.fp32
    if path is None:
        raise ModelError(
            f"style {files.name!r} has no {wanted} file "
            f"(only {', '.join(path.name for path in files.paths)}); use --precision auto"
        )
    return Choice(path, wanted, reason)


def _judge(int8: Path, fp32: Path, trial: Trial) -> Choice:
    times = f"{trial.ms_int8:.1f} ms, FP32 {trial.ms_fp32:.1f} ms"
    if trial.psnr_db < MIN_PSNR_DB:
        reason = f"INT8 is wrong on this CPU ({trial.psnr_db:.0f} dB from FP32)"
        return Choice(fp32, "fp32", reason, trial.ms_int8, trial.ms_fp32)
    if trial.ms_int8 >= trial.ms_fp32:
        return Choice(fp32, "fp32", f"INT8 is slower here: {times}", trial.ms_int8, trial.ms_fp32)
    return Choice(int8, "int8", f"INT8 is faster here: {times}", trial.ms_int8, trial.ms_fp32)


def _probe_size(path: Path, width_px: int, height_px: int) -> tuple[int, int]:
    head = read_head(path)
    size_px = min(width_px, PROBE_PX), min(height_px, PROBE_PX)
    return head.fixed_size_px or require_spec(head).least_tile_px(*size_px)


def run_trial(
    int8: Path, fp32: Path, width_px: int, height_px: int, threads: int, provider: str
) -> Trial:
    """Run both files in turn on one picture, for the likeness and the best times."""
    picture = probe_picture(width_px, height_px)
    with ExitStack() as stack:
        sessions = [
            stack.enter_context(
                StyleSession(
                    path,
                    width_px,
                    height_px,
                    intra_op_threads=threads,
                    workers=1,
                    provider=provider,
                )
            )
            for path in (int8, fp32)
        ]
        runners = [session.runner() for session in sessions]
        painted = []
        for session, runner in zip(sessions, runners, strict=True):
            runner.input[...] = to_tensor(picture, session.spec)
            runner.run()
            painted.append(to_picture(runner.output, session.spec))
        trim_px = max(session.spec.trim_px for session in sessions)
        painted = [
            _inner(picture, trim_px - session.spec.trim_px)
            for picture, session in zip(painted, sessions, strict=True)
        ]
        ms_int8, ms_fp32 = best_ms(runners)
    return Trial(ms_int8, ms_fp32, psnr_db(*painted))


def _inner(picture: NDArray[np.uint8], margin_px: int) -> NDArray[np.uint8]:
    rows, columns = (slice(margin_px, side - margin_px) for side in picture.shape[:2])
    return picture[rows, columns]


def best_ms(
    runners: list[TileRunner], clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Best run of each in milliseconds, taken in turns so that a busy moment hits all alike."""
    best = [float("inf")] * len(runners)
    start = clock()
    for turn in range(_MAX_ROUNDS):
        if turn >= _MIN_ROUNDS and clock() - start > _BUDGET_S:
            break
        for index, runner in enumerate(runners):
            before = clock()
            runner.run()
            best[index] = min(best[index], (clock() - before) * 1e3)
    return best


def probe_picture(width_px: int, height_px: int) -> NDArray[np.uint8]:
    """Smooth colours, hard edges and saturated patches, uint8 (rows, columns, 3)."""
    y, x = np.mgrid[:height_px, :width_px].astype(np.float32)
    waves = [np.sin(x / 23 + c) + np.cos(y / 31 - 2 * c) for c in range(3)]
    picture = 127.5 + 60 * np.dstack(waves)
    picture[(x // 32 + y // 32) % 4 == 0] = (255, 255, 0)
    picture[(x // 32 + y // 32) % 5 == 0] *= 0.2
    return picture.clip(0, 255).astype(np.uint8)


def psnr_db(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> float:
    """Peak signal-to-noise ratio of two pictures in dB; 99 for equal ones."""
    error = float(np.mean((a.astype(np.float32) - b.astype(np.float32)) ** 2))
    return 99.0 if error == 0 else min(99.0, float(10 * np.log10(255**2 / error)))
