"""From the frames of a source to painted frames: the order of things, on one page."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from threading import Event
from typing import Self

from numba.core.event import TimingListener, install_listener

from sfumato.kernels._jit import cache_folder
from sfumato.kernels.formats import PixelFormat
from sfumato.models.probe import trim_heap
from sfumato.models.session import StyleSession
from sfumato.stream.buffers import PlanePool
from sfumato.stream.convert import Enlarger, Recode, resize
from sfumato.stream.flow import Depth, prefetch, timed
from sfumato.stream.footprint import release_startup_pages
from sfumato.stream.frame import Frame, Plane, VideoInfo
from sfumato.stream.plan import Plan
from sfumato.stream.prepare import Output, Prepared, paint_size, prepare, style_errors
from sfumato.stream.report import Report, StageTimes
from sfumato.stream.settings import PaintSettings
from sfumato.stream.steer import Steering
from sfumato.stream.stylizer import Painting, Stylizer
from sfumato.stream.temporal.hold import Hold, Seen
from sfumato.stream.temporal.smooth import Smoother
from sfumato.stream.warm import load_rest
from sfumato.stream.watch import Watch

SETTLED_FRAMES = 3
"""By then the last kernel has been loaded, or compiled."""


class Pipeline:
    """Paints the frames of one source. A context manager; who opens it closes it.

    decode thread → [queue] → hold → workers paint tiles → smoothing, size, strength (caller's
    thread).
    """

    def __init__(
        self,
        info: VideoInfo,
        pixels: PixelFormat,
        settings: PaintSettings,
        report: Report,
        times: StageTimes,
        stop: Event | None = None,
        *,
        frames_in_flight: int | None = None,
        prepared: Prepared | None = None,
    ) -> None:
        """``pixels`` is the format of painted frames; ``report`` is filled in as work goes on.

        Once ``stop`` is set, this and :meth:`paint` raise :class:`Stopped`. ``frames_in_flight`` 1
        gives each painting before the next frame is asked for; None suits the plan. ``prepared`` is what
        was decided before; None decides here. Raises :class:`BudgetError` where nothing fits.
        """
        self._stop = stop
        self._info, self._settings, self._report, self._times = info, settings, report, times
        self._width_px, self._height_px = paint_size(info, settings.scale)
        prepared = (prepared or prepare(info, Output(pixels), settings)).checked()
        self.plan = prepared.forecast.plan
        self._prepared = prepared
        if frames_in_flight is not None:
            self.plan = replace(self.plan, frames_in_flight=frames_in_flight)
        release_startup_pages()
        compiling = TimingListener()  # type: ignore[no-untyped-call]
        with (
            ExitStack() as stack,
            style_errors(),
            install_listener("numba:compile", compiling),
        ):
            self._pool = PlanePool(self._width_px, self._height_px, pixels)
            self._full = PlanePool(info.width_px, info.height_px, pixels)
            self._small = PlanePool(self._width_px, self._height_px, info.pixels)
            self._stylizer = stack.enter_context(
                Stylizer(
                    partial(open_session, prepared.choice.path, settings.provider),
                    prepared.spec,
                    info.pixels,
                    self._pool,
                    self.plan,
                    times,
                    stop,
                    reuse=settings.reuse == "auto",
                )
            )
            for found in {info.pixels.bits: info.pixels, pixels.bits: pixels}.values():
                load_rest(found, stop, scaled=settings.scale != 1, mixed=settings.strength != 1)
            self._closing = stack.pop_all()
        strength = prepared.spec.smooth if settings.smooth is None else settings.smooth
        self._smoother = Smoother(strength)
        self._hold = Hold(still=settings.hold == "auto")
        self._enlarge = Enlarger(self._full)
        self._mixed: tuple[Plane, ...] | None = None
        self._recode = cache(Recode)
        self._describe(prepared, self._stylizer.provider)
        if prepared.cold and compiling.done:
            report.warnings.append(_compiled(compiling.duration))
        release_startup_pages()  # else the first frames come on top of what loading took

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Join the workers and free the session."""
        self._closing.close()

    def _describe(self, prepared: Prepared, provider: str) -> None:
        report, pixels = self._report, self._info.pixels
        report.style = prepared.spec.name
        report.precision = prepared.choice.precision
        report.precision_reason = prepared.choice.reason
        report.provider = provider
        report.plan = self.plan.to_dict()
        report.predicted_peak_rss_bytes = prepared.forecast.peak_rss_bytes
        report.memory_limit_bytes = prepared.forecast.limit_bytes
        report.color = {
            "matrix": pixels.matrix,
            "range": "full" if pixels.full_range else "limited",
            "guessed": self._info.guessed_colour,
        }

    def paint(self, frames: Iterable[Frame]) -> Generator[Frame, None, None]:
        """Yield painted frames in order; each is valid until the next one is asked for."""
        originals: deque[Frame] = deque()
        decoded = timed(frames, self._times.adder("decode"))
        depth = Depth(self.plan.queue_frames)
        watch = Watch(self._prepared.forecast.limit_bytes)
        steering = Steering(self._prepared, self.plan, self._report, watch)
        with (
            style_errors(),
            closing(prefetch(decoded, depth, "decode", self._stop)) as ahead,
            closing(self._stylizer.paint(self._working(ahead, originals))) as painted,
        ):
            for number, painting in enumerate(painted):
                if number == SETTLED_FRAMES:
                    release_startup_pages()
                    self._remember()
                self._count(painting)
                original = originals.popleft()
                with self._times.stage("smooth"):
                    seen, fresh = painting.seen, painting.portion.fresh
                    smoothed = self._smoother(
                        painting.frame, seen.change, fresh, cut=seen.cut, variance=seen.variance
                    )
                    result = self._finished(original, smoothed)
                yield replace(result, side_packets=original.side_packets)
                painting.release()
                if (plan := steering.next_plan()) is not None:
                    self._replan(plan, depth)
        self._remember()

    def _remember(self) -> None:
        if self._prepared.kernels is not None:
            self._prepared.kernels.remember()

    def _replan(self, plan: Plan, depth: Depth) -> None:
        """Go on by another plan; the picture stays the same."""
        depth.shrink(plan.queue_frames)
        self._stylizer.replan(plan)
        self.plan = plan
        trim_heap()

    def _count(self, painting: Painting) -> None:
        report, portion = self._report, painting.portion
        run = len(portion.tiles)
        report.cuts += painting.seen.cut
        report.frames_reused += run == 0
        report.tiles_run += run
        report.patches_run += run if portion.patched else 0
        report.tiles_reused += 0 if portion.patched else portion.plan_tiles - run
        report.pixels_reused += 1 - float(portion.fresh.mean())
        report.noise_codes = self._hold.variance**0.5

    def _working(self, frames: Iterable[Frame], originals: deque[Frame]) -> Iterable[Seen]:
        """Frames at working size, held still; the originals are kept until their painting is done."""
        for frame in frames:
            self._report.frames_in += 1
            originals.append(frame)
            working = frame if self._settings.scale == 1 else self._shrunk(frame)
            with self._times.stage("smooth"):
                seen = self._hold(working)
            yield seen

    def _shrunk(self, frame: Frame) -> Frame:
        lease = self._small.lease()
        resize(frame.planes, lease.planes)
        return replace(frame, planes=lease.planes, keep=lease)

    def _finished(self, original: Frame, painting: Frame) -> Frame:
        """The painting at the original's size, mixed with it as strongly as asked for."""
        if self._settings.scale != 1:
            painting = self._enlarge(painting)
        return painting if self._settings.strength == 1 else self._mix(original, painting)

    def _mix(self, original: Frame, painting: Frame) -> Frame:
        from sfumato.kernels.mix import mix

        source = original.planes
        if original.pixels != painting.pixels:
            source = self._recode(original.pixels, painting.pixels)(original)
        planes = self._mixed = self._mixed or self._full.acquire()
        mix(source, painting.planes, self._settings.strength, planes)
        return replace(painting, planes=planes)


def _compiled(seconds: float) -> str:
    """Why the first job of a kind is slow."""
    once = "" if cache_folder() is None else ", once for this kind of job"
    return f"{seconds:.1f} s went into compiling kernels{once}"


def open_session(path: Path, provider: str, plan: Plan) -> StyleSession:
    """A session for the tiles of ``plan``, run as it says."""
    with style_errors():
        return StyleSession(
            path,
            *plan.tile_px,
            intra_op_threads=plan.intra_op,
            workers=plan.workers,
            provider=provider,
        )
