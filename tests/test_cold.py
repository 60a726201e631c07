"""Before the first frame: all kernels are made ready, and who asks to stop need not wait for that."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from threading import Event

import av
import numba
import pytest

from sfumato.kernels.formats import PixelFormat
from sfumato.stream.api import stylize
from sfumato.stream.errors import Stopped
from sfumato.stream.frame import VideoInfo
from sfumato.stream.live.engine import Engine, EngineKey
from sfumato.stream.live.inputs import find_input
from sfumato.stream.live.painter import Painted
from sfumato.stream.live.run import LiveRun
from sfumato.stream.live.session import Session
from sfumato.stream.live.settings import LiveSettings
from sfumato.stream.live.sinks import FileLive, NullLive
from sfumato.stream.pipeline import Pipeline
from sfumato.stream.prepare import Output, prepare
from sfumato.stream.report import Report, StageTimes
from sfumato.stream.settings import PaintSettings
from sfumato.stream.warm import Kernels, load_rest
from tests.media import make_clip


@pytest.mark.parametrize(
    ("chroma", "bits"), [("420", 8), ("grey", 8), ("420", 10), ("grey", 10), ("444", 8)]
)
def test_no_kernel_is_compiled_in_mid_show(chroma: str, bits: int) -> None:
    words = [sys.executable, "-m", "tests.late_kernels", chroma, str(bits)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


class StopsAfter(Event):
    """Is set from the time on that it was looked at so often."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.left = looks

    def is_set(self) -> bool:
        """Counts down."""
        self.left -= 1
        return self.left < 0


@pytest.mark.parametrize("looks", range(4))
def test_a_pipeline_stops_before_the_next_kernel_and_leaves_no_thread(looks: int) -> None:
    settings, stop = PaintSettings(style="identity"), StopsAfter(looks)
    info = VideoInfo(96, 64, PixelFormat())
    with pytest.raises(Stopped):
        Pipeline(info, info.pixels, settings, Report(source="", sink=""), StageTimes(), stop)
    assert stop.left == -1  # looked no further


@pytest.mark.parametrize("looks", [1, 20, 29])  # in the pipeline, in loading the rest, painting
def test_a_live_engine_that_is_given_up_leaves_no_thread(looks: int) -> None:
    key = EngineKey(96, 64, PixelFormat(), PaintSettings(style="identity"), 2)
    with pytest.raises(Stopped):
        Engine(key, StageTimes(), stop=StopsAfter(looks))


class _Compiles(Event):
    """Compiles a kernel when it is first looked at."""

    def is_set(self) -> bool:
        """Never."""
        if not super().is_set():
            numba.njit("int64()")(lambda: 0)
            self.set()
        return False


@pytest.mark.parametrize("known", [False, True])
def test_a_job_tells_what_compiling_took_if_its_kind_is_new(tmp_path: Path, known: bool) -> None:
    settings, info = PaintSettings(style="identity"), VideoInfo(96, 64, PixelFormat())
    prepared = prepare(info, Output(info.pixels), settings)
    kernels = Kernels(prepared.work, prepared.spec, settings, tmp_path / "kernels.json")
    load_rest(info.pixels)  # else nothing lies in the cache
    if known:
        kernels.remember()
    report = Report(source="", sink="")
    prepared = replace(prepared, kernels=kernels)
    with Pipeline(
        info, info.pixels, settings, report, StageTimes(), _Compiles(), prepared=prepared
    ):
        told = [] if known else ["compiling kernels, once for this kind of job"]
        assert [note.partition(" s went into ")[2] for note in report.warnings] == told


def test_loading_looks_at_the_event_before_each_kernel() -> None:
    looks = StopsAfter(100)
    load_rest(PixelFormat(chroma="grey"), looks)
    assert 100 - looks.left >= 5  # survey, settle, blend, crisp, mix


def test_a_job_stopped_before_its_first_frame_leaves_nothing(tmp_path: Path) -> None:
    clip, stop = make_clip(tmp_path / "clip.mp4"), Event()
    stop.set()
    with pytest.raises(Stopped):
        stylize(clip, tmp_path / "out.mp4", style="identity", stop=stop)
    assert [*tmp_path.iterdir()] == [clip]


class _Tells(NullLive):
    """Says that all sinks were told to finish."""

    def __init__(self) -> None:
        self.finishing = Event()

    def finish(self) -> list[str]:
        """See :class:`LiveSink`."""
        self.finishing.set()
        return []


class _Slow(FileLive):
    """Begins its file only when the run is over."""

    def __init__(self, target: Path, after: Event) -> None:
        super().__init__(str(target))
        self._after = after

    def show(self, picture: Painted) -> None:
        """See :class:`LiveSink`."""
        self._after.wait()
        super().show(picture)


def test_pictures_written_at_the_very_end_are_counted(tmp_path: Path) -> None:
    source = find_input(str(make_clip(tmp_path / "clip.mp4")))
    target, tells = tmp_path / "out.mkv", _Tells()
    settings = LiveSettings(paint=PaintSettings(style="identity"), max_age_ms=10_000)
    with LiveRun(source, settings) as run:
        report = Session(run, [_Slow(target, tells.finishing), tells]).play("clip.mp4")
    with av.open(str(target)) as container:
        written = sum(1 for _ in container.decode(video=0))
    assert report.frames_out == written > 0
