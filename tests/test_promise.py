"""Under a real memory group: what the planner accepts ends within its limit, what it refuses needs
more than that."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sfumato.stream.bench.clips import clip_at
from sfumato.stream.bench.holder import Holder, find_holder
from sfumato.stream.media.sample import sample_clip

pytestmark = pytest.mark.slow

MIB = 2**20
FRAMES = {"720p": 40, "1080p": 30, "2160p": 20}
"""Enough for the encoder to hold all that it ever holds."""
LIMITS = (224, 256, 320, 384, 512, 1024)
PROMISED = {"720p": 256, "1080p": 320, "2160p": 512}
OPTIONS = ["--preset", "superfast"]
ERROR = 0.12
OTHERS = {
    "x265": ("out.mkv", "--codec", "libx265", "--preset", "ultrafast"),
    "svtav1": ("out.mkv", "--codec", "libsvtav1"),
    "vp9": ("out.webm",),
    "ffv1": ("out.mkv", "--codec", "ffv1"),
    "prores": ("out.mov", "--codec", "prores_ks"),
    "mjpeg": ("out.avi", "--codec", "mjpeg"),
    "gif": ("out.gif",),
    "png": ("out_%03d.png",),
    "jpeg": ("out_%03d.jpg",),
    "tiff": ("out_%03d.tif",),
    "half": ("out.mp4", "--scale", "0.5"),
    "half and half": ("out.mp4", "--scale", "0.5", "--strength", "0.5"),
    "feathered": ("out.mp4", "--style", "toon-fast", "--overlap", "8"),
    "large tiles": ("out.mp4", "--tile", "1280x768", "--workers", "8"),
}
"""A target and options: whatever is foreseen by other figures than those of an H.264 job."""


@pytest.fixture(scope="module")
def holder() -> Holder:
    found = find_holder()
    if found.warning is not None:
        pytest.skip(found.warning)
    return found


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("clips")
    source = sample_clip(folder)
    made = {size: clip_at(source, size, frames, folder) for size, frames in FRAMES.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
        run(["run", str(made["720p"]), "-o", "null", *OPTIONS])  # nothing is compiled later
    return made


def run(words: Sequence[str], held: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    command = [*held, *([] if held else [sys.executable, "-m", "sfumato"]), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)


def report_of(path: Path) -> dict[str, Any]:
    figures = json.loads(path.read_text())
    assert isinstance(figures, dict)
    return figures


@pytest.mark.parametrize("size", FRAMES)
@pytest.mark.parametrize("limit", LIMITS)
def test_the_limit_holds(
    holder: Holder, clips: dict[str, Path], tmp_path: Path, size: str, limit: int
) -> None:
    report, target = tmp_path / "report.json", tmp_path / "out.mp4"
    words = [sys.executable, "-m", "sfumato", "run", str(clips[size]), "-o", str(target)]
    words += [*OPTIONS, "--memory-limit", f"{limit}M", "--report", str(report)]
    with holder.limited(words, limit * MIB) as held:
        done = run([], held)
    if done.returncode == 0:
        figures = report_of(report)
        peak = figures["peak_rss_bytes"]
        assert peak <= limit * MIB
        assert figures["predicted_peak_rss_bytes"] == pytest.approx(peak, rel=ERROR)
        return
    assert done.returncode == 1 and "is too little for" in done.stderr, done.stderr
    assert limit < PROMISED[size] and not target.exists()
    smallest = smallest_plan(done.stderr)
    free = run([*words[3:], *smallest, "--overwrite", "--memory-limit", "4G"])
    assert free.returncode == 0, free.stderr
    assert report_of(report)["peak_rss_bytes"] > 0.9 * limit * MIB


@pytest.mark.parametrize("options", OTHERS.values(), ids=OTHERS)
def test_the_least_limit_holds_for_other_jobs(
    holder: Holder, clips: dict[str, Path], tmp_path: Path, options: tuple[str, ...]
) -> None:
    report, (target, *others) = tmp_path / "report.json", options
    words = [str(clips["720p"]), "-o", str(tmp_path / target), *others]
    assert run(["run", *words]).returncode == 0  # now its kernels are known to be compiled
    limit = least_limit(words)
    words += ["--overwrite", "--memory-limit", str(limit), "--report", str(report)]
    with holder.limited([sys.executable, "-m", "sfumato", "run", *words], limit) as held:
        done = run([], held)
    assert done.returncode == 0, done.stderr
    assert report_of(report)["peak_rss_bytes"] <= limit


def least_limit(words: Sequence[str]) -> int:
    """Bytes of the smallest limit with which the planner takes a job."""
    told = run(["plan", *words, "--memory-limit", "60M"])
    found = re.search(r"at least --memory-limit (\d+)M", told.stdout + told.stderr)
    assert found is not None, told.stdout + told.stderr
    return int(found[1]) * MIB


def smallest_plan(line: str) -> list[str]:
    """The options of the smallest plan that a refusal names."""
    tile = line.split("with a tile of ")[1].split()[0]
    return ["--tile", tile, "--workers", "1"]


def test_a_group_is_heeded_without_being_asked(
    holder: Holder, clips: dict[str, Path], tmp_path: Path
) -> None:
    report = tmp_path / "report.json"
    words = [sys.executable, "-m", "sfumato", "run", str(clips["720p"]), "-o"]
    words += [str(tmp_path / "out.mp4"), *OPTIONS, "--report", str(report)]
    with holder.limited(words, 320 * MIB) as held:
        done = run([], held)
    assert done.returncode == 0, done.stderr
    figures = report_of(report)
    assert figures["memory_limit_bytes"] == pytest.approx(0.95 * 320 * MIB, rel=0.01)
    assert figures["peak_rss_bytes"] <= 320 * MIB
