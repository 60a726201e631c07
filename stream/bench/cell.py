"""Measure one cell: a first job, then timed ones, each a process under the cell's limit."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import Any, Literal, Self

from sfumato.stream.bench.clips import clip_at, duration_s
from sfumato.stream.bench.holder import Holder
from sfumato.stream.bench.leftovers import own_prefix, remove_folders
from sfumato.stream.bench.matrix import AS_IS, BenchSettings, Cell
from sfumato.stream.bench.process import Commands

Status = Literal["ok", "killed", "refused", "failed"]

TARGET = "painted.mp4"
"""What jobs write, in a folder of scratch files."""

FIRST_FRAMES = 2
"""Length of the first job of a cell, which fills the caches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of one cell."""

    cell: Cell
    status: Status
    reason: str = ""
    """Why there are no figures, in one line."""
    cold_status: Status | None = None
    """How the job with empty caches ended; None: not asked for."""
    cold_start_s: float | None = None
    """From that command to its first painted frame."""
    runs: list[dict[str, Any]] = field(default_factory=list)
    """The report of each timed job, and ``start_s``: from the command to the first frame."""


class CellRunner:
    """Measures cells one after the other. A context manager: it owns a folder of scratch files."""

    def __init__(
        self, source: Path, settings: BenchSettings, holder: Holder, clips: Path, stop: Event
    ) -> None:
        """``clips`` keeps the scaled clips; once ``stop`` is set, calls raise :class:`Stopped`."""
        self._source, self._settings, self._clips = source, settings, clips
        remove_folders(Path(tempfile.gettempdir()))
        self._scratch = tempfile.TemporaryDirectory(prefix=own_prefix())
        self._folder = Path(self._scratch.name)
        self._commands = Commands(holder, self._folder, stop)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._scratch.cleanup()

    def __call__(self, cell: Cell) -> Result:
        """Raises :class:`Stopped`, and what making the clip raises."""
        with self._caches() as caches:
            result = self._first(cell, caches)
            runs: list[dict[str, Any]] = []
            while result.status == "ok" and len(runs) < self._settings.runs:
                timed = self._job(cell, self._settings.frames, caches)
                result = replace(result, status=timed.status, reason=timed.reason)
                runs += timed.runs
        return replace(result, runs=runs if result.status == "ok" else [])

    def _first(self, cell: Cell, caches: str) -> Result:
        """Fill the caches. To compile takes memory of its own: who does not fit with empty caches
        may well fit with full ones."""
        first = self._job(cell, FIRST_FRAMES, caches)
        cold = first.status if self._settings.cold else None
        start_s = first.runs[0]["start_s"] if cold == "ok" else None
        if first.status in ("killed", "refused"):
            unlimited = self._job(replace(cell, limit="none"), FIRST_FRAMES, caches)
            first = replace(first, status=unlimited.status, reason=unlimited.reason)
        return Result(
            cell=cell,
            status=first.status,
            reason=first.reason,
            cold_status=cold,
            cold_start_s=start_s,
        )

    def _caches(self) -> AbstractContextManager[str]:
        """A folder, empty for each cell where cold starts are timed, else one for all."""
        if self._settings.cold:
            return tempfile.TemporaryDirectory(dir=self._folder)
        folder = self._folder / "caches"
        folder.mkdir(exist_ok=True)
        return nullcontext(str(folder))

    def _job(self, cell: Cell, frames: int, caches: str) -> Result:
        """One process; ``runs`` is its report if all went well."""
        report, target = self._folder / "report.json", self._folder / TARGET
        words = self._words(cell, frames)
        command = [*_sfumato(), "run", *words, "-o", str(target), "--overwrite", "--quiet"]
        command += ["--report", str(report)]
        started_s = time.time()
        ended = self._commands.run(command, _environment(caches), cell.limit_bytes)
        if ended.code == -signal.SIGKILL:
            reason = f"killed by the kernel at its limit of {cell.limit}"
            return Result(cell=cell, status="killed", reason=reason)
        if ended.code:
            return self._judged(cell, words, caches, ended.said or f"exit code {ended.code}")
        figures = json.loads(report.read_text())
        start_s = figures["started_unix_s"] - started_s + figures["first_frame_s"]
        return Result(cell=cell, status="ok", runs=[{**figures, "start_s": start_s}])

    def _judged(self, cell: Cell, words: Sequence[str], caches: str, said: str) -> Result:
        """A job that ended by itself was refused if the planner says that it cannot fit."""
        plan = self._commands.run([*_sfumato(), "plan", *words, "--json"], _environment(caches))
        with suppress(ValueError):
            if json.loads(plan.output)["fits"] is False:
                return Result(cell=cell, status="refused", reason=said)
        return Result(cell=cell, status="failed", reason=said)

    def _words(self, cell: Cell, frames: int) -> list[str]:
        """What `run` and `plan` take alike."""
        clip = clip_at(self._source, cell.size, self._settings.frames, self._clips)
        words = [str(clip), "--style", cell.style, "--precision", cell.precision]
        words += ["--preset", self._settings.preset]
        if cell.size == AS_IS or frames != self._settings.frames:
            words += ["--duration", f"{duration_s(clip, frames):.4f}"]
        return words if cell.limit_bytes is None else [*words, "--memory-limit", cell.limit]


def _sfumato() -> list[str]:
    """The command, which ends with this process."""
    return [sys.executable, "-m", "sfumato.stream.bench.job", str(os.getpid())]


def _environment(caches: str) -> dict[str, str]:
    """Kernels, stopwatch results and tuned plans of the measured jobs stay among themselves."""
    return {**os.environ, "NUMBA_CACHE_DIR": caches, "XDG_CACHE_HOME": caches}
