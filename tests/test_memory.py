"""Memory of whole 720p jobs in fresh processes: bounded, and flat when jobs repeat."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato.stream.media.sample import sample_clip

pytestmark = pytest.mark.slow

_REPEAT = """
import json, sys, psutil, sfumato
sizes = []
for turn in range(10):
    sfumato.stylize(sys.argv[1], sys.argv[2], preset="superfast", overwrite=True)
    sizes.append(psutil.Process().memory_info().rss)
print(json.dumps(sizes))
"""


def test_a_720p_job_stays_below_400_mb(tmp_path: Path) -> None:
    clip, report = sample_clip(tmp_path), tmp_path / "report.json"
    words = ["run", str(clip), "-o", str(tmp_path / "out.mp4"), "--preset", "superfast"]
    subprocess.run([sys.executable, "-m", "sfumato", *words, "--report", str(report)], check=True)
    assert json.loads(report.read_text())["peak_rss_bytes"] <= 400 * 10**6


def test_ten_jobs_in_one_process_stay_flat(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _REPEAT, str(sample_clip(tmp_path)), str(tmp_path / "out.mp4")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    sizes = json.loads(done.stdout)
    assert max(sizes[5:]) < 1.03 * max(sizes[1:5])
