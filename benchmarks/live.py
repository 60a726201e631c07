"""Live runs, minutes long: age and its slope, pictures shown, memory, and a core that is taken away."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any, BinaryIO

import av
import numpy as np
import psutil

from sfumato.stream.live.inputs import find_input
from sfumato.stream.live.painter import Painted
from sfumato.stream.live.run import LiveRun
from sfumato.stream.media.source import open_source

FPS = 30
LAVFI = f"lavfi:testsrc2=size=1280x720:rate={FPS}"
WARM_UP_S = 5.0
"""What the first seconds cost does not count: engines are made, caches filled."""

PIPED_FRAMES = 60
"""Raw pictures that go round and round in the pipe."""


class Meter:
    """When each picture was shown, how old it was, and the memory in use then."""

    def __init__(self) -> None:
        self._process = psutil.Process()
        self.at_s: list[float] = []
        self.age_ms: list[float] = []
        self.rss_mb: list[float] = []

    def note(self, picture: Painted, at_s: float) -> None:
        """Count a picture shown ``at_s`` seconds after the first."""
        self.at_s.append(at_s)
        self.age_ms.append(1e3 * (time.monotonic() - picture.captured_s))
        if len(self.at_s) % FPS == 0:
            self.rss_mb.append(self._process.memory_info().rss / 1e6)

    def figures(self, from_s: float, to_s: float) -> dict[str, Any]:
        """fps, ages and memory between two moments."""
        times, ages = np.array(self.at_s), np.array(self.age_ms)
        inside = (times >= from_s) & (times < to_s)
        times, ages = times[inside], ages[inside]
        if times.size < 2:
            return {"shown fps": 0.0}
        slope = float(np.polyfit(times / 60, ages, 1)[0])
        return {
            "shown fps": float((times.size - 1) / (times[-1] - times[0])),
            "age p50 ms": float(np.percentile(ages, 50)),
            "age p95 ms": float(np.percentile(ages, 95)),
            "age slope ms/min": slope,
        }

    def memory(self) -> dict[str, Any]:
        """Memory after the warm-up and at the end."""
        tenth = max(1, len(self.rss_mb) // 10)
        first, last = np.median(self.rss_mb[tenth : 2 * tenth]), np.median(self.rss_mb[-tenth:])
        return {"RSS MB": float(last), "RSS grown %": float(100 * (last / first - 1))}


def live_figures(clip: Path, seconds: float, style: str) -> list[dict[str, Any]]:
    """One row for each kind of source, ``seconds`` each, with default settings."""
    rows = []
    with TemporaryDirectory() as folder:
        film = looped(clip, Path(folder) / "film.mkv", seconds + 2 * WARM_UP_S)
        rows.append(_row("file in real time", str(film), seconds, style))
        rows.append(_row("test picture", LAVFI, seconds, style))
        with piped(clip, Path(folder) / "camera.y4m") as pipe:
            rows.append(_row("y4m pipe", str(pipe), seconds, style))
    return rows


def core_figures(clip: Path, seconds: float, style: str) -> list[dict[str, Any]]:
    """A third of the time with all cores, a third with one, a third with all again."""
    cores = os.sched_getaffinity(0)
    with TemporaryDirectory() as folder:
        film = looped(clip, Path(folder) / "film.mkv", seconds + 2 * WARM_UP_S)
        marks = {seconds / 3: {min(cores)}, 2 * seconds / 3: cores}
        try:
            meter, run, scales = _measured(str(film), seconds, style, marks)
        finally:
            _use_cores(cores)
    bounds = [WARM_UP_S, *marks, seconds]
    names = ["all cores", "one core", "all cores again"]
    return [
        {
            "phase": name,
            **meter.figures(begin + (2.0 if name != "all cores" else 0.0), end),
            "scale at its end": scales.get(end, run.painter.stats().scale),
        }
        for name, begin, end in zip(names, bounds, bounds[1:], strict=False)
    ]


def _row(name: str, source: str, seconds: float, style: str) -> dict[str, Any]:
    meter, run, _ = _measured(source, seconds, style, {})
    stats = run.painter.stats()
    return {
        "source": name,
        **meter.figures(WARM_UP_S, seconds),
        **meter.memory(),
        "dropped": sum(stats.dropped.values()),
        "changes": len(stats.changes),
        "style": stats.style,
        "scale": stats.scale,
    }


def _measured(
    source: str, seconds: float, style: str, marks: dict[float, set[int]]
) -> tuple[Meter, LiveRun, dict[float, float]]:
    """Run for a while; at each of the ``marks`` only those cores are left."""
    from sfumato.stream.live.settings import LiveSettings
    from sfumato.stream.settings import PaintSettings

    meter, scales, waiting = Meter(), dict[float, float](), sorted(marks)
    settings = LiveSettings(paint=PaintSettings(style=style))
    with LiveRun(find_input(source), settings, duration_s=seconds) as run:
        begun_s: float | None = None
        for picture in run.pictures():
            if picture is None or picture.held:
                continue
            begun_s = begun_s or time.monotonic()
            now_s = time.monotonic() - begun_s
            meter.note(picture, now_s)
            if waiting and now_s >= waiting[0]:
                scales[waiting[0]] = run.painter.stats().scale
                _use_cores(marks[waiting.pop(0)])
    return meter, run, scales


def _use_cores(cores: set[int]) -> None:
    """Every thread there is: the mask of a process is that of each of its threads."""
    for thread in psutil.Process().threads():
        os.sched_setaffinity(thread.id, cores)


def looped(clip: Path, target: Path, seconds: float) -> Path:
    """The clip's packets again and again, at :data:`FPS` pictures per second, without coding."""
    with av.open(str(clip)) as source, av.open(str(target), "w") as film:
        video = source.streams.video[0]
        out: Any = film.add_stream_from_template(video)
        packets = [p for p in source.demux(video) if p.size]
        pace = Fraction(video.average_rate or FPS) / FPS
        base = Fraction(video.time_base or 1)
        length = len(packets) / Fraction(FPS)
        for turn in range(int(seconds / length) + 1):
            source.seek(0)
            for packet in source.demux(video):
                if packet.size == 0 or packet.pts is None:
                    continue
                shift = turn * length / base
                packet.pts = round(packet.pts * pace + shift)
                packet.dts = round((packet.dts or 0) * pace + shift)
                packet.duration = 0
                packet.stream = out
                film.mux(packet)
    return target


@contextmanager
def piped(clip: Path, pipe: Path) -> Generator[Path, None, None]:
    """A named pipe into which raw pictures go at :data:`FPS`, as from a camera."""
    with open_source(clip) as source:
        frames = [
            b"".join(plane.tobytes() for plane in frame.planes)
            for frame in islice(source.frames(), PIPED_FRAMES)
        ]
        size = f"W{source.info.width_px} H{source.info.height_px}"
    head = f"YUV4MPEG2 {size} F{FPS}:1 Ip A1:1 C420jpeg\n".encode()
    os.mkfifo(pipe)
    stop = Event()
    thread = Thread(target=_fill, args=(pipe, head, cycle(frames), stop), name="camera")
    thread.start()
    try:
        yield pipe
    finally:
        stop.set()
        thread.join()


def _fill(pipe: Path, head: bytes, frames: Iterator[bytes], stop: Event) -> None:
    try:
        with open(pipe, "wb", buffering=0) as out:
            _write(out, head)
            due_s = time.monotonic()
            while not stop.wait(max(0.0, due_s - time.monotonic())):
                _write(out, b"FRAME\n" + next(frames))
                due_s += 1 / FPS
    except BrokenPipeError:
        return  # the reader has what it wanted


def _write(out: BinaryIO, data: bytes) -> None:
    """All of it: raw files may take less at once."""
    rest = memoryview(data)
    while rest:
        rest = rest[out.write(rest) or 0 :]
