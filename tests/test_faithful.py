"""The identity style through a whole job: what comes out is what went in."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

import sfumato
from tests.media import make_clip, pictures, times

BT709, BT601 = 1, 6
LIMITED, FULL = 1, 2


@pytest.mark.parametrize("size_px", [(64, 48), (67, 45), (1, 9), (33, 1)])
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("matrix", [BT601, BT709])
@pytest.mark.parametrize("av_format", ["yuv420p", "yuv422p", "yuv444p", "yuv420p10le"])
def test_identity_keeps_every_plane_within_one_code(
    tmp_path: Path, av_format: str, matrix: int, full: bool, size_px: tuple[int, int]
) -> None:
    clip = make_clip(
        tmp_path / "in.mkv",
        codec="ffv1",
        options={"slices": "1"},  # FFmpeg's default fails on frames this small
        av_format=av_format,
        size_px=size_px,
        frames=3,
        tags={"colorspace": matrix, "color_range": FULL if full else LIMITED},
    )
    target = tmp_path / "out.mkv"
    report = sfumato.stylize(clip, target, style="identity", codec="ffv1", smooth=0)
    assert report.color["range"] == ("full" if full else "limited")
    assert report.color["matrix"] == {BT601: "bt601", BT709: "bt709"}[matrix]
    before, after = pictures(clip), pictures(target)
    assert len(before) == len(after) == 3
    for a, b in zip(before, after, strict=True):
        assert np.abs(a.astype(int) - b).max() <= 1


def test_second_pass_drifts_no_further(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "in.mkv", codec="ffv1", options={}, frames=2)
    paths = [clip]
    for turn in range(2):
        paths.append(tmp_path / f"out{turn}.mkv")
        sfumato.stylize(paths[-2], paths[-1], style="identity", codec="ffv1", smooth=0)
    for a, b in zip(pictures(paths[1]), pictures(paths[2]), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("frames", [1, 2, 3, 25, 51])
def test_every_frame_and_its_time_come_out(tmp_path: Path, frames: int) -> None:
    clip = make_clip(
        tmp_path / "in.mp4",
        frames=frames,
        rate=Fraction(30000, 1001),
        options={"bf": "2", "crf": "20"},
        audio_tracks=2,
    )
    target = tmp_path / "out.mp4"
    report = sfumato.stylize(clip, target, style="identity")
    assert report.frames_in == report.frames_out == frames
    assert times(target) == times(clip)
    for track in (0, 1):
        assert times(target, "audio", track) == times(clip, "audio", track)
    with av.open(str(target)) as container:
        assert container.streams.video[0].average_rate == Fraction(30000, 1001)
        assert [s.metadata.get("language") for s in container.streams.audio] == ["eng", "deu"]


def test_variable_frame_rate_keeps_its_times(tmp_path: Path) -> None:
    pts = [0, 3, 4, 9, 10, 17, 33, 34]
    clip = make_clip(tmp_path / "in.mp4", time_base=Fraction(1, 90), pts=pts, frames=len(pts))
    target = tmp_path / "out.mp4"
    sfumato.stylize(clip, target, style="identity")
    assert times(target) == times(clip) == [Fraction(p, 90) for p in pts]


def test_smoothing_is_off_at_zero(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "in.mkv", codec="ffv1", options={}, frames=6)
    changed: dict[float, Any] = {}
    for smooth in (0.0, 1.0):
        target = tmp_path / f"{smooth}.mkv"
        sfumato.stylize(clip, target, style="identity", codec="ffv1", smooth=smooth, overlap_px=0)
        changed[smooth] = pictures(target)
    for a, b in zip(pictures(clip), changed[0.0], strict=True):
        assert np.abs(a.astype(int) - b).max() <= 1


def test_a_failed_job_leaves_nothing(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "in.mp4", frames=40)
    data = clip.read_bytes()
    clip.write_bytes(data[: len(data) // 2])
    folder = tmp_path / "out"
    folder.mkdir()
    with pytest.raises(sfumato.SourceError, match=r"in\.mp4"):
        sfumato.stylize(clip, folder / "out.mp4", style="identity", strict=True)
    assert list(folder.iterdir()) == []


def test_a_source_that_ends_early_is_painted_and_said(tmp_path: Path) -> None:
    clip = make_clip(
        tmp_path / "in.avi", codec="mjpeg", options={}, av_format="yuvj420p", frames=40
    )
    data = clip.read_bytes()
    clip.write_bytes(data[: len(data) // 2])
    report = sfumato.stylize(clip, tmp_path / "out.mp4", style="identity")
    assert 10 < report.frames_out < 30
    assert any("but says that it lasts 1.6 s" in warning for warning in report.warnings)


def test_identity_is_not_smoothed_unless_asked(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "in.mkv", codec="ffv1", options={}, frames=6)
    sfumato.stylize(clip, tmp_path / "out.mkv", style="identity", codec="ffv1")
    for a, b in zip(pictures(clip), pictures(tmp_path / "out.mkv"), strict=True):
        np.testing.assert_array_equal(a, b)
