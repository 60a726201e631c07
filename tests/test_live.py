"""`sfumato live` and `sfumato.live`: what a user and a program see of a live run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Event

import av
import numpy as np
import pytest
from numpy.typing import NDArray

import sfumato
from tests.live import wait_for
from tests.media import make_clip

SOURCE = "lavfi:testsrc2=size=96x64:rate=30"
QUICK = ("--style", "identity", "--max-age", "5000")


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "sfumato", "live", *words]


def live(*words: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command(*words), capture_output=True, check=False, **options)  # type: ignore[call-overload, no-any-return]


def test_pictures_one_after_the_other() -> None:
    pictures = []
    for rgb in sfumato.live(SOURCE, style="identity", max_age_ms=5000):
        pictures.append(rgb)
        if len(pictures) == 5:
            break
    assert all(rgb.shape == (64, 96, 3) and rgb.dtype == np.uint8 for rgb in pictures)
    assert any((pictures[0] != rgb).any() for rgb in pictures)


FIRST_RUN = """
import numba.core.event, sfumato

shown, late = [], []

class Compiling(numba.core.event.Listener):
    def on_start(self, event): ...
    def on_end(self, event):
        function = event.data["dispatcher"].py_func
        if shown and "kernels" in function.__module__:
            late.append(function.__qualname__)

numba.core.event.register("numba:compile", Compiling())
sfumato.live(
    "lavfi:testsrc2=size=96x64:rate=30,noise=alls=8:allf=t",
    duration_s=4, max_age_ms=5000, on_frame=lambda rgb: shown.append(1),
)
for _ in zip(run := sfumato.live("lavfi:testsrc2=size=96x64:rate=30", duration_s=2), range(20)):
    run.switch(scale=0.5)
print(len(shown), *late)
"""


@pytest.mark.slow
def test_a_first_run_compiles_nothing_once_pictures_flow(tmp_path: Path) -> None:
    caches = {"NUMBA_CACHE_DIR": str(tmp_path / "numba"), "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", FIRST_RUN],
        env={**os.environ, **caches},
        capture_output=True,
        text=True,
        check=True,
    )
    shown, *late = done.stdout.split()
    assert int(shown) > 20 and late == []


def test_a_callback_until_stopped() -> None:
    stop, seen = Event(), []

    def show(rgb: NDArray[np.uint8]) -> None:
        seen.append(rgb.shape)
        if len(seen) == 3:
            stop.set()

    run = sfumato.live(SOURCE, style="identity", max_age_ms=5000, on_frame=show, stop=stop)
    assert seen[:3] == [(64, 96, 3)] * 3
    assert run.stats().shown >= 3


def test_knobs_while_it_runs() -> None:
    run = sfumato.live(SOURCE, style="identity", max_age_ms=5000)
    with pytest.raises(ValueError, match="nothing runs yet"):
        run.stats()
    for number, _ in enumerate(run):
        if number == 0:
            run.switch(strength=0.5)
            with pytest.raises(sfumato.StyleError):
                run.switch(style="nothing")
        if number == 2:
            assert run.stats().strength == 0.5
            run.stop()


def test_a_file_ends_the_loop(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4", frames=5)
    assert 1 <= len(list(sfumato.live(clip, style="identity", max_age_ms=5000))) <= 5


def test_a_live_run_with_everything(tmp_path: Path) -> None:
    record, report = tmp_path / "out.mp4", tmp_path / "report.json"
    done = live(
        *("--source", SOURCE, "--sink", "null", "--sink", f"{tmp_path}/hls/", *QUICK),
        *("--record", str(record), "--report", str(report), "--duration", "1.5"),
    )
    assert done.returncode == 0, done.stderr
    assert b"null" in done.stderr and b"fps, age" in done.stderr
    figures = json.loads(report.read_text())
    assert figures["frames_out"] > 5 and figures["age_ms"]["p95"] >= figures["age_ms"]["p50"] > 0
    assert figures["style"] == "identity" and figures["governor"] == []
    assert "predicted_peak_rss_bytes" not in figures  # nothing was promised
    assert isinstance(figures["dropped"], dict) and figures["stage_ms"]["decode"] > 0
    with av.open(str(record)) as container:
        times = [float(frame.time or 0) for frame in container.decode(video=0)]
    assert times == sorted(times) and 0.5 < times[-1] < 10
    assert (tmp_path / "hls" / "live.m3u8").exists()


@pytest.mark.parametrize(
    ("sink", "tracks", "said"), [("x.mkv", 2, 1), ("x.mkv", 0, 0), ("-", 1, 0)]
)
def test_sound_that_is_left_out_is_told_of_once(
    tmp_path: Path, sink: str, tracks: int, said: int
) -> None:
    make_clip(tmp_path / "clip.mp4", audio_tracks=tracks)
    done = live("--source", "clip.mp4", "--sink", sink, *QUICK, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(b"sound is left out") == said


def test_a_pipe_on_both_sides() -> None:
    frames = b"".join(b"FRAME\n" + bytes([40 * n]) * 384 for n in range(5))
    given = b"YUV4MPEG2 W16 H16 F10:1 Ip A1:1 C420jpeg\n" + frames
    done = live(
        *("--source", "-", "--realtime", "--sink", "-", "--quiet", "--smooth", "0", *QUICK),
        input=given,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(b"YUV4MPEG2 W16 H16 F10:1")
    assert 1 <= done.stdout.count(b"FRAME\n") <= 5


@pytest.mark.parametrize(("rest", "said"), [(0, False), (200, True)])
def test_a_picture_that_is_cut_off_is_told_of(tmp_path: Path, rest: int, said: bool) -> None:
    given = b"YUV4MPEG2 W16 H16 F10:1 Ip A1:1 C420jpeg\n" + (b"FRAME\n" + bytes(384)) * 3
    given += (b"FRAME\n" + bytes(rest)) * bool(rest)
    (tmp_path / "film.y4m").write_bytes(given)
    for source in ("-", "film.y4m"):
        words = ("--source", source, "--realtime", "--sink", "null", *QUICK)
        done = live(*words, input=given, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert (b"the last picture was cut off" in done.stderr) == said


def test_nothing_through_a_pipe_is_one_line() -> None:
    done = live("--source", "-", "--sink", "null", input=b"")
    (line,) = done.stderr.splitlines()
    assert done.returncode == 1
    assert line == (
        b"Error: cannot read standard input: nothing comes through it; pipe a video into it"
    )


def test_a_fault_elsewhere_leaves_the_recording_whole(tmp_path: Path) -> None:
    """A viewer cannot be reached: the run fails, and what was recorded until then can be played."""
    record = tmp_path / "out.mp4"
    done = live(
        *("--source", SOURCE, "--sink", "tcp://127.0.0.1:9", "--record", str(record), *QUICK)
    )
    assert done.returncode == 1 and b"Connection refused" in done.stderr
    if record.exists():  # it may have had a picture by then, or not
        with av.open(str(record)) as container:
            assert sum(1 for _ in container.decode(video=0)) > 0
    assert not list(tmp_path.glob(".*"))


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_properly(tmp_path: Path, number: signal.Signals) -> None:
    record = tmp_path / "out.mp4"
    process = subprocess.Popen(
        command("--source", SOURCE, "--sink", "null", "--record", str(record), *QUICK),
        stderr=subprocess.PIPE,
    )
    wait_for(lambda: list(tmp_path.glob("out.recording*")), "the recording to begin")
    time.sleep(0.5)
    process.send_signal(number)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 0, said  # a live run has no other end: it is done, not broken off
    with av.open(str(record)) as container:
        assert sum(1 for _ in container.decode(video=0)) > 0


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("ending", ["mp4", "mov", "mkv"])
def test_what_was_recorded_before_a_kill_can_be_played(tmp_path: Path, ending: str) -> None:
    record = tmp_path / f"out.{ending}"
    process = subprocess.Popen(
        command("--source", SOURCE, "--sink", "null", "--record", str(record), *QUICK)
    )
    wait_for(lambda: [f for f in tmp_path.iterdir() if f.stat().st_size > 50_000], "some seconds")
    process.kill()
    process.wait()
    (left,) = tmp_path.iterdir()
    assert left.name == f"out.recording-{process.pid}.{ending}"
    with av.open(str(left)) as container:
        assert sum(1 for _ in container.decode(video=0)) > 20
    again = live("--source", SOURCE, "--duration", "0.5", "--sink", str(record), *QUICK)
    assert again.returncode == 0 and left.name.encode() in again.stderr
    assert sorted(tmp_path.iterdir()) == sorted([record, left])


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_reader_that_stalls_holds_up_neither_end_nor_recording(tmp_path: Path) -> None:
    record = tmp_path / "out.mp4"
    process = subprocess.Popen(
        command("--source", SOURCE, "--sink", "-", "--record", str(record), *QUICK),
        stdout=subprocess.PIPE,  # and nobody reads it
        stderr=subprocess.PIPE,
    )
    wait_for(lambda: list(tmp_path.glob("out.recording*")), "the recording to begin")
    time.sleep(1)  # 64 KiB of pipe are full after eight pictures
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 0
    assert process.stderr is not None and process.stdout is not None
    assert b"standard output did not take its last pictures" in process.stderr.read()
    process.stderr.close()
    process.stdout.close()
    with av.open(str(record)) as container:
        assert sum(1 for _ in container.decode(video=0)) > 0


@pytest.mark.parametrize("option", ["--sink", "--record", "--report"])
def test_the_source_is_never_written_to(tmp_path: Path, option: str) -> None:
    clip = make_clip(tmp_path / "clip.mp4", frames=5)
    before = clip.read_bytes()
    other = tmp_path / "link.mp4"
    other.symlink_to(clip)
    sink = () if option == "--sink" else ("--sink", "null")
    done = live("--source", str(clip), *sink, option, str(other), "--overwrite", *QUICK)
    assert done.returncode == 1 and b"is the input itself" in done.stderr
    assert clip.read_bytes() == before


def test_runs_that_cannot_be() -> None:
    with pytest.raises(sfumato.SettingsError, match="did you mean smooth"):
        sfumato.live(SOURCE, smoth=0.5)  # type: ignore[call-arg]
    for duration_s in (-1.0, 0.0, float("nan")):
        with pytest.raises(sfumato.SettingsError, match="--duration"):
            sfumato.live(SOURCE, duration_s=duration_s)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--source", "77", "--sink", "null"], 1, "there is no camera /dev/video77"),
        (["--source", "nothing.mp4", "--sink", "null"], 1, "no file or camera is called that"),
        (["--source", "nocam", "--sink", "null"], 1, "--source nocam: no file or camera is called"),
        (["--source", "nocam", "--sink", "null"], 1, "`sfumato doctor` lists the cameras"),
        (["--source", SOURCE, "--sink", "nope://x"], 1, "nope is not known; use rtmp"),
        (["--source", SOURCE, "--sink", "nowhere/out.mp4"], 1, "create it first"),
        (["--source", SOURCE, "--sink", "null", "--style", "tune"], 1, "no style 'tune'"),
        (["--source", SOURCE, "--scale", "7"], 2, "--scale 7"),
        (["--source", SOURCE, "--size", "big"], 2, "write WIDTHxHEIGHT"),
        (["--source", SOURCE, "--max-age", "1"], 2, "--max-age 1"),
        (["--source", SOURCE, "--size", "0x0"], 2, "write WIDTHxHEIGHT"),
        (["--source", SOURCE, "--sink", "null", "--duration", "nan"], 2, "--duration nan"),
        (["--source", SOURCE, "--sink", ""], 1, "has no name"),
        (["--source", SOURCE, "--sink", "-", "--sink", "-"], 1, "-: given twice"),
        (["--source", SOURCE, "--sink", "a.mp4", "--record", "./a.mp4"], 1, "a.mp4: given twice"),
        (["--source", SOURCE, "--sink", "h/", "--sink", "h/live.m3u8"], 1, "given twice"),
    ],
)
def test_what_cannot_be_is_one_line(words: list[str], code: int, said: str, tmp_path: Path) -> None:
    if sys.platform != "linux" and "77" in words:
        pytest.skip("the message is Linux's")
    done = live(*words, cwd=tmp_path)
    text = done.stderr.decode()
    assert done.returncode == code and said in text and "Traceback" not in text
    assert text.count("Error") == 1
    assert list(tmp_path.iterdir()) == []
