"""Reading videos: every frame once, at its time, with its planes, past what is damaged."""

from __future__ import annotations

import gc
import itertools
import os
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import psutil
import pytest
from av.stream import Disposition
from av.video.frame import VideoFrame

from sfumato.stream.errors import SettingsError, SourceError
from sfumato.stream.frame import Frame
from sfumato.stream.media import open_sink, open_source
from sfumato.stream.media.normal import Normalizer
from tests.media import make_clip, planes_for, repaint_file

B_FRAMES = {"qp": "0", "bf": "3"}


def read(path: Path | str, **options: object) -> list[Frame]:
    with open_source(path, **options) as source:  # type: ignore[arg-type]
        return list(source.frames())


@pytest.mark.parametrize("frames", [1, 2, 3, 25, 51])
def test_every_frame_arrives(tmp_path: Path, frames: int) -> None:
    clip = make_clip(tmp_path / "clip.mp4", frames=frames, options=B_FRAMES)
    got = read(clip)
    assert len(got) == frames
    assert [frame.pts for frame in got] == [512 * number for number in range(frames)]
    for number, frame in enumerate(got):
        for plane, expected in zip(
            frame.planes, planes_for(number, (64, 48), "yuv420p"), strict=True
        ):
            assert np.array_equal(plane, expected)


@pytest.mark.parametrize("threads", [1, 3])
def test_decoder_threads_lose_no_frame(tmp_path: Path, threads: int) -> None:
    clip = make_clip(tmp_path / "clip.mkv", frames=11, options=B_FRAMES)
    assert len(read(clip, decoder_threads=threads)) == 11


@pytest.mark.parametrize(
    ("name", "codec", "av_format"),
    [
        ("clip.mp4", "libx265", "yuv420p"),
        ("clip.webm", "libvpx-vp9", "yuv420p"),
        ("clip.mkv", "libsvtav1", "yuv420p"),
        ("clip.avi", "mjpeg", "yuvj420p"),
        ("clip.avi", "mpeg4", "yuv420p"),
        ("clip.mkv", "ffv1", "yuv420p10le"),
        ("clip.mov", "prores_ks", "yuv422p10le"),
        ("clip.gif", "gif", "gray"),
        ("clip.mpg", "mpeg2video", "yuv420p"),
        ("clip.ts", "libx264", "yuv420p"),
    ],
)
def test_codecs_and_containers(tmp_path: Path, name: str, codec: str, av_format: str) -> None:
    options = {"svtav1-params": "lp=1", "x265-params": "log-level=none:pools=none"}
    fitting = {key: value for key, value in options.items() if key.split("-")[0] in codec}
    clip = make_clip(
        tmp_path / name,
        frames=9,
        size_px=(80, 64),
        codec=codec,
        av_format=av_format,
        options=fitting,
    )
    got = read(clip)
    times = [frame.pts * frame.time_base for frame in got]
    assert len(got) == 9
    steps = {round(float(late - early) * 1000) for early, late in itertools.pairwise(times)}
    assert steps == {40}


@pytest.mark.parametrize(
    ("av_format", "chroma", "bits"),
    [
        ("yuv420p", "420", 8),
        ("yuvj420p", "420", 8),
        ("yuv422p", "422", 8),
        ("yuv444p", "444", 8),
        ("gray", "grey", 8),
        ("yuv420p10le", "420", 10),
        ("yuv422p10le", "422", 10),
        ("yuv444p10le", "444", 10),
        ("gray10le", "grey", 10),
    ],
)
@pytest.mark.parametrize("size_px", [(1294, 6), (63, 47), (1, 1), (1, 9)])
def test_planes_are_the_coded_ones(
    tmp_path: Path, av_format: str, chroma: str, bits: int, size_px: tuple[int, int]
) -> None:
    clip = make_clip(
        tmp_path / "clip.nut",
        frames=2,
        codec="rawvideo",
        av_format=av_format,
        size_px=size_px,
        options={},
    )
    got = read(clip)
    assert (got[0].pixels.chroma, got[0].pixels.bits) == (chroma, bits)
    for number, frame in enumerate(got):
        for plane, expected in zip(
            frame.planes, planes_for(number, size_px, av_format), strict=True
        ):
            assert plane.dtype == expected.dtype
            assert np.array_equal(plane, expected)


@pytest.mark.parametrize(("av_format", "bits"), [("nv12", 8), ("nv21", 8), ("p010le", 10)])
@pytest.mark.parametrize("size_px", [(64, 48), (33, 17)])
def test_interleaved_chroma_is_taken_apart(
    av_format: str, bits: int, size_px: tuple[int, int]
) -> None:
    planar = "yuv420p10le" if bits == 10 else "yuv420p"
    expected = planes_for(0, size_px, planar)
    luma, first, second = (
        np.asarray(plane, np.uint16 if bits == 10 else np.uint8) for plane in expected
    )
    if av_format == "nv21":
        first, second = second, first
    pairs = np.stack([first, second], axis=2).reshape(first.shape[0], -1)
    if bits == 10:
        luma, pairs = luma * 64, pairs * 64
    picture = VideoFrame(*size_px, av_format)
    for target, plane in zip(picture.planes, (luma, pairs), strict=True):
        rows = np.frombuffer(memoryview(target), plane.dtype).reshape(plane.shape[0], -1)
        rows[:, : plane.shape[1]] = plane
    normal = Normalizer(picture)
    assert (normal.pixels.chroma, normal.pixels.bits) == ("420", bits)
    for plane, other in zip(normal.planes(picture)[0], expected, strict=True):
        assert np.array_equal(plane, other)


def test_uneven_times_are_kept(tmp_path: Path) -> None:
    pts = [1000, 1010, 1023, 1031, 1100, 1101]
    clip = make_clip(
        tmp_path / "clip.mp4", frames=6, pts=pts, time_base=Fraction(1, 1000), options=B_FRAMES
    )
    assert [frame.pts * frame.time_base * 1000 for frame in read(clip)] == pts


def test_ntsc_rate_stays_a_fraction(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4", rate=Fraction(30000, 1001), options=B_FRAMES)
    with open_source(clip) as source:
        assert source.info.frame_rate == Fraction(30000, 1001)
        times = [frame.pts * frame.time_base for frame in source.frames()]
    assert times == [Fraction(1001 * number, 30000) for number in range(8)]


@pytest.mark.parametrize("name", ["clip.mkv", "clip.mp4"])
def test_slow_pictures_out_of_order_are_no_seam(tmp_path: Path, name: str) -> None:
    """One picture a second, coded out of order: times in the file fall back by seconds."""
    clip = make_clip(tmp_path / name, frames=20, rate=Fraction(1), options=B_FRAMES, subtitles=True)
    with open_source(clip) as source:
        times = [frame.pts * frame.time_base for frame in source.frames()]
        assert times == list(range(20))
        assert source.warnings == []


def test_raw_streams_get_times(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.h264", frames=12, options=B_FRAMES)
    times = [frame.pts * frame.time_base for frame in read(clip)]
    assert times == [Fraction(number, 25) for number in range(12)]


def test_raw_streams_can_be_cut(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.h264", frames=25, options=B_FRAMES)
    times = [frame.pts * frame.time_base for frame in read(clip, start_s=0.4, duration_s=0.2)]
    assert times == [Fraction(number, 25) for number in range(5)]


@pytest.mark.parametrize("name", ["clip.mp4", "clip.mkv", "clip.ts"])
@pytest.mark.parametrize(("start_s", "duration_s"), [(0.0, 0.4), (0.4, None), (0.5, 0.3), (1.9, 1)])
def test_a_part_begins_and_ends_exactly(
    tmp_path: Path, name: str, start_s: float, duration_s: float | None
) -> None:
    clip = make_clip(
        tmp_path / name, frames=50, size_px=(32, 32), options={"qp": "0", "bf": "2", "g": "10"}
    )
    first = int(np.ceil(start_s * 25 - 1e-9))
    end = 50 if duration_s is None else min(50, int(np.ceil((start_s + duration_s) * 25 - 1e-9)))
    got = read(clip, start_s=start_s, duration_s=duration_s)
    assert len(got) == end - first
    base = got[0].pts * got[0].time_base if not start_s else 0
    for number, frame in enumerate(got):
        assert frame.pts * frame.time_base - base == Fraction(number, 25)
        expected = planes_for(first + number, (32, 32), "yuv420p")
        assert np.array_equal(frame.planes[0], expected[0])


def test_a_part_past_the_end_is_an_error(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4")
    with pytest.raises(SourceError, match="no picture in the wanted part; check --start"):
        open_source(clip, start_s=60)


def test_impossible_parts_are_refused(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4")
    with pytest.raises(SettingsError, match="start_s"):
        open_source(clip, start_s=-1)
    with pytest.raises(SettingsError, match="duration_s"):
        open_source(clip, duration_s=0)


def test_cover_art_and_sound_before_the_video(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4", audio_tracks=1, video_index=1, cover=True)
    with open_source(clip) as source:
        assert (source.info.width_px, source.info.height_px) == (64, 48)
        assert len(list(source.frames())) == 8


def test_of_several_videos_the_largest_is_painted(tmp_path: Path) -> None:
    path = tmp_path / "clip.mkv"
    with av.open(str(path), "w") as container:
        streams = [container.add_stream("ffv1", rate=25) for _ in range(3)]
        for stream, size in zip(streams, ((32, 32), (96, 64), (96, 64)), strict=True):
            stream.width, stream.height = size
            stream.disposition = Disposition(0)
        for number in range(3):
            for stream in streams:
                frame = VideoFrame(stream.width, stream.height, "yuv420p")
                frame.pts, frame.time_base = number, Fraction(1, 25)
                container.mux(stream.encode(frame))
        for stream in streams:
            container.mux(stream.encode(None))
    with open_source(path) as source:
        assert (source.info.width_px, source.info.height_px) == (96, 64)
        assert "left out: 2 more video streams" in source.info.notes
        assert len(list(source.frames())) == 3


def test_files_are_let_go(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4", audio_tracks=1)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with open_source(clip) as source:
            next(iter(source.frames()))
        source.close()
        with pytest.raises(SourceError):
            open_source(clip, start_s=99)
    assert len(os.listdir("/proc/self/fd")) == before


def test_captions_in_the_picture_are_reported(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.h264", frames=4, options={"qp": "0", "bf": "0"})
    data = clip.read_bytes()
    # A supplemental message with one pair of caption bytes (ATSC A/53 part 4, table 6.7).
    captions = bytes.fromhex("b500314741393403 41ff fc9420 ff")
    message = b"\0\0\0\1\x06\x04" + bytes([len(captions)]) + captions + b"\x80"
    slices = data.index(b"\0\0\1\x65")
    clip.write_bytes(data[:slices] + message + data[slices:])
    with open_source(clip) as source:
        assert len(list(source.frames())) == 4
        assert source.warnings == ["closed captions inside the picture are not copied"]


def test_animated_gifs(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4", frames=6)
    repaint_file(clip, tmp_path / "clip.gif")
    with open_source(tmp_path / "clip.gif") as source:
        assert source.carried.rgb
        frames = list(source.frames())
        sink = open_sink(tmp_path / "out.mp4", like=source)
        sink.abort()
    assert [frame.pts * frame.time_base for frame in frames] == [
        Fraction(number, 25) for number in range(6)
    ]
    assert (sink.pixels.chroma, sink.pixels.full_range) == ("420", False)


def test_frames_are_let_go(tmp_path: Path) -> None:
    """No frame waits for the garbage collection: an hour of video has a hundred thousand."""
    clip = make_clip(
        tmp_path / "clip.mkv", frames=60, codec="rawvideo", size_px=(640, 480), options={}
    )
    process = psutil.Process()
    gc.collect()
    gc.disable()
    try:
        sizes = []
        for _ in range(3):
            with open_source(clip) as source:
                for _frame in source.frames():
                    pass
            sizes.append(process.memory_info().rss)
    finally:
        gc.enable()
    assert sizes[2] - sizes[0] < 10e6  # all frames of a run take 28 MB
