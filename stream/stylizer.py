"""Paint frames: tiles on one pool of workers, put back together in frame order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from math import prod
from threading import Event
from time import perf_counter
from typing import Self

import numpy as np

from sfumato.kernels.formats import PixelFormat, TensorFormat
from sfumato.kernels.gather import Gather
from sfumato.kernels.scatter import Scatter
from sfumato.models.grain import grain_texture
from sfumato.models.session import StyleSession
from sfumato.models.spec import StyleSpec
from sfumato.stream.buffers import Lease, PlanePool, Sums, release
from sfumato.stream.crew import Crew
from sfumato.stream.flow import heed
from sfumato.stream.frame import Frame, Plane
from sfumato.stream.plan import Plan
from sfumato.stream.report import StageTimes
from sfumato.stream.temporal.hold import Seen
from sfumato.stream.temporal.repaint import Portion, Repaint
from sfumato.stream.temporal.reuse import Rect, kept
from sfumato.stream.tiles import TILE_PX, UNIT, Span, Tile, align_up


def tensor_format(spec: StyleSpec, *, output: bool) -> TensorFormat:
    """What the kernels need to know of a style's input or output tensor."""
    black, white = spec.output_range if output else spec.input_range
    return TensorFormat(
        layout=spec.layout,
        dtype=spec.dtype,
        channel_order=spec.channel_order,
        black=black,
        white=white,
        clip=spec.clip,
        cell=spec.cell,
        grain=spec.grain_seed is not None and not output,
    )


Opener = Callable[[Plan], StyleSession]
"""Makes a session for the tiles of a plan, run as it says."""


@dataclass(frozen=True, slots=True)
class Painting:
    """A frame and what was painted from it."""

    seen: Seen
    frame: Frame
    """The painting; its planes are leased to whoever gets it."""
    portion: Portion
    """What was painted; the rest was copied from the painting before."""

    def release(self) -> None:
        """Let go of both frames' planes."""
        release(self.frame)
        release(self.seen.frame)


class _Job:
    """One frame on its way through the pool."""

    def __init__(
        self, seen: Seen, portion: Portion, lease: Lease | None, sums: Sums | None
    ) -> None:
        self.seen = seen
        self.portion = portion
        self.lease = lease
        """The painting's planes; None where all is as in the one before."""
        self.sums = sums
        """Accumulators where tiles are feathered; None where each gives its own pixels."""
        self.futures: list[Future[None]] = []

    def cancel(self) -> None:
        for future in self.futures:
            future.cancel()


class Stylizer:
    """One style, one frame format, one plan at a time. A context manager; closing joins the workers.

    A tile is the unit of work: crop and convert (gather), run the network, convert back into the
    planes of the painted frame (scatter). Tiles of several frames are in flight at once, so that
    no core waits for the last tile of a frame. What no change of the source can reach is copied
    from the frame before when that is finished, which it is first: nothing waits for it.
    """

    def __init__(
        self,
        opener: Opener,
        spec: StyleSpec,
        pixels: PixelFormat,
        pool: PlanePool,
        plan: Plan,
        times: StageTimes,
        stop: Event | None = None,
        *,
        reuse: bool = True,
    ) -> None:
        """``opener`` opens the style of ``spec``; ``pixels`` is the format of the frames to come;
        ``pool`` gives the painted planes.

        ``reuse`` False paints every frame as a whole. Raises :class:`Stopped` soon after ``stop``
        is set.
        """
        self._open, self._pool, self._times, self._reuse = opener, pool, times, reuse
        self._spec = spec
        self._workers = ThreadPoolExecutor(plan.workers, thread_name_prefix="paint")
        self._base: Lease | None = None
        """Planes of the painting finished last."""
        self._retired: list[ThreadPoolExecutor] = []
        self._plan = plan
        self._jobs: deque[_Job] = deque()
        opening = self._workers.submit(self._new_crew, plan)  # while kernels load
        grain = None if spec.grain_seed is None else grain_texture(spec.grain_seed)
        self._gather = Gather(pixels, tensor_format(spec, output=False), grain)
        self._scatter = Scatter(pool.pixels, tensor_format(spec, output=True))
        try:
            self._warm_up(pixels, stop)
        except BaseException:
            opening.result().close()
            self._workers.shutdown()
            raise
        self._crew = opening.result()
        self._begin(plan, afresh=True)

    @property
    def provider(self) -> str:
        """What runs the network: ``cpu``, ``cuda``, …"""
        return self._crew.provider

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Wait for running tiles, drop the rest, join the workers."""
        for workers in (self._workers, *self._retired):
            workers.shutdown(cancel_futures=True)
        self._crew.close()

    def replan(self, plan: Plan) -> None:
        """Paint the frames to come by ``plan``; those in flight end by the plan they began with.

        Plans that are exact give the same pictures, so that nobody sees the change. Call between
        two frames, from the thread that takes the paintings.
        """
        if plan.workers != self._plan.workers:
            self._retired.append(self._workers)
            self._workers = ThreadPoolExecutor(plan.workers, thread_name_prefix="paint")
        before = self._plan
        if not before.runs_like(plan):
            for job in self._jobs:
                wait(job.futures)  # or both networks would take memory at the same time
            self._crew.close()
            self._crew = self._new_crew(plan)
        self._begin(plan, afresh=not (before.exact and plan.exact))

    def _new_crew(self, plan: Plan) -> Crew:
        return Crew(self._open(plan), plan.workers)

    def _begin(self, plan: Plan, *, afresh: bool) -> None:
        self._plan, self._afresh = plan, afresh
        size_px, patches = self._pool.size_px, self._crew.any_size
        self._repaint = Repaint(plan, size_px, self._spec, on=self._reuse, patches=patches)

    def _warm_up(self, pixels: PixelFormat, stop: Event | None) -> None:
        """Compile the kernels, or load them, before a frame waits for them and the clock runs."""
        lease, sums, spec = self._pool.lease(), self._sums(), self._spec
        side = align_up(TILE_PX, spec.multiple)
        x, y = (_first_span(min(side, size), spec.trim_px) for size in self._pool.size_px)
        blank = PlanePool(*self._pool.size_px, pixels).acquire()
        window_px = spec.least_tile_px(side, side)
        feed = np.zeros(spec.input_shape(*window_px), spec.dtype)
        answer = np.zeros(spec.output_shape(*window_px), spec.dtype)
        heed(stop)
        self._gather(blank, 0, 0, feed)
        heed(stop)
        self._give(lease, sums, Tile(x, y), answer)
        if sums is not None:
            self._scatter.finish(sums.planes, lease.planes)
            self._pool.release_sums(sums)
        lease.release()

    def _sums(self) -> Sums | None:
        return None if self._plan.exact else self._pool.sums()

    def paint(self, frames: Iterable[Seen]) -> Generator[Painting, None, None]:
        """Yield the paintings of the frames, in order. Release each when done with it."""
        jobs = self._jobs
        try:
            for seen in frames:
                jobs.append(self._submit(seen))
                while len(jobs) >= self._plan.frames_in_flight:
                    yield self._finish(jobs.popleft())
            while jobs:
                yield self._finish(jobs.popleft())
        finally:
            while jobs:
                jobs.popleft().cancel()

    def _submit(self, seen: Seen) -> _Job:
        whole = self._afresh or seen.first
        portion = self._repaint.whole(seen) if whole else self._repaint(seen)
        self._afresh = False
        if not portion.tiles:
            return _Job(seen, portion, None, None)
        job = _Job(seen, portion, self._pool.lease(), self._sums())
        for tile, window_px in zip(portion.tiles, portion.windows_px, strict=True):
            job.futures.append(
                self._workers.submit(self._paint_tile, job, tile, window_px, self._crew)
            )
        return job

    def _paint_tile(self, job: _Job, tile: Tile, window_px: tuple[int, int], crew: Crew) -> None:
        assert job.lease is not None
        started_s = perf_counter()
        with crew.runner(window_px) as runner:
            with self._times.stage("gather"):
                self._gather(job.seen.frame.planes, tile.x.origin, tile.y.origin, runner.input)
            with self._times.stage("infer"):
                runner.run()
            with self._times.stage("scatter"):
                self._give(job.lease, job.sums, tile, runner.output)
        self._repaint.balance.second_per_px = (perf_counter() - started_s) / prod(window_px)

    def _give(self, lease: Lease, sums: Sums | None, tile: Tile, output: np.ndarray) -> None:
        x, y = tile.x, tile.y
        trim_px = self._spec.trim_px
        left, top = x.start - x.origin - trim_px, y.start - y.origin - trim_px
        if sums is None:
            size = (x.stop - x.start, y.stop - y.start)
            self._scatter(output, left, top, x.start, y.start, *size, lease.planes)
        else:
            assert x.weights is not None and y.weights is not None
            with sums.lock:
                self._scatter.add(
                    output, left, top, x.start, y.start, x.weights, y.weights, sums.planes
                )

    def _finish(self, job: _Job) -> Painting:
        for future in job.futures:
            future.result()
        if job.lease is None:
            assert self._base is not None
            lease = self._base.share()
        else:
            lease = job.lease
            with self._times.stage("scatter"):
                self._complete(job, lease)
        frame = replace(job.seen.frame, planes=lease.planes, pixels=self._pool.pixels, keep=lease)
        return Painting(job.seen, frame, job.portion)

    def _complete(self, job: _Job, lease: Lease) -> None:
        """Round what was feathered, copy what was not painted."""
        if job.sums is not None:
            self._scatter.finish(job.sums.planes, lease.planes)
            self._pool.release_sums(job.sums)
        if self._base is not None:
            for rect in kept(job.portion.tiles, self._pool.size_px):
                copy_rect(self._base.planes, lease.planes, rect, self._pool.pixels)
            self._base.release()
        self._base = lease.share()


def _first_span(size: int, trim_px: int) -> Span:
    return Span(-trim_px, 0, size, np.full(size, UNIT, np.uint16))


def copy_rect(
    source: tuple[Plane, ...], target: tuple[Plane, ...], rect: Rect, pixels: PixelFormat
) -> None:
    """Copy a rectangle of luma, and the chroma under it; its edges lie on whole chroma samples."""
    left, top, right, bottom = rect
    for number, (old, new) in enumerate(zip(source, target, strict=True)):
        x, y = (pixels.shift_x, pixels.shift_y) if number else (0, 0)
        area = slice(top >> y, -(-bottom >> y)), slice(left >> x, -(-right >> x))
        new[area] = old[area]
