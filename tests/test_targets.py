"""What can be written where, and what is left alone: names, targets, codecs that fit."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sfumato.stream.errors import SettingsError, SinkError
from sfumato.stream.media import open_sink, open_source
from tests.media import fit, make_clip, pictures, repaint_file


def test_what_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4")
    cases = {
        tmp_path / "gone" / "out.mp4": r"the folder .*gone does not exist",
        tmp_path / "out.xyz": r"\.xyz is no kind of video file .* use \.mp4",
        tmp_path / "out": r"a name without ending is no kind of video file",
        tmp_path: r"exists|is a folder",
        tmp_path / f"{'x' * 300}.mp4": r"the name is too long; choose a shorter one",
        Path("."): r"is a folder; name a file",
    }
    for target, reason in cases.items():
        with pytest.raises(SinkError, match=reason) as caught:
            repaint_file(clip, target)
        assert "\n" not in str(caught.value)
    assert sorted(os.listdir(tmp_path)) == ["clip.mp4"]


@pytest.mark.parametrize("name", ["http:a.mp4", "100%.mp4", "é" * 125 + ".mp4", "a 'b\"\n.mp4"])
def test_any_name_is_read_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    make_clip(tmp_path / "clip.mp4").rename(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    repaint_file(name, f"2{name}")
    assert sorted(os.listdir(tmp_path)) == sorted([name, f"2{name}"])


@pytest.mark.parametrize("name", ["out.mp4", "out_%02d.png"])
def test_what_appears_meanwhile_is_kept(tmp_path: Path, name: str) -> None:
    clip = make_clip(tmp_path / "clip.mp4")
    target = tmp_path / (name % 1 if "%" in name else name)
    with (
        open_source(clip) as source,
        pytest.raises(SinkError, match="appeared meanwhile; use --overwrite"),
        open_sink(tmp_path / name, like=source) as sink,
    ):
        for frame in source.frames():
            sink.write(fit(frame, sink.pixels))
        target.write_bytes(b"precious")
    assert target.read_bytes() == b"precious"
    assert sorted(os.listdir(tmp_path)) == ["clip.mp4", target.name]


def test_what_killed_jobs_left_is_removed(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4")
    dead = 2**22 + 1  # above the largest process number of Linux
    alive = f".out.partial-{os.getppid()}.mp4"
    for left in (f".out.partial-{dead}.mp4", alive, f".other.partial-{dead}.mp4"):
        (tmp_path / left).touch()
    repaint_file(clip, tmp_path / "out.mp4")
    kept = [alive, f".other.partial-{dead}.mp4", "clip.mp4", "out.mp4"]
    assert sorted(os.listdir(tmp_path)) == sorted(kept)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4")
    os.mkfifo(tmp_path / "out.mp4")
    with pytest.raises(SinkError, match=r"out\.mp4 is a device or pipe, not a file"):
        repaint_file(clip, tmp_path / "out.mp4", overwrite=True)
    assert (tmp_path / "out.mp4").is_fifo()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_one_clear_line(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4")
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    with pytest.raises(SinkError, match="cannot write into the folder"):
        repaint_file(clip, locked / "out.mp4")


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        (
            "out.webm",
            {"codec": "libx264"},
            r"\.webm files cannot hold libx264; use a name ending in",
        ),
        ("out.mp4", {"codec": "prores"}, r"cannot hold prores_ks; .*\.mov"),
        ("out.mkv", {"codec": "gif"}, r"\.mkv files cannot hold gif; .* ending in \.gif"),
        ("out.mov", {"codec": "vp9"}, r"\.mov files cannot hold libvpx-vp9 .*; .* \.webm"),
        ("out.mkv", {"codec": "h264_nvenc"}, r"h264_nvenc does not take 64x48 .*; try another"),
        ("out.ts", {"codec": "ffv1"}, r"out\.ts was written but no video is found in it; try"),
        ("out.m3u8", {}, r"a \.m3u8 output is many files; use"),
        ("out.mpd", {}, r"a \.mpd output is many files; use"),
        ("out.mp4", {"codec": "libx246"}, r"--codec libx246 is no encoder .* try .*libx264"),
        ("out.mp4", {"codec": "aac"}, r"--codec aac is for audio"),
        ("out.png", {"codec": "libx264"}, r"--codec libx264 does not go with"),
    ],
)
def test_codecs_that_do_not_fit(
    tmp_path: Path, name: str, options: dict[str, str], reason: str
) -> None:
    clip = make_clip(tmp_path / "clip.mp4")
    with pytest.raises(SinkError, match=reason):
        repaint_file(clip, tmp_path / name, **options)
    assert sorted(os.listdir(tmp_path)) == ["clip.mp4"]


@pytest.mark.parametrize("size_px", [(1, 1), (352, 20), (1294, 8), (8, 500)])
def test_ffv1_takes_strips(tmp_path: Path, size_px: tuple[int, int]) -> None:
    clip = make_clip(tmp_path / "clip.avi", codec="rawvideo", size_px=size_px, options={}, frames=2)
    repaint_file(clip, tmp_path / "out.mkv", codec="ffv1")
    assert len(pictures(tmp_path / "out.mkv")) == 2


def test_av1_strips_are_refused_rather_than_waited_for(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mkv", size_px=(640, 16))
    with pytest.raises(SinkError, match="libsvtav1 does not take 640x16 pictures; try"):
        repaint_file(clip, tmp_path / "out.mkv", codec="av1")


def test_quality_and_speed_are_checked(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4")
    with pytest.raises(SettingsError, match="--crf 99 should be 0"):
        repaint_file(clip, tmp_path / "out.mp4", crf=99)
    with pytest.raises(SettingsError, match="--preset warp should be one of ultrafast"):
        repaint_file(clip, tmp_path / "out.mp4", preset="warp")
    _, warnings = repaint_file(clip, tmp_path / "out.mkv", codec="ffv1", crf=20, preset="slow")
    assert warnings == ["--crf has no effect on ffv1", "--preset has no effect on ffv1"]
