"""Progress on stderr: frames per second, time left, and the stage that costs most."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.stream.report import Progress

_REFRESH_S = 0.1


@contextmanager
def progress_bar(quiet: bool) -> Generator[Callable[[Progress], None] | None, None, None]:
    """Give a function to call after each frame; None where nothing is to be shown."""
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[fps]:.1f} fps"),
        TimeRemainingColumn(),
        TextColumn("slowest: {task.fields[slowest]}"),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task("preparing", total=None, fps=0.0, slowest="-")
    shown_s = 0.0

    def show(progress: Progress) -> None:
        nonlocal shown_s
        if (now_s := time.monotonic()) - shown_s < _REFRESH_S:
            return
        shown_s = now_s
        bar.update(
            task,
            description="painting",
            completed=progress.frames,
            total=progress.frames_estimate,
            fps=progress.fps,
            slowest=progress.slowest_stage or "-",
        )

    with bar:
        yield show
