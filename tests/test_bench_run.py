"""`sfumato bench` for real: small jobs, each in a process of its own under a limit that holds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event, Timer

import av
import pytest

from sfumato.stream.bench.cell import CellRunner
from sfumato.stream.bench.clips import clip_at, duration_s, fingerprint
from sfumato.stream.bench.holder import Holder, ResourceLimit, find_holder
from sfumato.stream.bench.leftovers import own_prefix, remove_folders, remove_groups
from sfumato.stream.bench.matrix import BenchSettings, Cell
from sfumato.stream.bench.process import Commands
from sfumato.stream.errors import SourceError, Stopped
from sfumato.stream.media.sample import draw_clip

MIB = 2**20
_GREEDY = "block = bytearray(400 * 2**20); print(len(block))"


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw_clip(tmp_path_factory.mktemp("clip") / "clip.mp4", size_px=(128, 96), frames=12)


@pytest.fixture(scope="module")
def holder() -> Holder:
    return find_holder()


@pytest.fixture
def commands(holder: Holder, tmp_path: Path) -> Iterator[Commands]:
    yield Commands(holder, tmp_path, Event())


def test_a_clip_is_scaled_once_and_cut(clip: Path, tmp_path: Path) -> None:
    small = clip_at(clip, "48p", 5, tmp_path / "made")
    with av.open(str(small)) as container:
        [video] = container.streams
        assert isinstance(video, av.VideoStream)
        assert (video.width, video.height) == (64, 48)
        assert sum(1 for _ in container.decode(video)) == 5
    written_ns = small.stat().st_mtime_ns
    assert clip_at(clip, "48p", 5, tmp_path / "made") == small
    assert small.stat().st_mtime_ns == written_ns
    assert clip_at(clip, "source", 5, tmp_path) == clip
    assert duration_s(clip, 5) == pytest.approx(0.2)
    assert fingerprint(clip).startswith("clip.mp4 ")


def test_what_is_no_video_is_named(tmp_path: Path) -> None:
    text = tmp_path / "notes.mp4"
    text.write_text("not a film")
    with pytest.raises(SourceError, match=r"notes\.mp4"):
        clip_at(text, "48p", 5, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.mp4"]


def test_a_command_beyond_its_limit_does_not_finish(commands: Commands, holder: Holder) -> None:
    if holder.name == "nothing":
        pytest.skip(holder.warning or "")
    words = [sys.executable, "-c", _GREEDY]
    assert commands.run(words, {}, 800 * MIB).output == f"{400 * MIB}\n"
    ended = commands.run(words, {}, 100 * MIB)
    assert ended.output == ""
    if holder.warning is None:
        assert ended.code == -9
    else:
        assert ended.said == "MemoryError"


@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_DATA holds on Linux alone")
def test_without_groups_allocations_fail_at_the_limit(tmp_path: Path) -> None:
    commands = Commands(ResourceLimit(), tmp_path, Event())
    words = [sys.executable, "-c", _GREEDY]
    assert commands.run(words, {}, 800 * MIB).code == 0
    ended = commands.run(words, {}, 100 * MIB)
    assert (ended.code, ended.said) == (1, "MemoryError")


def test_a_command_is_ended_when_asked(holder: Holder, tmp_path: Path) -> None:
    stop = Event()
    timer = Timer(0.3, stop.set)
    timer.start()
    with pytest.raises(Stopped):
        Commands(holder, tmp_path, stop).run(["sleep", "60"], {}, 100 * MIB)
    timer.join()


_CHILD = """
import os, time
from sfumato.stream.bench.job import end_with_parent
end_with_parent(os.getppid())
print("ready", flush=True)
time.sleep(60)
"""
_PARENT = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process of its parent")
def test_a_job_ends_with_its_bench_even_if_that_is_killed() -> None:
    words = [sys.executable, "-c", _PARENT, _CHILD]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "ready\n"
        parent.kill()
        assert parent.stdout.read() == ""  # the end of the pipe: nobody holds it any more


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process of its parent")
def test_a_job_that_comes_too_late_does_nothing() -> None:
    words = [sys.executable, "-m", "sfumato.stream.bench.job", str(_dead()), "model", "list"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "") and "has gone" in done.stderr


def _dead() -> int:
    """The number of a process that has ended."""
    with subprocess.Popen(["true"]) as process:
        pass
    return process.pid


def test_only_what_dead_benches_left_is_removed(tmp_path: Path) -> None:
    kept = {f"{own_prefix()}abc", "sfumato-bench-abc", f"other-{_dead()}-abc"}
    left = f"sfumato-bench-{_dead()}-abc"
    for name in (*kept, left):
        (tmp_path / name).mkdir()
    remove_groups(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == kept
    (tmp_path / left / "caches").mkdir(parents=True)
    remove_folders(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == kept


def settings(clip: Path) -> BenchSettings:
    return BenchSettings(clip=fingerprint(clip), frames=8, runs=1, cold=False, preset="ultrafast")


def test_cells_are_measured_or_say_why_not(clip: Path, holder: Holder, tmp_path: Path) -> None:
    cell = Cell("64x48", "1G", "toon", "int8")
    with CellRunner(clip, settings(clip), holder, tmp_path, Event()) as measure:
        done = measure(cell)
        missing = measure(replace(cell, style="nosuch"))
    assert done.status == "ok" and done.cold_start_s is None
    assert [run["frames_out"] for run in done.runs] == [8]
    for run in done.runs:
        assert run["precision"] == "int8" and run["peak_rss_bytes"] > 50 * MIB
        assert 0 < run["latency_ms"]["p50"] <= run["latency_ms"]["p95"]
        assert run["first_frame_s"] < run["start_s"] < 60 and run["steady_fps"] > 0
    assert missing.status == "failed" and "there is no style 'nosuch'" in missing.reason
    assert missing.runs == []


def sfumato_bench(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sfumato", "bench", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_bench_of_two_limits_from_end_to_end(clip: Path, holder: Holder, tmp_path: Path) -> None:
    words: list[str | Path] = [clip, "--sizes", "64x48", "--memory-limits", "64M,1G"]
    words += ["--frames", "8", "--runs", "2", "--json", tmp_path / "r.json"]
    words += ["--plot", tmp_path / "r.png", "--markdown", tmp_path / "r.md"]
    done = sfumato_bench(*words)
    assert done.returncode == 0, done.stderr
    cells = json.loads((tmp_path / "r.json").read_text())["cells"]
    outcomes = {cell["cell"]["limit"]: cell["status"] for cell in cells}
    assert outcomes["1G"] == "ok"
    assert outcomes["64M"] in ("killed", "refused") or holder.warning is not None
    assert cells[1]["cold_start_s"] > cells[1]["figures"]["warm_start_s"]["median"]
    assert done.stdout in (tmp_path / "r.md").read_text()
    assert (tmp_path / "r.png").stat().st_size > 5000
    again = sfumato_bench(*words, "--compare", tmp_path / "r.json")
    assert again.returncode == 0 and "measuring" not in again.stderr  # everything was there
    assert again.stdout.startswith(done.stdout) and "No change in 2 cells." in again.stdout


@pytest.mark.slow
def test_a_regression_is_exit_code_1(clip: Path, tmp_path: Path) -> None:
    words: list[str | Path] = [clip, "--sizes", "64x48", "--memory-limits", "none", "--frames", "8"]
    words += ["--runs", "1", "--no-cold"]
    assert sfumato_bench(*words, "--json", tmp_path / "old.json").returncode == 0
    old = json.loads((tmp_path / "old.json").read_text())
    for run in old["cells"][0]["runs"]:
        run["peak_rss_bytes"] //= 2
    (tmp_path / "old.json").write_text(json.dumps(old))
    done = sfumato_bench(*words, "--compare", tmp_path / "old.json")
    assert done.returncode == 1, done.stderr
    assert "measured on another machine" not in done.stderr
    assert "| peak MiB |" in done.stdout and "| regression |" in done.stdout


@pytest.mark.slow
def test_an_interrupted_bench_keeps_what_is_done(clip: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    words = [str(clip), "--sizes", "64x48", "--memory-limits", "1G,none,2G", "--frames", "8"]
    words += ["--runs", "1", "--no-cold", "--json", str(path)]
    command = [sys.executable, "-m", "sfumato", "bench", *words]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "none" in line:  # the second cell begins
                break
        os.killpg(process.pid, signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode == 130 and "keeps what is done" in said
    assert [cell["cell"]["limit"] for cell in json.loads(path.read_text())["cells"]] == ["1G"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--sizes", "huge"], "--sizes 'huge'"),
        (["--memory-limits", "12Q"], "--memory-limits '12Q'"),
        (["--compare", "nosuch.json"], "nosuch.json"),
        (["--json", "nosuch/r.json"], "nosuch"),
        (["--styles", "toon,nosuch"], "there is no style 'nosuch'"),
        (["--preset", "hasty"], "--preset hasty"),
        (["--json", "r", "--markdown", "r"], "r is given twice"),
        pytest.param(
            ["--json", "/proc/r.json"],
            "cannot write /proc/r.json",
            marks=pytest.mark.skipif(sys.platform != "linux", reason="a folder that takes no file"),
        ),
    ],
)
def test_bad_options_are_one_line_before_any_work(words: list[str], message: str) -> None:
    done = sfumato_bench(*words)
    assert done.returncode in (1, 2) and message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_the_film_itself_is_never_replaced_by_results(clip: Path) -> None:
    before = clip.read_bytes()
    done = sfumato_bench(clip, "--json", clip, "--overwrite")
    assert done.returncode == 1 and "is the input itself" in done.stderr
    assert clip.read_bytes() == before
