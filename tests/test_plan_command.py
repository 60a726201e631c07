"""``sfumato plan`` and ``--memory-limit``: what people and programs read, and what is painted."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import sfumato
from sfumato.stream import pipeline
from sfumato.stream.plan import Plan
from sfumato.stream.steer import Steering
from tests.media import make_clip, pictures
from tests.test_cli import sfumato as command

KEYS = {
    "fits", "reason", "plan", "fps", "seconds", "peak_rss_bytes", "memory_bytes", "limit_bytes",
    "error_percent", "changes",
}  # fmt: skip


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_clip(tmp_path_factory.mktemp("clip") / "in.mp4", size_px=(320, 192), frames=24)


def test_the_plan_as_json_keeps_its_shape(clip: Path) -> None:
    done = command("plan", str(clip), "--memory-limit", "1G", "--json")
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    assert set(plan) == KEYS
    assert plan["fits"] is True and plan["reason"] is None
    assert plan["peak_rss_bytes"] == sum(plan["memory_bytes"].values()) < plan["limit_bytes"]
    assert plan["limit_bytes"] == 2**30 and plan["fps"] > 0 and plan["seconds"] > 0
    assert {"tile", "workers", "queue", "encoder_threads", "lookahead"} <= set(plan["plan"])


def test_people_see_parts_as_bars(clip: Path) -> None:
    done = command("plan", str(clip), "--memory-limit", "1G")
    assert done.returncode == 0, done.stderr
    for word in ("toon at int8", "fps", "program", "network", "encoder", "peak", "1024 MiB", "━"):
        assert word in done.stdout


def test_people_see_how_much_changes(clip: Path) -> None:
    done = command("plan", str(clip))
    assert done.returncode == 0, done.stderr
    words = " ".join(done.stdout.split())
    assert "of 20 frames looked at, 100% of pixels are painted anew" in words


@pytest.mark.parametrize(
    "words", [["-o", "out.nope"], ["-o", "out.webm", "--codec", "libx264"], ["-o", "out.m3u8"]]
)
def test_what_run_could_not_write_is_not_planned_either(
    clip: Path, tmp_path: Path, words: list[str]
) -> None:
    said = [
        command(name, str(clip), words[0], str(tmp_path / words[1]), *words[2:])
        for name in ("plan", "run")
    ]
    assert [done.returncode for done in said] == [1, 1]
    assert said[0].stderr == said[1].stderr and said[0].stderr.count("\n") == 1
    assert said[0].stdout == "" and not list(tmp_path.iterdir())


def test_a_plan_refuses_places_that_a_job_would_refuse(clip: Path, tmp_path: Path) -> None:
    for target, words in {
        clip: "is the input itself",
        tmp_path: "is a folder",
        tmp_path / "nowhere" / "x.mp4": "does not exist",
    }.items():
        done = command("plan", str(clip), "-o", str(target))
        assert done.returncode == 1 and words in done.stderr and not done.stdout


def test_a_plan_needs_no_free_name(clip: Path, tmp_path: Path) -> None:
    taken = tmp_path / "taken.mp4"
    taken.write_bytes(b"mine")
    assert command("plan", str(clip), "-o", str(taken)).returncode == 0
    assert taken.read_bytes() == b"mine" and list(tmp_path.iterdir()) == [taken]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is always full")
@pytest.mark.parametrize("words", [[], ["--json"]])
def test_a_plan_that_cannot_be_printed_is_one_line(clip: Path, words: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "sfumato", "plan", str(clip), *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("Error: cannot write standard output: the disk is full")
    assert len(done.stderr.splitlines()) == 1


def test_too_little_is_one_line_and_exit_code_1(clip: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.mp4"
    planned = command("plan", str(clip), "--memory-limit", "60M")
    assert planned.returncode == 1 and "does not fit" in planned.stdout
    done = command("run", str(clip), "-o", str(target), "--memory-limit", "60M")
    assert done.returncode == 1
    for text in (planned.stderr, done.stderr):
        line = text.strip().splitlines()[-1]
        assert line.startswith("Error: --memory-limit 60 MiB is too little for 320x192: it needs")
    assert not target.exists()


def test_a_limit_that_is_no_size_is_a_usage_error(clip: Path) -> None:
    done = command("plan", str(clip), "--memory-limit", "lots")
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "'lots'" in done.stderr


def test_what_was_promised_is_in_the_report(clip: Path, tmp_path: Path) -> None:
    report = sfumato.stylize(clip, tmp_path / "out.mp4", memory_limit_bytes=4 * 2**30)
    assert report.memory_limit_bytes == 4 * 2**30
    assert 0 < report.predicted_peak_rss_bytes < 4 * 2**30


def test_a_job_that_cannot_fit_raises(clip: Path, tmp_path: Path) -> None:
    with pytest.raises(sfumato.BudgetError, match="too little"):
        sfumato.stylize(clip, tmp_path / "out.mp4", memory_limit_bytes=2**21)
    assert not list(tmp_path.iterdir())


class _Shrinking(Steering):
    """Finds memory short at every third frame."""

    frames = 0
    taken: list[Plan]

    def next_plan(self) -> Plan | None:
        self.frames += 1
        plan = self._shrunk() if self.frames % 3 == 0 else None
        if plan is not None:
            self._plan = plan
            self.taken.append(plan)
        return plan


@pytest.mark.parametrize("reuse", ["auto", "off"])
def test_a_job_that_shrinks_paints_the_same_pictures(
    clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reuse: str
) -> None:
    options = {"codec": "ffv1", "reuse": reuse, "workers": 2, "overwrite": True}
    sfumato.stylize(clip, tmp_path / "usual.mkv", **options)  # type: ignore[arg-type]
    _Shrinking.taken = []
    monkeypatch.setattr(pipeline, "Steering", _Shrinking)
    report = sfumato.stylize(clip, tmp_path / "shrunk.mkv", **options)  # type: ignore[arg-type]
    shapes = [plan.tile_px for plan in _Shrinking.taken]
    assert _Shrinking.taken[0].frames_in_flight == 1 and len(set(shapes)) >= 2
    assert any("tiles cut to" in warning for warning in report.warnings)
    assert report.tiles_reused == 0 or reuse == "auto"
    pairs = zip(pictures(tmp_path / "usual.mkv"), pictures(tmp_path / "shrunk.mkv"), strict=True)
    assert all(np.array_equal(a, b) for a, b in pairs)


def _numbers(items: int) -> Iterator[int]:
    yield from range(items)


def test_a_queue_can_be_made_shorter_while_it_is_full() -> None:
    from sfumato.stream.flow import Depth, prefetch

    depth = Depth(8)
    numbers = prefetch(_numbers(100), depth, "numbers")
    taken = [next(numbers)]
    depth.shrink(1)
    taken += list(numbers)
    assert taken == list(range(100)) and depth.queue.maxsize == 1
