"""Writing videos: what went in comes out, at its time, whole or not at all."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from sfumato.kernels.formats import PixelFormat
from sfumato.stream.buffers import new_planes
from sfumato.stream.media import open_sink, open_source
from sfumato.stream.media.planes import frame_on
from tests.media import make_clip, pictures, repaint, repaint_file, times

B_FRAMES = {"qp": "0", "bf": "3"}


@pytest.mark.parametrize("frames", [1, 2, 3, 25, 51])
@pytest.mark.parametrize("name", ["out.mp4", "out.mkv"])
def test_as_many_frames_as_came_in(tmp_path: Path, frames: int, name: str) -> None:
    clip = make_clip(tmp_path / "clip.mp4", frames=frames, options=B_FRAMES)
    repaint_file(clip, tmp_path / name, preset="medium")
    assert times(tmp_path / name) == [Fraction(number, 25) for number in range(frames)]
    assert len(pictures(tmp_path / name)) == frames


@pytest.mark.parametrize("name", ["out.mp4", "out.mov", "out.mkv"])
def test_uneven_times_survive(tmp_path: Path, name: str) -> None:
    pts = [1000, 1010, 1023, 1031, 1100, 1101, 1500]
    clip = make_clip(
        tmp_path / "clip.mp4", frames=7, pts=pts, time_base=Fraction(1, 1000), options=B_FRAMES
    )
    assert repaint_file(clip, tmp_path / name, preset="medium") == ([], [])
    assert [time * 1000 for time in times(tmp_path / name)] == pts


def test_ntsc_times_survive_as_fractions(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4", frames=30, rate=Fraction(30000, 1001), options=B_FRAMES)
    repaint_file(clip, tmp_path / "out.mp4")
    assert times(tmp_path / "out.mp4") == [Fraction(1001 * number, 30000) for number in range(30)]
    with av.open(str(tmp_path / "out.mp4")) as container:
        assert container.streams.video[0].average_rate == Fraction(30000, 1001)


@pytest.mark.parametrize(
    "av_format", ["yuv420p", "yuv422p", "yuv444p", "yuv420p10le", "yuv444p10le"]
)
@pytest.mark.parametrize("size_px", [(64, 48), (63, 47), (1, 1)])
def test_ffv1_is_exact(tmp_path: Path, av_format: str, size_px: tuple[int, int]) -> None:
    clip = make_clip(
        tmp_path / "clip.mkv",
        frames=3,
        codec="ffv1",
        av_format=av_format,
        size_px=size_px,
        options={},
    )
    repaint_file(clip, tmp_path / "out.mkv", codec="ffv1")
    for before, after in zip(pictures(clip), pictures(tmp_path / "out.mkv"), strict=True):
        assert np.array_equal(before, after)


@pytest.mark.parametrize(
    ("name", "codec", "crf", "preset"),
    [
        ("out.mp4", "hevc", 30, "ultrafast"),
        ("out.webm", None, None, None),
        ("out.mkv", "av1", 40, "ultrafast"),
        ("out.avi", None, None, None),
        ("out.avi", "mpeg4", 10, None),
        ("out.mov", "prores", None, None),
        ("out.mov", "mjpeg", None, None),
        ("out.gif", None, None, None),
        ("out.ts", None, 20, "faster"),
    ],
)
def test_codecs_and_containers(
    tmp_path: Path, name: str, codec: str | None, crf: int | None, preset: str | None
) -> None:
    clip = make_clip(tmp_path / "clip.mp4", frames=10, size_px=(96, 64))
    _, warnings = repaint_file(clip, tmp_path / name, codec=codec, crf=crf, preset=preset)
    shifted = ["the file begins at 0.080 s, not at 0.000 s"]  # MPEG-TS knows no negative times
    assert warnings == (shifted if name == "out.ts" else [])
    before, after = pictures(clip), pictures(tmp_path / name)
    assert len(after) == 10
    with open_source(tmp_path / name) as source:
        steps = np.diff([float(frame.pts * frame.time_base) for frame in source.frames()])
        assert np.allclose(steps, 0.04, atol=1e-3)
    if name not in ("out.gif", "out.mov"):
        luma = [
            abs(a[:6144].astype(int) - b[:6144]).mean() for a, b in zip(after, before, strict=True)
        ]
        assert max(luma) < 6


@pytest.mark.parametrize(
    ("av_format", "codec", "expected"),
    [
        ("yuv420p10le", None, PixelFormat("420", 10, "bt601")),
        ("yuv422p10le", None, PixelFormat("422", 10, "bt601")),
        ("yuv444p", None, PixelFormat("444", 8, "bt601")),
        ("gray", None, PixelFormat("420", 8, "bt601", True)),
        ("yuv422p", "prores", PixelFormat("422", 10, "bt601")),
    ],
)
def test_chroma_and_bits_are_kept_where_the_encoder_can(
    tmp_path: Path, av_format: str, codec: str | None, expected: PixelFormat
) -> None:
    clip = make_clip(tmp_path / "clip.mkv", codec="ffv1", av_format=av_format, options={})
    with open_source(clip) as source:
        sink = repaint(source, tmp_path / "out.mov", codec=codec)
    assert sink.pixels == expected
    rare = codec is None and (expected.chroma, expected.bits) != ("420", 8)
    assert [("few players" in warning) for warning in sink.warnings] == [True] * rare


@pytest.mark.parametrize(("codec", "chroma"), [("mpeg4", "4:2:0"), ("mpeg2video", "4:2:2")])
def test_what_an_encoder_does_not_take_is_lost_with_a_word(
    tmp_path: Path, codec: str, chroma: str
) -> None:
    clip = make_clip(tmp_path / "clip.mkv", codec="ffv1", av_format="yuv444p10le", options={})
    _, warnings = repaint_file(clip, tmp_path / "out.mkv", codec=codec)
    assert f"10 to 8 bit: {codec} takes no more" in warnings
    assert f"4:4:4 to {chroma}: {codec} takes no more" in warnings


def test_odd_sizes_are_padded_where_h264_needs_it(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mkv", codec="ffv1", size_px=(63, 47), options={})
    _, warnings = repaint_file(clip, tmp_path / "out.mp4", crf=0)
    assert any("64x48" in warning for warning in warnings)
    luma = pictures(tmp_path / "out.mp4")[0][: 64 * 48].reshape(48, 64)
    assert np.array_equal(luma[:47, :63], pictures(clip)[0][: 63 * 47].reshape(47, 63))
    assert np.array_equal(luma[:47, 63], luma[:47, 62])
    assert np.array_equal(luma[47], luma[46])


@pytest.mark.parametrize("codec", ["libvpx-vp9", "ffv1"])
def test_odd_sizes_are_kept_elsewhere(tmp_path: Path, codec: str) -> None:
    clip = make_clip(tmp_path / "clip.mkv", codec="ffv1", size_px=(63, 47), options={})
    assert repaint_file(clip, tmp_path / "out.mkv", codec=codec) == ([], [])
    with open_source(tmp_path / "out.mkv") as source:
        assert (source.info.width_px, source.info.height_px) == (63, 47)


@pytest.mark.parametrize("size_px", [(2, 2), (1, 64), (4098, 2)])
def test_extreme_sizes(tmp_path: Path, size_px: tuple[int, int]) -> None:
    clip = make_clip(tmp_path / "clip.mkv", frames=2, codec="rawvideo", size_px=size_px, options={})
    repaint_file(clip, tmp_path / "out.mp4")
    assert len(pictures(tmp_path / "out.mp4")) == 2


@pytest.mark.parametrize("degrees", [90, 180, -90])
@pytest.mark.parametrize("name", ["out.mp4", "out.mov", "out.mkv"])
def test_rotation_is_kept(tmp_path: Path, degrees: int, name: str) -> None:
    clip = make_clip(tmp_path / "clip.mp4", rotation_degrees=degrees)
    repaint_file(clip, tmp_path / name)
    with av.open(str(tmp_path / name)) as container:
        frame = next(container.decode(video=0))
        assert (frame.width, frame.height) == (64, 48)
        assert abs(frame.rotation) == abs(degrees)
        assert abs(degrees) == 180 or frame.rotation == degrees


@pytest.mark.parametrize("degrees", [90, 180, -90])
@pytest.mark.parametrize("av_format", ["yuv420p", "yuv422p"])
def test_pixels_are_turned_where_the_file_cannot_say_so(
    tmp_path: Path, degrees: int, av_format: str
) -> None:
    clip = make_clip(tmp_path / "clip.mp4", rotation_degrees=degrees, av_format=av_format)
    with open_source(clip) as source:
        first = next(source.frames())
        upright = np.rot90(first.planes[0], degrees // 90)
    repaint_file(clip, tmp_path / "out.avi", codec="ffv1")
    with open_source(tmp_path / "out.avi") as source:
        assert np.array_equal(next(source.frames()).planes[0], upright)


@pytest.mark.parametrize("name", ["out.mp4", "out.mkv", "out.mov"])
def test_pixel_aspect_is_kept(tmp_path: Path, name: str) -> None:
    clip = make_clip(tmp_path / "clip.mp4", aspect=Fraction(16, 11))
    repaint_file(clip, tmp_path / name)
    with av.open(str(tmp_path / name)) as container:
        assert container.streams.video[0].sample_aspect_ratio == Fraction(16, 11)


def test_pixel_aspect_is_reported_where_it_is_lost(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4", aspect=Fraction(16, 11))
    _, warnings = repaint_file(clip, tmp_path / "out.webm")
    assert any("pixel aspect 16:11" in warning for warning in warnings)


def test_another_size_than_the_source(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4", size_px=(64, 48))
    with (
        open_source(clip) as source,
        open_sink(tmp_path / "out.mp4", like=source, size_px=(32, 24)) as sink,
    ):
        for frame in source.frames():
            halves = tuple(plane[::2, ::2] for plane in frame.planes)
            sink.write(dataclasses.replace(frame, planes=halves))
    with open_source(tmp_path / "out.mp4") as source:
        assert (source.info.width_px, source.info.height_px) == (32, 24)


def test_frames_of_another_shape_are_refused(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4")
    with open_source(clip) as source, open_sink(tmp_path / "out.mp4", like=source) as sink:
        frame = next(source.frames())
        small = dataclasses.replace(frame, planes=tuple(plane[::2, ::2] for plane in frame.planes))
        with pytest.raises(ValueError, match="32x24"):
            sink.write(small)
        other = dataclasses.replace(
            frame, pixels=dataclasses.replace(frame.pixels, full_range=True)
        )
        with pytest.raises(ValueError, match="should be"):
            sink.write(other)
        sink.write(frame)


@pytest.mark.parametrize("codec", ["libx264", "libx265"])
def test_planes_may_be_painted_over_once_they_are_written(tmp_path: Path, codec: str) -> None:
    clip = make_clip(tmp_path / "clip.mp4", frames=30, size_px=(64, 48), options=B_FRAMES)
    planes = new_planes(64, 48, PixelFormat())
    for name in ("kept.mp4", "reused.mp4"):
        with (
            open_source(clip) as source,
            open_sink(tmp_path / name, like=source, codec=codec, preset="medium") as sink,
        ):
            for frame in source.frames():
                given = planes if name == "reused.mp4" else tuple(map(np.empty_like, planes))
                for target, plane in zip(given, frame.planes, strict=True):
                    np.copyto(target, plane)
                assert (frame_on(given, frame.pixels) is None) == (name == "kept.mp4")
                sink.write(dataclasses.replace(frame, planes=given, keep=None))
                for target in given:
                    target.fill(0)
    kept, reused = pictures(tmp_path / "kept.mp4"), pictures(tmp_path / "reused.mp4")
    np.testing.assert_array_equal(reused, kept)
