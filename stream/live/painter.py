"""The engine of everything live: frames are offered, the newest is painted, the fresh are taken."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from threading import Event, Lock, Thread
from typing import Self

from sfumato.kernels.mix import mix
from sfumato.models.cores import usable_cores
from sfumato.stream.convert import Recode
from sfumato.stream.errors import SfumatoError
from sfumato.stream.frame import Frame
from sfumato.stream.live.age import AgeMeter
from sfumato.stream.live.beat import Beat
from sfumato.stream.live.engine import Engine, EngineKey
from sfumato.stream.live.engines import Engines
from sfumato.stream.live.fade import Fade
from sfumato.stream.live.governor import Governor, Sample
from sfumato.stream.live.levels import Level, levels_for
from sfumato.stream.live.newest import Newest
from sfumato.stream.live.settings import LiveSettings
from sfumato.stream.live.stats import Change, Counts, Drops, LiveStats
from sfumato.stream.prepare import style_errors
from sfumato.stream.report import Report, StageTimes

MOST_FPS = 60.0
"""Pictures per second that are painted at most unless more are asked for: what screens show."""

WORKER_STAGES = ("gather", "infer", "scatter")
"""Stages that all workers share. They grow with the working size; smoothing does too, but what
enlarging takes beside it does not."""


@dataclass(frozen=True, slots=True)
class Painted:
    """A painted picture, which whoever took it may keep."""

    frame: Frame
    """Nobody writes to its planes any more."""
    source: Frame
    """What it was painted from."""
    captured_s: float
    """When the source was taken, in seconds of ``time.monotonic``."""
    painted_s: float
    """When the painting was done."""
    held: bool = False
    """It was shown before, and is shown again because no newer one comes."""


class LivePainter:
    """Paints the newest of the frames that are offered. A context manager.

    ``offer`` (any thread) → newest → the painter's thread and its workers → newest → ``take``.
    Frames leave in the order in which they came. When another size or format of frames comes, or
    another style or scale is wanted, the engine for it is made in the background while the old
    one goes on.
    """

    def __init__(
        self, settings: LiveSettings | None = None, note: Callable[[str], None] = lambda _: None
    ) -> None:
        """``note`` is told, on another thread, what takes long. Raises :class:`StyleError` for a
        style that is not there."""
        self._settings = settings = settings or LiveSettings()
        self._served = settings
        """What was asked for when that could last be had."""
        with style_errors():
            levels = levels_for(settings.paint.style, settings.scale)
        self._governor = Governor(
            levels, max_age_s=settings.max_age_ms / 1e3, least_fps=settings.least_fps
        )
        self._times = StageTimes()
        self._engines = Engines(self._times, note)
        self._ready = Event()
        """The first frame was painted, or made ready for, or never will be."""
        self._fade, self._beat, self._recode = Fade(), Beat(), cache(Recode)
        self._in: Newest[tuple[Frame, float | None]] = Newest()
        """Frames and when they were taken; None for one that is only to be made ready for."""
        self._out: Newest[Painted] = Newest()
        self.ages = AgeMeter()
        """Ages of the pictures when they were taken."""
        self._drops, self._counts = Drops(), Counts()
        self._changes: deque[Change] = deque(maxlen=100)
        self._error: BaseException | None = None
        self._unpainted = 0
        """Frames that wait or are being painted."""
        self._started_s = time.monotonic()
        self._lock = Lock()
        """Guards the settings, the governor, the changes and the count of the unpainted."""
        self._switching = Lock()
        """Held by whoever changes the settings."""
        self._thread = Thread(target=self._run, name="painter", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def offer(self, frame: Frame, captured_s: float) -> None:
        """Hand over a frame taken at ``captured_s`` (``time.monotonic``). Never waits.

        A frame that is still waiting is dropped for it. The planes must stay as they are.
        """
        with self._lock:
            self._governor.arrived(captured_s)
            interval_s = self._interval_s()
        if not self._beat.admits(captured_s, interval_s):
            self._drops.add("over the frame rate")
        elif self._in.put((frame, captured_s)):
            self._drops.add("painter busy")
        else:
            self._count(1)

    def prepare(self, frame: Frame) -> None:
        """Wait until frames like this one can be painted at once, or the painter is closed."""
        self._in.put((frame, None))
        self._count(1)
        self._ready.wait()

    def take(self, timeout_s: float) -> Painted | None:
        """The next picture, in order; None where none comes in time or the painter is closed.

        Raises what went wrong with painting, such as :class:`StyleError`.
        """
        painted = self._out.take(timeout_s)
        if painted is not None:
            self.ages.note(painted.captured_s)
        elif self._error is not None:
            raise self._error
        return painted

    def switch(
        self,
        *,
        style: str | None = None,
        strength: float | None = None,
        smooth: float | None = None,
        scale: float | None = None,
    ) -> None:
        """Change how is painted, as soon as that is ready; None leaves a setting as it is.

        ``scale`` 0 gives the choice of the scale back to the governor. Raises
        :class:`SettingsError` and :class:`StyleError`.
        """
        with self._switching:
            self._want(self._settings.changed(style, strength, smooth, scale))

    def stats(self) -> LiveStats:
        """How it goes."""
        fps, ages = self.ages.recent()
        with self._lock:
            paint, changes = self._settings.paint, [*self._changes]
        engine = self._engines.present
        present = paint if engine is None else engine.key.settings
        return LiveStats(
            fps=fps,
            age_ms=ages,
            shown=self.ages.shown,
            dropped=self._drops.to_dict(),
            stage_ms=self._times.per_frame_ms(self._counts.frames),
            style=present.style,
            strength=paint.strength,
            scale=present.scale,
            tiles_run=self._counts.tiles_run,
            tiles_reused=self._counts.tiles_reused,
            patches_run=self._counts.patches_run,
            frames_reused=self._counts.frames_reused,
            reused=self._counts.pixels_reused / max(1, self._counts.frames),
            changes=changes,
        )

    @property
    def idle(self) -> bool:
        """All that was offered is painted, or dropped, and taken."""
        return self._unpainted == 0 and not self._out.waiting

    @property
    def settings(self) -> LiveSettings:
        """What was asked for last."""
        return self._settings

    def describe(self, report: Report) -> None:
        """Say in a report how is painted: style, precision, provider, plan, colour."""
        if self._engines.present is not None:
            ours = self._engines.present.report
            report.style, report.precision = ours.style, ours.precision
            report.precision_reason, report.provider = ours.precision_reason, ours.provider
            report.plan, report.color = ours.plan, ours.color
            report.noise_codes, report.memory_limit_bytes = (
                ours.noise_codes,
                ours.memory_limit_bytes,
            )
            report.warnings += ours.warnings

    def close(self) -> None:
        """Stop painting and join every thread. May be called more than once."""
        self._in.close()
        self._thread.join()

    def _want(self, after: LiveSettings) -> None:
        before = self._settings
        with style_errors():  # reads files: nobody else should wait for that
            levels = levels_for(after.paint.style, after.scale)
        with self._lock:
            self._settings = after
            if (after.paint.style, after.scale) != (before.paint.style, before.scale):
                self._governor.use(levels)

    def _count(self, step: int) -> None:
        with self._lock:
            self._unpainted += step

    def _interval_s(self) -> float:
        """Least time between frames that are painted."""
        interval_s = 1 / (self._settings.fps or MOST_FPS)
        every, source_fps = self._governor.level.every, self._governor.source_fps
        return max(interval_s, every / source_fps) if every > 1 and source_fps else interval_s

    def _run(self) -> None:
        try:
            while (offered := self._in.take()) is not None and not self._in.closed:
                self._paint(*offered)
                self._ready.set()
                self._count(-1)
        except BaseException as exc:  # noqa: BLE001 - raised by take()
            self._error = exc
        finally:
            self._ready.set()
            self._out.close()
            self._engines.close()

    def _paint(self, frame: Frame, captured_s: float | None) -> None:
        with self._lock:
            level, wanted = self._governor.level, self._settings
        paint = wanted.paint
        settings = replace(paint, style=level.style, scale=level.scale, strength=1.0)
        size_px = frame.width_px, frame.height_px
        key = EngineKey(*size_px, frame.pixels, settings, usable_cores())
        engine = self._engine_for(key, frame, wanted)
        if captured_s is None:
            return
        if engine is None:
            self._drops.add("preparing")
            return
        started_s, scaled_s = time.monotonic(), self._scaled_s(engine)
        with self._counts.counting(engine.report):
            picture = self._finished(frame, engine(frame), paint.strength)
        done_s = time.monotonic()
        if self._out.put(Painted(self._fade(picture), frame, captured_s, done_s)):
            self._drops.add("viewer busy")
        busy_s = done_s - started_s
        scaled_s = min(self._scaled_s(engine) - scaled_s, busy_s)
        if engine.key == key:
            self._govern(level, Sample(done_s, done_s - captured_s, busy_s, scaled_s, key.cores))

    def _finished(self, source: Frame, painting: Frame, strength: float) -> Frame:
        """A copy of the painting, mixed with its source as strongly as asked for."""
        planes = tuple(plane.copy() for plane in painting.planes)
        if strength != 1:
            below = source.planes
            if source.pixels != painting.pixels:
                below = self._recode(source.pixels, painting.pixels)(source)
            mix(below, planes, strength, planes)
        return replace(painting, planes=planes, side_packets=(), keep=None)

    def _scaled_s(self, engine: Engine) -> float:
        """Seconds spent so far with what grows with the working size, as the clock goes."""
        spent_ms = self._times.per_frame_ms(1)
        return sum(spent_ms[stage] for stage in WORKER_STAGES) / engine.workers / 1e3

    def _govern(self, level: Level, sample: Sample) -> None:
        with self._lock:
            if level != self._governor.level:  # a caller changed it meanwhile
                return
            change = self._governor.painted(sample)
            if change is not None:
                self._changes.append(Change(time.monotonic() - self._started_s, change))

    def _engine_for(self, key: EngineKey, frame: Frame, wanted: LiveSettings) -> Engine | None:
        """What paints this frame; None where it grew old meanwhile and a newer one is there."""
        before, asked_s = self._engines.present, time.monotonic()
        try:
            engine = self._engines.choose(key, frame, lambda: self._in.closed)
        except SfumatoError as exc:
            engine = self._stay(exc, frame, key, wanted)
        if engine is not None and engine.key == key:
            self._served = wanted
        if engine is not before:
            self._fade.begin()
        waited = time.monotonic() - asked_s > 1 / MOST_FPS
        return None if waited and self._in.waiting else engine

    def _stay(
        self, error: SfumatoError, frame: Frame, key: EngineKey, wanted: LiveSettings
    ) -> Engine:
        """What cannot be had leaves the present engine, and what was asked for when it could be
        had; raises where there is none."""
        present = self._engines.present
        if present is None or not present.key.fits(frame):
            raise error
        self._note(f"stays with {present.key.settings.style}: {error}")
        with self._switching:
            served, now = self._served, self._settings
            if served.look == wanted.look:  # the governor's own wish
                with self._lock:
                    self._governor.leave_out(key.settings.style, key.settings.scale)
            elif now.look == wanted.look:
                paint = replace(served.paint, strength=now.paint.strength)
                self._want(replace(served, paint=paint))
        return present

    def _note(self, text: str) -> None:
        with self._lock:
            self._changes.append(Change(time.monotonic() - self._started_s, text))
