"""Look into a clip before it is painted: how much of it changes from frame to frame."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from time import thread_time

from sfumato.models.head import read_head
from sfumato.stream.buffers import PlanePool, release
from sfumato.stream.changes import Changes
from sfumato.stream.convert import resize
from sfumato.stream.errors import SourceError
from sfumato.stream.frame import Frame, VideoInfo
from sfumato.stream.media.runs import Runs
from sfumato.stream.prepare import Prepared, paint_size
from sfumato.stream.settings import PaintSettings
from sfumato.stream.temporal.hold import Hold, Seen
from sfumato.stream.temporal.repaint import Portion, Repaint
from sfumato.stream.warm import load_rest

RUNS, RUN_FRAMES = 4, 13
"""Places that are looked into, and frames in a row there: each is held against the one before, so
that the first one tells nothing."""

NOISE_FRAMES = 4
"""Frames that come before any is counted: what only noise changes is not known earlier."""

SKIP_S = 0.1
"""What may be spent on decoding from a keyframe on to where a run is to begin."""

LOOK_S, LEAST_FRAMES = 1.2, 4
"""After so much time on the processor runs have no more than so many frames."""


def look(
    path: Path, info: VideoInfo, start_s: float, prepared: Prepared, settings: PaintSettings
) -> Changes | None:
    """What changes in a file's film from ``start_s`` on, on a few runs of frames spread over it; on
    its first frames where it cannot be sought in, or does not say how long it is.

    None where no frame could be held against another.
    """
    load_rest(info.pixels, scaled=False, mixed=False)
    for places in (_places(info, start_s), [(0.0, RUNS * RUN_FRAMES)]):
        with closing(_Looking(info, prepared, settings)) as looking:
            looking.at(path, places)
        if (found := looking.changes()) is not None:
            return found
    return None


def _places(info: VideoInfo, start_s: float) -> list[tuple[float, int]]:
    """Where runs begin, in seconds, and of how many frames they are."""
    total = RUNS * RUN_FRAMES
    if info.frames_estimate is None or info.frame_rate is None:
        return [(start_s, total)]
    if info.frames_estimate <= total:
        return [(start_s, info.frames_estimate)]
    length_s = float(info.frames_estimate / info.frame_rate)
    return [(start_s + length_s * (run + 0.5) / RUNS, RUN_FRAMES) for run in range(RUNS)]


@dataclass(frozen=True, slots=True)
class _Looked:
    """One frame beside the one before."""

    portion: Portion
    cost: float
    decode_s: float
    hold_s: float


class _Looking:
    """Frames in runs → :class:`Changes`, by the hold and the choice of portions that a job has."""

    def __init__(self, info: VideoInfo, prepared: Prepared, settings: PaintSettings) -> None:
        self._info, self._spec, self._reuse = info, prepared.spec, settings.reuse == "auto"
        size_px = paint_size(info, settings.scale)
        self._small = None if settings.scale == 1 else PlanePool(*size_px, info.pixels)
        self._hold = Hold(still=settings.hold == "auto")
        any_size = read_head(prepared.choice.path).fixed_size_px is None
        plan = prepared.forecast.plan
        self._repaint = Repaint(plan, size_px, prepared.spec, on=True, patches=any_size)
        self._repaint.balance.second_per_px = prepared.work.network.ms_per_mpx * 1e-9
        self._frames = 0
        self._looked: list[_Looked] = []

    def close(self) -> None:
        """Let go of the last frame."""
        self._hold.close()

    def at(self, path: Path, places: list[tuple[float, int]]) -> None:
        """Look at a run of frames from each place on, as far as the file can be read."""
        began_s = thread_time()
        with suppress(SourceError), closing(Runs(path)) as runs:
            for number, (time_s, frames) in enumerate(places, 1):
                run = runs.at(time_s, frames, skip_s=SKIP_S)
                self._run(run, began_s + LOOK_S * number / len(places))

    def _run(self, frames: Iterator[Frame], until_s: float) -> None:
        """One run; it ends when the thread's clock says ``until_s``."""
        clock_s = thread_time()
        for number, frame in enumerate(frames):
            if not self._fits(frame):
                return
            decode_s = thread_time() - clock_s
            working = self._working(frame)
            clock_s = thread_time()
            seen = self._hold(working)
            portion = self._repaint(seen)
            self._frames += 1
            if number > 0 and self._frames > NOISE_FRAMES:
                hold_s = thread_time() - clock_s
                self._looked.append(_Looked(portion, self._cost(seen, portion), decode_s, hold_s))
            release(seen.frame)
            clock_s = thread_time()
            if clock_s > until_s and number + 1 >= LEAST_FRAMES:
                return

    def changes(self) -> Changes | None:
        """What was found."""
        looked = self._looked
        if not looked:
            return None
        moving = fmean(float(one.portion.fresh.mean()) for one in looked)
        return Changes(
            frames=len(looked),
            moving=moving,
            painted=moving if self._reuse else 1.0,
            repeated=fmean(not one.portion.tiles for one in looked) if self._reuse else 0.0,
            cost=fmean(one.cost for one in looked) if self._reuse else 1.0,
            decode_ms=1e3 * fmean(one.decode_s for one in looked),
            hold_ms=1e3 * fmean(one.hold_s for one in looked),
        )

    def _fits(self, frame: Frame) -> bool:
        """False behind a change of size or format in mid-stream."""
        size_px = (self._info.width_px, self._info.height_px)
        return frame.pixels == self._info.pixels and (frame.width_px, frame.height_px) == size_px

    def _working(self, frame: Frame) -> Frame:
        if self._small is None:
            return frame
        lease = self._small.lease()
        resize(frame.planes, lease.planes)
        return replace(frame, planes=lease.planes, keep=lease)

    def _cost(self, seen: Seen, portion: Portion) -> float:
        """Painting a portion, against painting the whole frame."""
        trim_px = self._spec.trim_px
        return portion.cost_px(trim_px) / self._repaint.whole(seen).cost_px(trim_px)
