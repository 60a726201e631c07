"""Images and image sequences, in and out."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.kernels.formats import PixelFormat
from sfumato.stream.errors import SinkError, SourceError
from sfumato.stream.media import open_sink, open_source
from tests.media import fit, make_clip, pictures, repaint_file, times


def colours(width: int, height: int, number: int = 0) -> NDArray[np.uint8]:
    """A smooth RGB picture, (height, width, 3)."""
    rows, columns = np.mgrid[0:height, 0:width]
    parts = [40 + 3 * columns + number, 200 - 2 * rows, 90 + columns + rows]
    codes: NDArray[np.uint8] = np.clip(np.stack(parts, axis=2), 0, 255).astype(np.uint8)
    return codes


def write_image(path: Path, rgb: NDArray[np.uint8]) -> Path:
    assert cv2.imwrite(str(path), rgb[:, :, ::-1])
    return path


def read_image(path: Path) -> NDArray[np.uint8]:
    """RGB, (height, width, 3)."""
    image = cv2.imread(str(path), cv2.IMREAD_COLOR)
    assert image is not None, path
    return image[:, :, ::-1].astype(np.uint8)


@pytest.mark.parametrize("suffix", [".png", ".bmp", ".tif"])
@pytest.mark.parametrize("size_px", [(64, 48), (33, 17), (1, 1)])
def test_images_keep_their_colours(tmp_path: Path, suffix: str, size_px: tuple[int, int]) -> None:
    rgb = colours(*size_px)
    image = write_image(tmp_path / f"image{suffix}", rgb)
    with open_source(image) as source:
        assert (source.info.width_px, source.info.height_px) == size_px
        assert source.info.pixels == PixelFormat("444", 8, "bt601", True)
        assert source.info.frames_estimate in (None, 1)
        assert source.info.notes == ()
    assert repaint_file(image, tmp_path / f"out{suffix}") == ([], [])
    painted = read_image(tmp_path / f"out{suffix}").astype(int)
    assert np.abs(painted - rgb).max() <= 2


@pytest.mark.parametrize("suffix", [".jpg", ".webp"])
def test_lossy_images_come_near(tmp_path: Path, suffix: str) -> None:
    rgb = colours(64, 48)
    image = write_image(tmp_path / f"image{suffix}", rgb)
    repaint_file(image, tmp_path / f"out{suffix}")
    painted = read_image(tmp_path / f"out{suffix}").astype(int)
    assert np.abs(painted - rgb).mean() < 3


def test_quality_changes_the_size_of_a_jpeg(tmp_path: Path) -> None:
    image = write_image(tmp_path / "image.png", colours(64, 48))
    for crf in (2, 40):
        repaint_file(image, tmp_path / f"out{crf}.jpg", crf=crf)
    assert (tmp_path / "out40.jpg").stat().st_size < (tmp_path / "out2.jpg").stat().st_size


def test_grey_images(tmp_path: Path) -> None:
    grey = colours(64, 48)[:, :, 0]
    assert cv2.imwrite(str(tmp_path / "grey.png"), grey)
    repaint_file(tmp_path / "grey.png", tmp_path / "out.png")
    painted = read_image(tmp_path / "out.png").astype(int)
    assert np.abs(painted - grey[:, :, None]).max() <= 2


def test_a_sequence_by_pattern_and_back(tmp_path: Path) -> None:
    for number in (7, 8, 9, 12):
        write_image(tmp_path / f"in_{number:04d}.png", colours(32, 24, number))
    write_image(tmp_path / "other_0001.png", colours(32, 24))
    with open_source(tmp_path / "in_%04d.png") as source:
        frames = list(source.frames())
        assert source.info.frames_estimate == 4
        assert [frame.pts * frame.time_base for frame in frames] == [
            Fraction(number, 25) for number in range(4)
        ]
    repaint_file(tmp_path / "in_%04d.png", tmp_path / "out_%03d.png")
    assert sorted(name for name in os.listdir(tmp_path) if name.startswith("out")) == [
        "out_007.png",
        "out_008.png",
        "out_009.png",
        "out_010.png",
    ]
    painted = read_image(tmp_path / "out_010.png").astype(int)
    assert np.abs(painted - colours(32, 24, 12)).max() <= 2


def test_a_sequence_by_glob_into_a_video(tmp_path: Path) -> None:
    for letter in "cab":
        write_image(tmp_path / f"{letter}.png", colours(32, 24, ord(letter)))
    with open_source(tmp_path / "*.png", image_rate=Fraction(10)) as source:
        assert source.info.frame_rate == 10
        assert len(list(source.frames())) == 3
    repaint_file(tmp_path / "*.png", tmp_path / "out.mp4")
    assert times(tmp_path / "out.mp4") == [0, Fraction(1, 25), Fraction(2, 25)]


def test_a_part_of_a_sequence(tmp_path: Path) -> None:
    for number in range(10):
        write_image(tmp_path / f"in_{number:02d}.png", colours(8, 8, number))
    with open_source(tmp_path / "in_%02d.png", start_s=0.08, duration_s=0.2) as source:
        assert len(list(source.frames())) == 5
        assert source.carried.first_number == 2
    with pytest.raises(SourceError, match=r"holds no picture in the wanted part; check --start"):
        open_source(tmp_path / "in_%02d.png", start_s=60)


def test_a_sequence_of_damaged_pictures(tmp_path: Path) -> None:
    (tmp_path / "in_1.png").write_bytes(b"no picture")
    with pytest.raises(
        SourceError, match=r"holds no picture that can be read \(1 damaged picture\)"
    ):
        open_source(tmp_path / "in_%d.png")


def test_a_damaged_or_larger_picture_in_a_sequence(tmp_path: Path) -> None:
    for number in range(4):
        write_image(tmp_path / f"in_{number}.png", colours(32 + 8 * (number == 3), 24, number))
    (tmp_path / "in_1.png").write_bytes(b"no picture")
    with open_source(tmp_path / "in_%d.png") as source:
        frames = list(source.frames())
        assert [frame.pts for frame in frames] == [0, 2, 3]
        assert {frame.width_px for frame in frames} == {32}
        assert source.skipped == 1
        assert source.warnings == [
            "damaged pictures skipped: 1",
            "the picture changes size on the way; scaled to 32x24",
        ]
    with (
        open_source(tmp_path / "in_%d.png", strict=True) as source,
        pytest.raises(SourceError, match=r"in_1\.png.*leave out --strict"),
    ):
        list(source.frames())


def test_a_pattern_without_files(tmp_path: Path) -> None:
    for pattern in ("in_%04d.png", "*.png"):
        with pytest.raises(FileNotFoundError, match="no file matches the pattern"):
            open_source(tmp_path / pattern)


def test_a_video_into_pictures(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4", frames=3, audio_tracks=1)
    _, warnings = repaint_file(clip, tmp_path / "out_%04d.jpg")
    assert len([name for name in os.listdir(tmp_path) if name.endswith(".jpg")]) == 3
    assert warnings == ["pictures hold no sound or subtitles: no other stream is copied"]
    assert read_image(tmp_path / "out_0001.jpg").shape == (48, 64, 3)


def test_a_video_is_not_one_picture(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4", frames=3)
    with pytest.raises(SinkError, match=r"out\.png is one picture .* use out_%04d\.png"):
        repaint_file(clip, tmp_path / "out.png")
    assert sorted(os.listdir(tmp_path)) == ["clip.mp4"]


def test_a_picture_into_a_video(tmp_path: Path) -> None:
    image = write_image(tmp_path / "image.png", colours(64, 48))
    repaint_file(image, tmp_path / "out.mp4")
    assert len(pictures(tmp_path / "out.mp4")) == 1
    with open_source(tmp_path / "out.mp4") as source:
        assert source.info.pixels == PixelFormat("420", 8, "bt601", False)


def test_pictures_are_kept_unless_told_otherwise(tmp_path: Path) -> None:
    image = write_image(tmp_path / "image.png", colours(16, 16))
    precious = write_image(tmp_path / "out_0004.png", colours(8, 8))
    for target in (precious, tmp_path / "out_%04d.png"):
        with pytest.raises(SinkError, match="--overwrite"):
            repaint_file(image, target)
    with pytest.raises(SinkError, match="is the input itself"):
        repaint_file(image, image, overwrite=True)
    repaint_file(image, precious, overwrite=True)
    assert read_image(precious).shape == (16, 16, 3)


def test_an_error_on_the_way_leaves_no_picture(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4", frames=3)
    with (
        pytest.raises(RuntimeError),
        open_source(clip) as source,
        open_sink(tmp_path / "out_%04d.bmp", like=source) as sink,
    ):
        assert sink.pixels == PixelFormat("444", 8, "bt601", True)
        raise RuntimeError("the style failed")
    assert sorted(os.listdir(tmp_path)) == ["clip.mp4"]


KILLED = """
import os, signal, sys
from sfumato.stream.media import open_sink, open_source
from tests.media import fit
with open_source(sys.argv[1]) as source, open_sink(sys.argv[2], like=source) as sink:
    for frame in source.frames():
        sink.write(fit(frame, sink.pixels))
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("name", ["out_%04d.png", "out [1] %d.jpg"])
def test_what_a_killed_job_leaves_is_one_folder_until_the_next(tmp_path: Path, name: str) -> None:
    clip = make_clip(tmp_path / "clip.mp4", frames=3)
    command = [sys.executable, "-c", KILLED, str(clip), str(tmp_path / name)]
    subprocess.run(command, timeout=60, check=False, cwd=Path(__file__).parents[1])
    (left,) = [path for path in tmp_path.iterdir() if path != clip]
    assert left.name.startswith(".") and len(list(left.iterdir())) == 3
    same_number = left.with_name(left.name.replace(left.stem.rpartition("-")[2], str(os.getpid())))
    shutil.copytree(left, same_number)
    repaint_file(clip, tmp_path / name)
    names = sorted(path.name for path in tmp_path.iterdir() if path != clip)
    assert names == [name.replace("%04d", f"{n:04d}").replace("%d", str(n)) for n in (1, 2, 3)]


def test_turned_photos_are_written_upright(tmp_path: Path) -> None:
    """A phone's photo lies on its side and says so in Exif; a PNG cannot."""
    path = write_image(tmp_path / "photo.jpg", colours(64, 48))
    data = path.read_bytes()
    tiff = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"
    exif = b"Exif\0\0" + tiff
    path.write_bytes(data[:2] + b"\xff\xe1" + (len(exif) + 2).to_bytes(2, "big") + exif + data[2:])
    repaint_file(path, tmp_path / "out.png")
    painted = read_image(tmp_path / "out.png").astype(int)
    assert painted.shape == (64, 48, 3)
    upright = np.rot90(colours(64, 48), -1)
    assert np.abs(painted - upright).mean() < 4


def test_a_file_named_like_a_pattern(tmp_path: Path) -> None:
    image = write_image(tmp_path / "100%d [1].png", colours(16, 16))
    with open_source(image) as source:
        assert len(list(source.frames())) == 1


def test_transparency_is_reported(tmp_path: Path) -> None:
    rgba = np.full((16, 16, 4), 255, np.uint8)
    assert cv2.imwrite(str(tmp_path / "opaque.png"), rgba)
    assert repaint_file(tmp_path / "opaque.png", tmp_path / "out.png") == ([], [])
    rgba[:8, :, 3] = 0
    assert cv2.imwrite(str(tmp_path / "half.png"), rgba)
    warnings, _ = repaint_file(tmp_path / "half.png", tmp_path / "half_out.png")
    assert warnings == ["transparent parts are painted over black"]
    assert read_image(tmp_path / "half_out.png")[0, 0].tolist() == [0, 0, 0]


def test_closing_twice_is_closing_once(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "in.mp4", frames=1)
    with open_source(clip) as source, open_sink(tmp_path / "out.png", like=source) as sink:
        for frame in source.frames():
            sink.write(fit(frame, sink.pixels))
        sink.close()
    assert (tmp_path / "out.png").stat().st_size > 0


@pytest.mark.parametrize("name", ["a_%02d_%d.png", "100%_%03d.png"])
def test_other_per_cent_signs_mean_themselves(tmp_path: Path, name: str) -> None:
    clip = make_clip(tmp_path / "clip.mp4", frames=2)
    repaint_file(clip, tmp_path / name)
    with open_source(tmp_path / name) as source:
        assert len(list(source.frames())) == 2


def test_a_sequence_is_not_painted_over_itself(tmp_path: Path) -> None:
    for number in (1, 2):
        write_image(tmp_path / f"{number:02d}.png", colours(20, 10, number))
    before = [path.read_bytes() for path in sorted(tmp_path.iterdir())]
    with pytest.raises(SinkError, match=r"01\.png is one of the input's pictures; choose another"):
        repaint_file(tmp_path / "%02d.png", tmp_path / "%02d.png", overwrite=True)
    assert [path.read_bytes() for path in sorted(tmp_path.iterdir())] == before
