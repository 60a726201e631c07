"""What each stage of a job costs in processor time, whatever else the machine does."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.harness import PRESET
from sfumato.models.cores import usable_cores
from sfumato.stream.frame import Frame
from sfumato.stream.media import open_sink, open_source
from sfumato.stream.pipeline import Pipeline
from sfumato.stream.report import Report, StageTimes
from sfumato.stream.settings import PaintSettings

WARM_UP = 2
"""Frames painted first, which load the kernels."""
OURS = ("decode", "gather", "scatter", "smooth")
"""Everything around the network and the encoder: a fifth of the time at most."""


class _CpuTimes(StageTimes):
    """Seconds of the calling thread's own processor time: waits and other threads do not count."""

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        started_s = time.thread_time()
        try:
            yield
        finally:
            self.adder(name)(time.thread_time() - started_s)


def stage_figures(clip: Path, style: str = "toon") -> list[dict[str, Any]]:
    """Milliseconds of processor time per frame and share of all, stage by stage, and ours in sum.

    Three passes over the clip, so that no thread of one stage is counted with another: decode
    alone, decode and paint, encode alone. What painting takes beyond decode, gather, inference and
    scatter is counted as smoothing.
    """
    decode_ms = _decode_ms(clip)
    stages, painted = _paint_ms(clip, style, decode_ms)
    stages = {"decode": decode_ms, **stages, "encode": _encode_ms(clip, painted)}
    total = sum(stages.values())
    sums = {" + ".join(OURS): sum(stages[name] for name in OURS), "all": total}
    return [
        {"stage": name, "CPU ms per frame": ms, "share %": 100 * ms / total}
        for name, ms in (stages | sums).items()
    ]


def _decode_ms(clip: Path) -> float:
    with open_source(clip) as source:
        started_s = time.process_time()
        frames = sum(1 for _ in source.frames())
        return 1e3 * (time.process_time() - started_s) / frames


def _paint_ms(clip: Path, style: str, decode_ms: float) -> tuple[dict[str, float], list[Frame]]:
    """Stages of painting, and the paintings."""
    _paint(clip, style, StageTimes(), WARM_UP)
    times = _CpuTimes()
    spent_s, paintings = _paint(clip, style, times)
    measured = times.per_frame_ms(len(paintings))
    stages = {name: measured[name] for name in ("gather", "infer", "scatter")}
    rest_ms = 1e3 * spent_s / len(paintings) - decode_ms - sum(stages.values())
    return {**stages, "smooth": rest_ms}, paintings


def _paint(
    clip: Path, style: str, times: StageTimes, frames: int | None = None
) -> tuple[float, list[Frame]]:
    """Seconds of processor time of decoding and painting, and copies of the paintings."""
    paintings = []
    with (
        open_source(clip) as source,
        Pipeline(
            source.info,
            source.info.pixels,
            PaintSettings(style=style),
            Report(source="", sink=""),
            times,
        ) as pipeline,
        closing(pipeline.paint(islice(source.frames(), frames))) as painted,
    ):
        started_s, copied_s = time.process_time(), 0.0
        for frame in painted:
            before_s = time.thread_time()
            planes = tuple(plane.copy() for plane in frame.planes)
            paintings.append(replace(frame, planes=planes, side_packets=()))
            copied_s += time.thread_time() - before_s
        return time.process_time() - started_s - copied_s, paintings


def _encode_ms(clip: Path, paintings: list[Frame]) -> float:
    with TemporaryDirectory() as folder, open_source(clip) as source:
        target = Path(folder) / "painted.mp4"
        with open_sink(target, like=source, preset=PRESET, encoder_threads=usable_cores()) as sink:
            started_s = time.process_time()
            for painting in paintings:
                sink.write(painting)
            sink.close()
            return 1e3 * (time.process_time() - started_s) / len(paintings)
