"""Paint frames: tiles on one pool of workers, put back together in frame order."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from queue import SimpleQueue
from typing import Self

import numpy as np

from sfumato.kernels.formats import PixelFormat, TensorFormat
from sfumato.kernels.gather import Gather
from sfumato.kernels.scatter import Scatter
from sfumato.models.grain import grain_texture
from sfumato.models.session import StyleSession, TileRunner
from sfumato.models.spec import StyleSpec
from sfumato.stream.buffers import PlanePool, Sums
from sfumato.stream.frame import Frame, Plane
from sfumato.stream.plan import Plan
from sfumato.stream.report import StageTimes
from sfumato.stream.tiles import Tile


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


class _Job:
    """One frame on its way through the pool."""

    def __init__(self, frame: Frame, planes: tuple[Plane, ...], sums: Sums | None) -> None:
        self.frame = frame
        self.planes = planes
        self.sums = sums
        """Accumulators where tiles are feathered; None where each gives its own pixels."""
        self.futures: list[Future[None]] = []

    def cancel(self) -> None:
        for future in self.futures:
            future.cancel()


class Stylizer:
    """One style, one frame format, one plan. A context manager; closing joins the workers.

    A tile is the unit of work: crop and convert (gather), run the network, convert back into the
    planes of the painted frame (scatter). Tiles of several frames are in flight at once, so that
    no core waits for the last tile of a frame.
    """

    def __init__(
        self,
        session: StyleSession,
        pixels: PixelFormat,
        pool: PlanePool,
        plan: Plan,
        times: StageTimes,
    ) -> None:
        """``pixels`` is the format of the frames to come; ``pool`` gives the painted planes."""
        spec = session.spec
        grain = None if spec.grain_seed is None else grain_texture(spec.grain_seed)
        self._gather = Gather(pixels, tensor_format(spec, output=False), grain)
        self._scatter = Scatter(pool.pixels, tensor_format(spec, output=True))
        self._plan = plan
        self._pool = pool
        self._times = times
        self._runners: SimpleQueue[TileRunner] = SimpleQueue()
        for _ in range(plan.workers):
            self._runners.put(session.runner())
        self._warm_up(pixels)
        self._workers = ThreadPoolExecutor(plan.workers, thread_name_prefix="paint")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Wait for running tiles, drop the rest, join the workers."""
        self._workers.shutdown(cancel_futures=True)

    def _warm_up(self, pixels: PixelFormat) -> None:
        """Compile the kernels, or load them, before a frame waits for them and the clock runs."""
        runner, planes = self._runners.get(), self._pool.acquire()
        height_px, width_px = planes[0].shape
        blank = PlanePool(width_px, height_px, pixels).acquire()
        tile = self._plan.tiles[0]
        self._gather(blank, tile.x.origin, tile.y.origin, runner.input)
        job = _Job(Frame(blank, pixels, 0, Fraction(1)), planes, self._sums())
        self._give(job, tile, runner.output)
        if job.sums is not None:
            self._scatter.finish(job.sums.planes, planes)
            self._pool.release_sums(job.sums)
        self._pool.release(planes)
        self._runners.put(runner)

    def _sums(self) -> Sums | None:
        return None if self._plan.exact else self._pool.sums()

    def paint(self, frames: Iterable[Frame]) -> Generator[tuple[Frame, Frame], None, None]:
        """Yield each frame with its painting, in order.

        The painting's planes come from the pool: give them back with ``pool.release``.
        """
        jobs: deque[_Job] = deque()
        try:
            for frame in frames:
                jobs.append(self._submit(frame))
                if len(jobs) >= self._plan.frames_in_flight:
                    yield self._finish(jobs.popleft())
            while jobs:
                yield self._finish(jobs.popleft())
        finally:
            for job in jobs:
                job.cancel()

    def _submit(self, frame: Frame) -> _Job:
        job = _Job(frame, self._pool.acquire(), self._sums())
        for tile in self._plan.tiles:
            job.futures.append(self._workers.submit(self._paint_tile, job, tile))
        return job

    def _paint_tile(self, job: _Job, tile: Tile) -> None:
        runner = self._runners.get()
        try:
            with self._times.stage("gather"):
                self._gather(job.frame.planes, tile.x.origin, tile.y.origin, runner.input)
            with self._times.stage("infer"):
                runner.run()
            with self._times.stage("scatter"):
                self._give(job, tile, runner.output)
        finally:
            self._runners.put(runner)

    def _give(self, job: _Job, tile: Tile, output: np.ndarray) -> None:
        x, y = tile.x, tile.y
        left, top = x.start - x.origin, y.start - y.origin
        if job.sums is None:
            size = (x.stop - x.start, y.stop - y.start)
            self._scatter(output, left, top, x.start, y.start, *size, job.planes)
        else:
            assert x.weights is not None and y.weights is not None
            with job.sums.lock:
                self._scatter.add(
                    output, left, top, x.start, y.start, x.weights, y.weights, job.sums.planes
                )

    def _finish(self, job: _Job) -> tuple[Frame, Frame]:
        for future in job.futures:
            future.result()
        if job.sums is not None:
            with self._times.stage("scatter"):
                self._scatter.finish(job.sums.planes, job.planes)
            self._pool.release_sums(job.sums)
        source = job.frame
        return source, replace(source, planes=job.planes, pixels=self._pool.pixels, keep=None)
