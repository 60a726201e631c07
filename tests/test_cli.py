"""The command line: exit codes, one-line errors, help, and documentation that keeps up."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import numpy as np
import pytest

from sfumato.stream.cli import cli
from sfumato.stream.errors import SinkError
from tests.media import make_clip

ROOT = Path(__file__).parent.parent


def sfumato(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sfumato", *words],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
    )


def commands(group: click.Group, path: str = "") -> dict[str, click.Command]:
    found: dict[str, click.Command] = {}
    for name, command in group.commands.items():
        words = f"{path} {name}".strip()
        if isinstance(command, click.Group):
            found |= commands(command, words)
        else:
            found[words] = command
    return found


@pytest.fixture(scope="module")
def picture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import cv2

    path = tmp_path_factory.mktemp("picture") / "in.png"
    rows, columns = np.mgrid[:72, :96]
    cv2.imwrite(str(path), np.stack([rows * 3, columns * 2, rows + columns], -1).astype(np.uint8))
    return path


@pytest.mark.parametrize("words", commands(cli))
def test_every_command_has_help_and_is_in_the_readme(words: str) -> None:
    command = commands(cli)[words]
    assert command.help and len(command.help) > 20
    assert f"sfumato {words}" in (ROOT / "README.md").read_text()
    for param in command.params:
        if isinstance(param, click.Option):
            assert param.help, f"{words}: {param.name} has no help"


def test_run_paints_a_picture_and_reports(picture: Path, tmp_path: Path) -> None:
    target, report = tmp_path / "out.png", tmp_path / "report.json"
    done = sfumato("run", str(picture), "-o", str(target), "--report", str(report))
    assert done.returncode == 0, done.stderr
    assert target.stat().st_size > 0 and "1 frame in" in done.stderr
    figures = json.loads(report.read_text())
    assert done.stderr.endswith(f"peak memory {figures['peak_rss_bytes'] / 2**20:.0f} MiB\n")
    assert figures["frames_in"] == figures["frames_out"] == 1
    assert figures["style"] == "toon" and figures["tiles_run"] >= 1
    assert set(figures["stage_ms"]) == {"decode", "gather", "infer", "scatter", "smooth", "encode"}
    assert {"tile", "overlap", "workers", "intra_op", "queue"} <= set(figures["plan"])
    assert {"matrix", "range", "guessed"} <= set(figures["color"])
    assert done.stdout == ""


@pytest.mark.parametrize(("tags", "said"), [({}, True), ({"colorspace": 6}, False)])
def test_a_guess_at_colours_is_said_without_alarm(
    tmp_path: Path, tags: dict[str, int], said: bool
) -> None:
    clip = make_clip(tmp_path / "clip.mp4", tags=tags)
    done = sfumato("run", str(clip), "-o", "out.mp4", "--style", "identity", cwd=tmp_path)
    assert ("colours taken as BT.601" in done.stderr) == said
    assert "note: no colour matrix" not in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["run", "missing.mp4", "-o", "out.mp4"], 1, "missing.mp4"),
        (["run", "IN", "-o", "out.mp4", "--style", "tune"], 1, "tune"),
        (["run", "IN", "-o", "nowhere/out.png"], 1, "nowhere"),
        (["run", "IN", "-o", "out.unknown"], 1, "unknown"),
        (["run", "IN", "-o", "out.png", "--tile", "100x64"], 2, "--tile 100x64"),
        (["run", "IN", "-o", "out.png", "--tile", "big"], 2, "--tile 'big'"),
        (["run", "IN", "-o", "out.png", "--workers", "-1"], 2, "--workers '-1'"),
        (["run", "IN", "-o", "out.png", "--strength", "2"], 2, "--strength 2.0"),
        (["run", "IN", "-o", "out.png", "--provider", "npu"], 1, "npu"),
        (["run", "IN", "-o", "out.mp4", "--crf", "99"], 2, "--crf 99 should be 0 (best) to 51"),
        (["run", "IN", "-o", "out.mp4", "--crf", "60"], 2, "--crf 60 should be 0 (best) to 51"),
        (["run", "IN", "-o", "out.mp4", "--preset", "wild"], 2, "one of ultrafast, superfast"),
        (["run", "IN", "-o", "out.mp4", "--codec", "x266"], 1, "try x265 or x264"),
        (["run", "IN", "-o", "-", "--crf", "20"], 2, "--crf 20: '-' is y4m"),
        (["model", "train", "zzz", "--content", ".", "-o", "x"], 1, "toon, toon-fast, oil"),
        (["run", "IN"], 2, "--output"),
    ],
)
def test_bad_input_is_one_clear_line(
    picture: Path, tmp_path: Path, words: list[str], code: int, message: str
) -> None:
    done = sfumato(*[str(picture) if word == "IN" else word for word in words], cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert message in done.stderr and "Traceback" not in done.stderr
    assert done.stderr.startswith("Error: ") and done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "command", "message"),
    [
        (["paint"], "", "No such command 'paint'"),
        (["run"], " run", "Missing argument 'INPUT'"),
        (["run", "a.mp4", "-o", "b.mp4", "--precison", "int8"], " run", "--precision"),
        (["run", "a.mp4", "-o", "b.mp4", "--crf", "x"], " run", "'--crf': 'x' is not"),
        (["live", "--sink"], " live", "'--sink' requires an argument"),
        (["model", "train"], " model train", "Missing option '--content'"),
        (["model", "train", "--content", "no", "-o", "x"], " model train", "'no' does not exist"),
    ],
)
def test_wrong_words_are_one_line_that_points_to_help(
    words: list[str], command: str, message: str
) -> None:
    done = sfumato(*words)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: ") and done.stderr.count("\n") == 1
    assert message in done.stderr
    assert re.search(rf"[.?] See `.*sfumato{command} --help`\.$", done.stderr.strip())


def test_no_words_at_all_show_the_help() -> None:
    done = sfumato("model")
    assert done.returncode == 2 and "Commands:" in done.stderr


def test_existing_output_is_kept_unless_told(picture: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.png"
    target.write_bytes(b"precious")
    done = sfumato("run", str(picture), "-o", str(target), "--style", "identity")
    assert done.returncode == 1 and "--overwrite" in done.stderr
    assert target.read_bytes() == b"precious"


def test_a_report_destroys_nothing(picture: Path, tmp_path: Path) -> None:
    source, target = tmp_path / "in.png", tmp_path / "out.png"
    source.write_bytes(picture.read_bytes())
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    words = ["run", str(source), "-o", str(target), "--style", "identity", "--report"]
    missing = tmp_path / "no" / "r.json"
    cases = {
        source: "is the input",
        target: "is the output",
        pipe: "is a device",
        missing: "no does",
    }
    for report, reason in cases.items():
        with pytest.raises(SinkError, match=reason):
            cli.main([*words, str(report)], standalone_mode=False)
        assert not target.exists()
    assert source.read_bytes() == picture.read_bytes() and pipe.is_fifo()


def test_closed_standard_streams_do_no_harm(picture: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "sfumato", "run", str(picture), "--style", "identity", "-o"]
    shell = ["sh", "-c", '"$@" <&- >&- 2>&-', "sh", *words, str(tmp_path / "out.mkv")]
    assert subprocess.run(shell, check=False).returncode == 0
    assert (tmp_path / "out.mkv").stat().st_size > 0
    shell = ["sh", "-c", '"$@" >&-', "sh", *words, "-"]
    done = subprocess.run(shell, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "Error: standard output is closed; name a file instead of '-'\n"


def test_demo_spares_pictures_and_wants_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"precious")
    with pytest.raises(SinkError, match=r"a\.png exists; use --overwrite"):
        cli.main(["demo", "-o", str(tmp_path / "a.mp4")], standalone_mode=False)
    assert (tmp_path / "a.png").read_bytes() == b"precious"
    with pytest.raises(click.BadParameter, match="name a video"):
        cli.main(["demo", "-o", "-"], standalone_mode=False)


@pytest.mark.parametrize("stop", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_interrupts_leave_nothing_and_exit_130(tmp_path: Path, stop: str) -> None:
    source = tmp_path / "in.y4m"
    size, frame = (64, 48), bytes(64 * 48 * 3 // 2)
    with source.open("wb") as file:
        file.write(b"YUV4MPEG2 W%d H%d F25:1 C420jpeg\n" % size)
        file.writelines([b"FRAME\n" + frame] * 20000)
    target = tmp_path / "out" / "out.mp4"
    target.parent.mkdir()
    words = ["run", str(source), "-o", str(target), "--style", "identity"]
    job = subprocess.Popen(
        [sys.executable, "-m", "sfumato", *words], stderr=subprocess.PIPE, text=True
    )
    deadline_s = time.monotonic() + 60
    while not os.listdir(target.parent) and time.monotonic() < deadline_s:
        time.sleep(0.05)
    time.sleep(0.3)
    for _ in range(3):  # impatient users press more than once
        job.send_signal(getattr(signal, stop))
        time.sleep(0.02)
    _, errors = job.communicate(timeout=30)
    assert job.returncode == 130, errors
    assert "Interrupted" in errors and "Traceback" not in errors
    assert os.listdir(target.parent) == []


def test_model_list_is_json() -> None:
    rows = json.loads(sfumato("model", "list", "--json").stdout)
    assert {"toon", "identity"} <= {row["name"] for row in rows}
    assert all(row["files"] and row["spec"]["licence"] for row in rows)


def test_model_inspect_is_json() -> None:
    facts = json.loads(sfumato("model", "inspect", "toon", "--json").stdout)
    assert facts["spec"]["name"] == "toon"


def test_doctor_says_what_there_is() -> None:
    facts = json.loads(sfumato("doctor", "--json").stdout)
    assert "cpu" in facts["providers"] and "libx264" in facts["encoders"]
    assert facts["kernels"].startswith("kept ")
