"""Writing videos where something is wrong: one clear line, and nothing half-written."""

from __future__ import annotations

import dataclasses
import os
import resource
from fractions import Fraction
from pathlib import Path

import pytest

from sfumato.stream.errors import SinkError
from sfumato.stream.media import open_sink, open_source
from sfumato.stream.media.verify import Expected, verify
from tests.media import make_clip, pictures, repaint, repaint_file

B_FRAMES = {"qp": "0", "bf": "3"}


def hidden(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.startswith(".")]


def test_a_target_is_kept_unless_told_otherwise(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4")
    target = tmp_path / "out.mp4"
    target.write_text("precious")
    with pytest.raises(SinkError, match=r"out\.mp4 exists; use --overwrite"):
        repaint_file(clip, target)
    assert target.read_text() == "precious"
    repaint_file(clip, target, overwrite=True)
    assert len(pictures(target)) == 8


def test_the_input_is_never_the_output(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4")
    link = tmp_path / "link.mp4"
    link.symlink_to(clip)
    before = clip.read_bytes()
    for target in (clip, link):
        with pytest.raises(SinkError, match="is the input itself"):
            repaint_file(clip, target, overwrite=True)
    assert clip.read_bytes() == before


def test_an_error_on_the_way_leaves_nothing(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4")
    target = tmp_path / "out.mp4"
    target.write_text("precious")
    with (
        pytest.raises(RuntimeError, match="style"),
        open_source(clip) as source,
        open_sink(target, like=source, overwrite=True) as sink,
    ):
        for frame in source.frames():
            sink.write(frame)
            assert len(hidden(tmp_path)) == 1
            raise RuntimeError("the style failed")
    assert target.read_text() == "precious"
    assert hidden(tmp_path) == []


def test_a_full_disk_is_one_clear_line(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mkv", frames=20, codec="ffv1", size_px=(320, 240), options={})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with open_source(clip) as source:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
        try:
            with pytest.raises(SinkError, match=r"cannot write .*out\.mkv: the file grew beyond"):
                repaint(source, tmp_path / "out.mkv", codec="ffv1")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert sorted(os.listdir(tmp_path)) == ["clip.mkv"]


def test_success_is_said_only_after_counting(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4")
    expected = Expected(
        frames=8,
        first_s=Fraction(0),
        last_s=Fraction(7, 25),
        sample_aspect=None,
        side_streams=0,
        chapters=0,
        metadata=frozenset(),
    )
    assert verify(clip, "clip.mp4", expected) == []
    with pytest.raises(SinkError, match="holds 8 of 9 frames"):
        verify(clip, "clip.mp4", dataclasses.replace(expected, frames=9))
    (late,) = verify(clip, "clip.mp4", dataclasses.replace(expected, first_s=Fraction(1)))
    assert "begins at 0.000 s, not at 1.000 s" in late
    (long,) = verify(clip, "clip.mp4", dataclasses.replace(expected, last_s=Fraction(1)))
    assert long == "the last picture is shown at 0.280 s, not at 1.000 s"
    clip.write_bytes(clip.read_bytes()[:3000])
    with pytest.raises(SinkError, match="cannot be read back"):
        verify(clip, "clip.mp4", expected)


def test_an_output_without_frames_is_no_success(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4")
    with open_source(clip) as source:
        sink = open_sink(tmp_path / "out.mp4", like=source)
        with pytest.raises(SinkError, match="no frame was written"):
            sink.close()
    assert sorted(os.listdir(tmp_path)) == ["clip.mp4"]
