"""What other programs call: a live source, painted, as arrays that are fresh."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from functools import cache
from os import PathLike, fspath
from threading import Event
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from sfumato.stream.api import LookOptions
from sfumato.stream.convert import ToRgb
from sfumato.stream.errors import Stopped
from sfumato.stream.live.inputs import Input, find_input
from sfumato.stream.live.run import LiveRun
from sfumato.stream.live.settings import MAX_AGE_MS, LiveSettings, check_duration
from sfumato.stream.live.stats import LiveStats
from sfumato.stream.settings import PaintSettings, check_names


class Live:
    """A live run. Iterate over it, once, for painted pictures; other threads may turn its knobs."""

    def __init__(
        self, source: Input, settings: LiveSettings, duration_s: float | None, stop: Event | None
    ) -> None:
        check_duration(duration_s)
        self._source, self._settings, self._duration_s = source, settings, duration_s
        self._stop = stop or Event()
        self._run: LiveRun | None = None

    def __iter__(self) -> Generator[NDArray[np.uint8], None, None]:
        """uint8 (height, width, 3) RGB arrays that the caller may keep, the newest each time.

        What comes while the caller is busy is dropped. The size follows the source's. Ends with
        the source, the duration or :meth:`stop`; leaving the loop ends the run too.
        """
        to_rgb = cache(ToRgb)
        self._run = run = LiveRun(
            self._source, self._settings, duration_s=self._duration_s, stop=self._stop
        )
        with run, closing(run.pictures()) as pictures:
            try:
                for picture in pictures:
                    if picture is not None and not picture.held:
                        yield to_rgb(picture.frame.pixels)(picture.frame)
            except Stopped:
                return

    def switch(self, **changes: Any) -> None:
        """Change ``style``, ``strength``, ``smooth`` or ``scale`` (0: automatic) on the way.

        Raises :class:`SettingsError` and :class:`StyleError`, and ValueError outside the loop.
        """
        self._running().painter.switch(**changes)

    def stats(self) -> LiveStats:
        """How it goes, or went. Raises ValueError before the loop."""
        return self._running().painter.stats()

    def stop(self) -> None:
        """End the loop soon."""
        self._stop.set()

    def _running(self) -> LiveRun:
        if self._run is None:
            raise ValueError("nothing runs yet: iterate over the live run first")
        return self._run


def live(
    source: str | PathLike[str] | int = 0,
    *,
    on_frame: Callable[[NDArray[np.uint8]], object] | None = None,
    realtime: bool = False,
    size_px: tuple[int, int] | None = None,
    max_age_ms: float = MAX_AGE_MS,
    fps: float | None = None,
    scale: float | None = None,
    duration_s: float | None = None,
    stop: Event | None = None,
    **options: Unpack[LookOptions],
) -> Live:
    """Paint a camera, an address or a file now: ``for rgb in sfumato.live(0): show(rgb)``.

    Args:
        source: A camera's number, name or path; an address; a file, which plays at its own pace;
            ``lavfi:GRAPH`` for test pictures; ``-`` for y4m on stdin.
        on_frame: Called with each picture, on this thread, until the run ends; the loop is then
            over when this function returns.
        realtime: Play an address or stdin at the pace of its own times, as files are.
        size_px: (width, height) that a camera is asked for.
        max_age_ms: Oldest a picture should be when it is handed over; quality gives way.
        fps: Frames per second to hold, and the most to give; None holds 24 and gives all.
        scale: The size at which frames are painted, 0.1 to 1; None lets the governor choose.
        duration_s: Ends the run so long after the first picture.
        stop: Ends the run when another thread sets it.
        options: The fields of :class:`PaintSettings`.

    Raises:
        SettingsError, FileNotFoundError, SourceError: At once, or from the loop.
    """
    check_names(options, LookOptions.__annotations__)
    found = find_input(
        str(source) if isinstance(source, int) else fspath(source),
        realtime=realtime,
        size_px=size_px,
        fps=fps,
    )
    settings = LiveSettings(
        paint=PaintSettings(**options), scale=scale, max_age_ms=max_age_ms, fps=fps
    )
    run = Live(found, settings, duration_s, stop)
    if on_frame is not None:
        for picture in run:
            on_frame(picture)
    return run
