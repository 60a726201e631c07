"""What a job leaves alone, gives back and holds back, so that little memory is enough."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import av
import numpy as np
import pytest
from av.video.frame import PictureType

from tests.media import make_clip, pictures, repaint_file, times

_RELEASE = """
import json, re
import numpy as np
from sfumato.kernels.formats import PixelFormat
from sfumato.stream.convert import FromRgb
from sfumato.stream.footprint import release_startup_pages

def resident():
    return 1024 * int(re.search(r"VmRSS:\\s+(\\d+)", open("/proc/self/status").read())[1])

rgb = np.arange(64 * 64 * 3, dtype=np.uint8).reshape(64, 64, 3)
convert = FromRgb(PixelFormat("420", 8, "bt709", False))
before = [plane.tolist() for plane in convert(rgb)]
loaded = resident()
released = release_startup_pages()
left = resident()
again = release_startup_pages()
after = [plane.tolist() for plane in convert(rgb)]
print(json.dumps([loaded, released, left, again, before == after]))
"""

_IMPORTS = """
import sys
from sfumato.stream.cli import cli
from sfumato.stream.cli.stop import Stop

words = ["run", sys.argv[1], "-o", sys.argv[2], "--style", "identity", "-q"]
cli.main(words, standalone_mode=False, obj=Stop())
idle = {"cv2", "rich", "matplotlib", "aiohttp", "aiortc", "onnx", "torch", "scipy", "PIL"}
print(*sorted(idle & set(sys.modules)))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the figures are Linux's")
def test_pages_of_the_start_are_given_back_and_come_again() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _RELEASE], check=True, capture_output=True, text=True
    )
    loaded, released, left, again, same = json.loads(done.stdout)
    assert released > 40 << 20, "LLVM's code alone is more than that"
    assert left < loaded - 0.8 * released
    assert again < released / 4, "what is not used stays away"
    assert same


def test_a_file_job_imports_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4", frames=2)
    command = [sys.executable, "-c", _IMPORTS, str(clip), str(tmp_path / "out.mp4")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("lookahead_frames", [0, 1, 3, 12])
@pytest.mark.parametrize(
    ("name", "codec"),
    [("out.mp4", "libx264"), ("out.avi", "libx264"), ("out.mkv", "libx265"),
     ("out.mkv", "libsvtav1"), ("out.webm", "libvpx-vp9"), ("out.mkv", "ffv1")],
)  # fmt: skip
def test_a_short_lookahead_loses_no_frame(
    tmp_path: Path, name: str, codec: str, lookahead_frames: int
) -> None:
    clip = make_clip(tmp_path / "clip.mp4", frames=25)
    repaint_file(clip, tmp_path / name, codec=codec, lookahead_frames=lookahead_frames)
    assert len(pictures(tmp_path / name)) == 25
    if not name.endswith(".avi"):
        assert times(tmp_path / name) == pytest.approx(times(clip), abs=1e-3)


def test_no_lookahead_means_no_b_frames_and_no_worse_pictures(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4", frames=25)
    errors = {}
    for lookahead_frames in (None, 0):
        target = tmp_path / f"{lookahead_frames}.mp4"
        repaint_file(clip, target, preset="veryfast", lookahead_frames=lookahead_frames)
        pairs = zip(pictures(clip), pictures(target), strict=True)
        errors[lookahead_frames] = np.mean([np.square(a - 1.0 * b).mean() for a, b in pairs])
    assert errors[0] <= 1.1 * errors[None] + 0.1
    with av.open(str(tmp_path / "0.mp4")) as container:
        assert all(picture.pict_type != PictureType.B for picture in container.decode(video=0))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the figures are Linux's")
def test_a_720p_job_keeps_to_256_mib(tmp_path: Path) -> None:
    from sfumato.stream.media.sample import sample_clip

    clip, report = sample_clip(tmp_path), tmp_path / "report.json"
    words = ["run", str(clip), "-o", str(tmp_path / "out.mp4"), "--preset", "superfast"]
    words += ["--memory-limit", "256MiB", "--overwrite", "-q", "--report", str(report)]
    for _ in range(2):  # the first job may have to compile kernels
        subprocess.run([sys.executable, "-m", "sfumato", *words], check=True)
    assert json.loads(report.read_text())["peak_rss_bytes"] <= 256 << 20
