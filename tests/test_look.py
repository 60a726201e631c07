"""Looking before painting: what is foretold is what jobs then do, and nothing is read in vain."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from av.video.frame import VideoFrame
from av.video.stream import VideoStream
from numpy.typing import NDArray

import sfumato
from sfumato.stream.api import prepare_job
from sfumato.stream.budget import Budget
from sfumato.stream.changes import Changes
from sfumato.stream.media import open_source
from sfumato.stream.media.runs import Runs
from sfumato.stream.planner import forecast, forecasts
from sfumato.stream.settings import PaintSettings
from tests.jobs import SPEC, work
from tests.media import make_clip

SIZE_PX = (320, 192)
NEVER_S, ALWAYS_S = 0.0, 60.0
NOTHING = Changes(
    frames=48, moving=0.0, painted=0.0, repeated=1.0, cost=0.0, decode_ms=1.0, hold_ms=0.2
)

Drawing = Callable[[int], NDArray[np.uint8]]


def write(path: Path, draw: Drawing, frames: int, **options: str) -> Path:
    """A lossless clip of grey pictures, uint8 (height, width)."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", 25, options={"qp": "0", **options})
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt = *SIZE_PX, "yuv420p"
        for number in range(frames):
            grey = np.full((SIZE_PX[1] * 3 // 2, SIZE_PX[0]), 128, np.uint8)
            grey[: SIZE_PX[1]] = draw(number)
            container.mux(stream.encode(VideoFrame.from_ndarray(grey, format="yuv420p")))
        container.mux(stream.encode(None))
    return path


def still() -> NDArray[np.uint8]:
    return np.random.default_rng(1).integers(40, 200, SIZE_PX[::-1], np.uint8)


def corner(number: int) -> NDArray[np.uint8]:
    """Something moves in one corner, in every second frame."""
    picture = still()
    left = 8 * (number // 2 % 6)
    picture[16:48, left : left + 24] = 230
    return picture


def noisy(number: int) -> NDArray[np.uint8]:
    """Nothing moves, but the sensor has a noise of 3 codes."""
    noise = np.random.default_rng(number).standard_normal(SIZE_PX[::-1])
    return (np.full(SIZE_PX[::-1], 100.0) + 3 * noise).round().astype(np.uint8)


def looked(clip: Path, **options: Any) -> Changes:
    """A first job compiles the kernels: nobody looks before."""
    sfumato.stylize(clip, "null", duration_s=0.2, **options)
    changes = prepare_job(clip, "out.mp4", closely=True, **options).changes
    assert changes is not None
    return changes


@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_what_is_foretold_is_what_a_job_reports(tmp_path: Path, scale: float) -> None:
    clip = write(tmp_path / "corner.mp4", corner, 48)
    found = looked(clip, scale=scale)
    report = sfumato.stylize(clip, "null", scale=scale)
    first = 1 / report.frames_in  # is painted as a whole
    assert found.painted == pytest.approx(1 - report.pixels_reused - first, abs=0.01)
    assert found.repeated == pytest.approx(report.frames_reused / report.frames_in, abs=0.02)
    assert 0.01 < found.painted == found.moving < found.cost < 0.5 <= found.repeated


def test_nothing_is_compiled_for_a_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clip = write(tmp_path / "corner.mp4", corner, 12)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = prepare_job(clip, "out.mp4", closely=True)
    assert first.cold and first.changes is None
    sfumato.stylize(clip, "null")
    second = prepare_job(clip, "out.mp4", closely=True)
    assert not second.cold and second.changes is not None


def test_a_long_clip_is_looked_into_here_and_there(tmp_path: Path) -> None:
    """Still but for its third quarter: who reads the beginning only would not see it."""
    clip = write(tmp_path / "late.mp4", lambda n: corner(2 * n * (100 <= n < 150)), 200, g="12")
    found = looked(clip)
    assert 30 <= found.frames <= 48
    assert found.repeated == pytest.approx(0.75, abs=0.1)


def test_reuse_and_hold_are_heeded(tmp_path: Path) -> None:
    clip = write(tmp_path / "noisy.mp4", noisy, 40)
    held, free = looked(clip), looked(clip, hold="off")
    assert held.painted < 0.1 and free.painted == 1
    whole = looked(clip, reuse="off")
    assert (whole.painted, whole.cost, whole.repeated) == (1, 1, 0) and whole.moving < 0.1


def test_pictures_and_pipes_are_not_looked_at(tmp_path: Path) -> None:
    clip = write(tmp_path / "one.mp4", corner, 1)
    assert prepare_job(clip, "out.mp4", closely=True).changes is None
    assert prepare_job(clip, "out.png", closely=True).changes is None
    y4m = b"YUV4MPEG2 W64 H48 F25:1 C420jpeg\n" + 30 * (b"FRAME\n" + bytes(64 * 48 * 3 // 2))
    done = subprocess.run(
        [sys.executable, "-m", "sfumato", "plan", "-"], input=y4m, capture_output=True, check=False
    )
    assert done.returncode == 0 and b"looked at" not in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("in.mp4", {"g": "12"}),
        ("in.mp4", {"g": "250"}),
        ("in.mkv", {"g": "12"}),
    ],
)
def test_runs_are_in_a_row_where_they_were_asked_for(
    tmp_path: Path, name: str, options: dict[str, str]
) -> None:
    clip = make_clip(tmp_path / name, frames=200, options={"qp": "0", **options})
    seen: list[list[Fraction]] = []
    with closing(Runs(clip)) as runs:
        for time_s in (1.0, 3.0, 6.0):
            seen.append([f.pts * f.time_base for f in runs.at(time_s, 8, skip_s=ALWAYS_S)])
    for begin_s, times in zip((1, 3, 6), seen, strict=True):
        steps = [round(float((time - begin_s) * 25)) for time in times]
        assert steps == list(range(8))


def test_a_run_begins_at_a_later_keyframe_where_there_is_no_index(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "in.ts", frames=200, options={"qp": "0", "g": "12"})
    with open_source(clip) as source:
        first = next(iter(source.frames()))
    with closing(Runs(clip)) as runs:
        for begin in (25, 75, 150):
            found = [f.pts - first.pts for f in runs.at(begin / 25, 8, skip_s=ALWAYS_S)]
            steps = [pts * first.time_base * 25 - begin for pts in found]
            assert 0 <= steps[0] < 12 and steps == [steps[0] + n for n in range(8)]


def test_a_run_begins_earlier_rather_than_decode_for_long(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "in.mp4", frames=100, options={"qp": "0", "g": "250"})
    with closing(Runs(clip)) as runs:
        first = [f.pts * f.time_base for f in runs.at(1.0, 4, skip_s=NEVER_S)]
        second = [f.pts * f.time_base for f in runs.at(3.0, 4, skip_s=NEVER_S)]
    assert first[0] == 0 and second[0] > first[-1]


def test_where_nothing_can_be_sought_the_beginning_tells(tmp_path: Path) -> None:
    with closing(Runs(make_clip(tmp_path / "in.h264", frames=60))) as runs:
        assert len(list(runs.at(0.0, 24, skip_s=NEVER_S))) == 24
        assert len(list(runs.at(5.0, 60, skip_s=NEVER_S))) == 36
    found = looked(write(tmp_path / "raw.h264", corner, 80))
    assert found.frames == 48 and found.painted < 0.5


def test_a_stream_without_a_keyframe_to_go_to_is_looked_at_from_its_beginning(
    tmp_path: Path,
) -> None:
    found = looked(write(tmp_path / "long.ts", corner, 160, g="250"))
    assert found.frames >= 40 and found.painted < 0.5


def test_less_to_paint_is_faster_and_all_to_paint_is_not() -> None:
    job, budget = work(), Budget(None, 2)
    plan = forecasts(job, SPEC, PaintSettings(), budget)[0].plan
    unknown = forecast(plan, job, budget)
    least = forecast(plan, job, budget, NOTHING)
    half = replace(NOTHING, moving=0.5, painted=0.5, repeated=0.0, cost=0.5)
    some = forecast(plan, job, budget, half)
    all_px = replace(NOTHING, moving=1.0, painted=1.0, repeated=0.0, cost=1.0, decode_ms=4.0)
    every = forecast(plan, job, budget, all_px)
    assert least.fps > 3 * unknown.fps and least.fps > some.fps > 1.2 * unknown.fps
    assert every.fps == pytest.approx(unknown.fps, rel=0.05)
    assert least.memory_bytes == unknown.memory_bytes
    assert least.seconds == pytest.approx(100 / least.fps)
