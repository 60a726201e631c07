"""What other programs call: a whole job, or painted frames one by one."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack, closing
from dataclasses import replace
from fractions import Fraction
from os import PathLike, fspath
from threading import Event
from typing import TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from sfumato.stream.arrays import ArraySource
from sfumato.stream.convert import ToRgb
from sfumato.stream.frame import Frame, VideoInfo
from sfumato.stream.media import Sink, Source, open_sink, open_source
from sfumato.stream.pace import Pace
from sfumato.stream.pipeline import Pipeline
from sfumato.stream.prepare import Prepared, decoder_threads, expect_output, prepare
from sfumato.stream.report import Progress, Report, StageTimes, peak_rss_bytes
from sfumato.stream.settings import (
    FileSettings,
    PaintSettings,
    Precision,
    Switch,
    check_names,
)


class LookOptions(TypedDict, total=False):
    """Keyword options of everything that paints; see :class:`PaintSettings` for each."""

    style: str
    strength: float
    precision: Precision
    tile_px: tuple[int, int] | None
    overlap_px: int | None
    workers: int | None
    provider: str
    smooth: float | None
    hold: Switch
    reuse: Switch
    memory_limit_bytes: int | None


class PaintOptions(LookOptions, total=False):
    """Keyword options of :func:`paint`, whose size is fixed."""

    scale: float


class FileOptions(PaintOptions, total=False):
    """Keyword options of :func:`stylize`: those of :func:`paint`, and :class:`FileSettings`."""

    codec: str | None
    crf: int | None
    preset: str | None
    start_s: float
    duration_s: float | None
    overwrite: bool
    strict: bool


PAINT_NAMES = frozenset(PaintOptions.__annotations__)


def stylize(
    source: str | PathLike[str],
    sink: str | PathLike[str],
    *,
    on_progress: Callable[[Progress], None] | None = None,
    stop: Event | None = None,
    **options: Unpack[FileOptions],
) -> Report:
    """Paint the video ``source`` into the file ``sink`` and say what was done.

    Both take a path; ``source`` also a URL, an image pattern, or ``-`` for y4m on stdin, and
    ``sink`` an image pattern, ``-`` for y4m on stdout, or ``null``. The sink's target appears when
    it is complete and verified, never before. ``on_progress`` is called after every frame, on the
    calling thread. Another thread, or a signal handler, may set ``stop``: the job then ends with
    :class:`Stopped` and leaves nothing behind. The options are the fields of
    :class:`PaintSettings` and :class:`FileSettings`.

    Raises :class:`SfumatoError` (settings, source, sink or style) and :class:`FileNotFoundError`.
    """
    painting, files = _split(options)
    job = _Job(Report(source=str(source), sink=str(sink)))
    with open_source(
        source,
        start_s=files.start_s,
        duration_s=files.duration_s,
        strict=files.strict,
        decoder_threads=decoder_threads(painting),
        stop=stop,
    ) as opened:
        output = expect_output(fspath(sink), opened.info, files, rgb=opened.carried.rgb)
        prepared = prepare(opened.info, output, painting).checked()
        with open_sink(
            sink,
            like=opened,
            codec=files.codec,
            crf=files.crf,
            preset=files.preset,
            overwrite=files.overwrite,
            encoder_threads=prepared.forecast.plan.encoder_threads,
            lookahead_frames=prepared.forecast.plan.lookahead_frames,
        ) as written:
            job.run(opened, written, painting, prepared, on_progress, stop)
    return job.finished()


def prepare_job(
    source: str | PathLike[str],
    sink: str | PathLike[str],
    *,
    closely: bool = False,
    **options: Unpack[FileOptions],
) -> Prepared:
    """What :func:`stylize` would decide about the same job, without doing it.

    ``closely`` takes a second more: it tries whether the sink can be written as asked for, and looks
    into the source for how much of it changes, which a job finds out as it goes. Where no job of
    the kind has compiled its kernels yet, it does not look: that would take seconds.

    Raises what :func:`stylize` raises before its first frame, save for a budget that is too small:
    the result says that.
    """
    painting, files = _split(options)
    with open_source(
        source,
        start_s=files.start_s,
        duration_s=files.duration_s,
        strict=files.strict,
        decoder_threads=decoder_threads(painting),
    ) as opened:
        output = expect_output(fspath(sink), opened.info, files, rgb=opened.carried.rgb)
        prepared = prepare(opened.info, output, painting)
        return _closely(prepared, opened, fspath(sink), painting, files) if closely else prepared


def _closely(
    prepared: Prepared, source: Source, sink: str, painting: PaintSettings, files: FileSettings
) -> Prepared:
    """The same after a trial of the sink and a look into the source, if that is a film in a file and
    nothing need be compiled for it."""
    from sfumato.stream.look import look
    from sfumato.stream.media.trial import try_sink

    try_sink(sink, like=source, codec=files.codec, crf=files.crf, preset=files.preset)
    film = None if prepared.work.still else source.carried.path
    if film is None or prepared.reason is not None or prepared.cold:
        return prepared
    return prepared.foreseeing(look(film, source.info, files.start_s, prepared, painting))


def _split(options: FileOptions) -> tuple[PaintSettings, FileSettings]:
    check_names(options, FileOptions.__annotations__)
    chosen = {name: value for name, value in options.items() if name in PAINT_NAMES}
    rest = {name: value for name, value in options.items() if name not in PAINT_NAMES}
    return PaintSettings(**chosen), FileSettings(**rest)  # type: ignore[arg-type]


class _Job:
    """One run of :func:`stylize`: the clock, the stage times and the report."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.times = StageTimes()
        report.started_unix_s = time.time()
        self._started_s = time.perf_counter()
        self._pace = Pace(self._started_s)
        self._cpu_started_s = time.process_time()
        self._first_s: Fraction | None = None
        self._end_s = Fraction(0)
        """When the first frame is shown, and until when the last one, by the source's clock."""

    def run(
        self,
        source: Source,
        sink: Sink,
        settings: PaintSettings,
        prepared: Prepared,
        on_progress: Callable[[Progress], None] | None,
        stop: Event | None,
    ) -> None:
        report, times = self.report, self.times
        with (
            Pipeline(
                source.info, sink.pixels, settings, report, times, stop, prepared=prepared
            ) as pipeline,
            closing(pipeline.paint(self._pace.reading(source.frames()))) as painted,
        ):
            for frame in painted:
                with times.stage("encode"):
                    sink.write(frame)
                self._pace.written()
                self._note_time(frame, source.info)
                report.frames_out += 1
                if on_progress is not None:
                    on_progress(self._progress(source.info.frames_estimate))
        with times.stage("encode"):
            sink.close()
        report.warnings += [*source.info.notes, *source.warnings, *sink.warnings]
        report.warnings += _shortfall(float(self._end_s - (self._first_s or 0)), source.info)

    def _note_time(self, frame: Frame, info: VideoInfo) -> None:
        shown_s = frame.pts * frame.time_base
        self._first_s = shown_s if self._first_s is None else self._first_s
        usual_s = 1 / info.frame_rate if info.frame_rate else Fraction(0)
        self._end_s = shown_s + (frame.duration * frame.time_base or usual_s)

    def _progress(self, estimate: int | None) -> Progress:
        seconds = time.perf_counter() - self._started_s
        return Progress(self.report.frames_out, estimate, seconds, self.times.slowest())

    def finished(self) -> Report:
        report = self.report
        report.seconds = time.perf_counter() - self._started_s
        report.cpu_seconds = time.process_time() - self._cpu_started_s
        report.fps = report.frames_out / report.seconds
        report.pixels_reused = round(report.pixels_reused / max(1, report.frames_in), 4)
        report.steady_fps = self._pace.steady_fps()
        report.first_frame_s = self._pace.first_frame_s
        report.latency_ms = self._pace.latency_ms()
        report.stage_ms = self.times.per_frame_ms(report.frames_out)
        report.peak_rss_bytes = peak_rss_bytes()
        return report


def _shortfall(shown_s: float, info: VideoInfo) -> list[str]:
    """More than a fiftieth of the time missing is worth a word. Frames are not compared: how many
    there are is told by few containers, and follows from the length only where they come evenly."""
    if info.frames_estimate is None or info.frame_rate is None:
        return []
    length_s = info.frames_estimate / info.frame_rate
    if shown_s >= length_s * 49 / 50 - 2 / info.frame_rate:
        return []
    return [f"the source ends after {shown_s:.1f} s but says that it lasts {float(length_s):.1f} s"]


def paint(
    source: str | PathLike[str] | Iterable[NDArray[np.uint8]],
    **options: Unpack[PaintOptions],
) -> Generator[NDArray[np.uint8], None, None]:
    """Yield painted frames as uint8 (height, width, 3) RGB arrays that the caller may keep.

    ``source`` is whatever :func:`stylize` takes, or an iterable of RGB arrays of one size. Close
    the generator to stop early. Raises what :func:`stylize` raises.
    """
    check_names(options, PAINT_NAMES)
    settings = PaintSettings(**options)
    with ExitStack() as stack:
        opened = _opened(source, stack)
        pixels = replace(opened.info.pixels, chroma="444")
        report = Report(source="", sink="")
        pipeline = stack.enter_context(
            Pipeline(opened.info, pixels, settings, report, StageTimes())
        )
        to_rgb = ToRgb(pixels)
        frames = stack.enter_context(closing(pipeline.paint(opened.frames())))
        yield from map(to_rgb, frames)


def _opened(
    source: str | PathLike[str] | Iterable[NDArray[np.uint8]], stack: ExitStack
) -> Source | ArraySource:
    if isinstance(source, str | PathLike):
        return stack.enter_context(open_source(source))
    return ArraySource(source)
