"""What other programs call: a whole job, or painted frames one by one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import fields
from os import PathLike
from typing import Any, TypedDict, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.stream.arrays import ArraySource
from sfumato.stream.convert import ToRgb
from sfumato.stream.media import open_sink, open_source
from sfumato.stream.pipeline import Pipeline
from sfumato.stream.report import Progress, Report, StageTimes, peak_rss_bytes
from sfumato.stream.settings import FileSettings, PaintSettings, Precision


class PaintOptions(TypedDict, total=False):
    """Keyword options of :func:`paint`; see :class:`PaintSettings` for each."""

    style: str
    strength: float
    scale: float
    precision: Precision
    tile_px: tuple[int, int] | None
    overlap_px: int | None
    workers: int | None
    provider: str
    smooth: float


class FileOptions(PaintOptions, total=False):
    """Keyword options of :func:`stylize`: those of :func:`paint`, and :class:`FileSettings`."""

    codec: str | None
    crf: int | None
    preset: str | None
    start_s: float
    duration_s: float | None
    overwrite: bool
    strict: bool


def stylize(
    source: str | PathLike[str],
    sink: str | PathLike[str],
    *,
    on_progress: Callable[[Progress], None] | None = None,
    **options: Unpack[FileOptions],
) -> Report:
    """Paint the video ``source`` into the file ``sink`` and say what was done.

    Both take a path; ``source`` also a URL, an image pattern, or ``-`` for y4m on stdin, and
    ``sink`` an image pattern, ``-`` for y4m on stdout, or ``null``. The sink's target appears when
    it is complete and verified, never before. ``on_progress`` is called after every frame, on the
    calling thread.

    Raises :class:`SfumatoError` (settings, source, sink or style) and :class:`FileNotFoundError`.
    """
    paint_settings, files = _split(options)
    started, cpu_started = time.perf_counter(), time.process_time()
    times = StageTimes()
    report = Report(source=str(source), sink=str(sink))
    with open_source(
        str(source),
        start_s=files.start_s,
        duration_s=files.duration_s,
        strict=files.strict,
    ) as opened:
        with open_sink(
            str(sink),
            like=opened,
            codec=files.codec,
            crf=files.crf,
            preset=files.preset,
            overwrite=files.overwrite,
        ) as written:
            with (
                Pipeline(opened.info, written.pixels, paint_settings, report, times) as pipeline,
                closing(pipeline.paint(opened.frames())) as painted,
            ):
                for frame in painted:
                    with times.stage("encode"):
                        written.write(frame)
                    report.frames_out += 1
                    if on_progress is not None:
                        on_progress(
                            Progress(
                                report.frames_out,
                                opened.info.frames_estimate,
                                time.perf_counter() - started,
                                times.slowest(),
                            )
                        )
            with times.stage("encode"):
                written.finish()
        report.warnings += [*opened.info.notes, *opened.warnings, *written.warnings]
    report.seconds = time.perf_counter() - started
    report.cpu_seconds = time.process_time() - cpu_started
    report.fps = report.frames_out / report.seconds
    report.stage_ms = times.per_frame_ms(report.frames_out)
    report.peak_rss_bytes = peak_rss_bytes()
    return report
