"""Reading videos: every frame once, at its time, with its planes, past what is damaged."""

from __future__ import annotations

import functools
import gc
import itertools
import os
import socket
import threading
from collections.abc import Callable, Iterator
from fractions import Fraction
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import av
import numpy as np
import psutil
import pytest
from av.stream import Disposition
from av.video.frame import VideoFrame

from sfumato.stream.errors import SettingsError, SourceError
from sfumato.stream.frame import Frame
from sfumato.stream.media import open_sink, open_source, reader
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


def _zero(data: bytearray) -> bytes:
    """Overwrite a stretch in the middle of the coded pictures."""
    middle = len(data) // 2
    data[middle : middle + 600] = bytes(600)
    return bytes(data)


def _shorten(data: bytearray) -> bytes:
    return bytes(data[: len(data) * 2 // 3])


@pytest.mark.parametrize("damage", [_zero, _shorten])
@pytest.mark.parametrize("name", ["clip.mkv", "clip.ts", "clip.avi", "clip.mp4"])
def test_damage_is_survived(
    tmp_path: Path, name: str, damage: Callable[[bytearray], bytes]
) -> None:
    codec, form = (
        ("mjpeg", "yuvj420p") if name in ("clip.avi", "clip.mp4") else ("libx264", "yuv420p")
    )
    clip = make_clip(
        tmp_path / "whole.avi".replace("avi", name[5:]),
        frames=40,
        codec=codec,
        av_format=form,
        options={"g": "8"},
    )
    data = bytearray(clip.read_bytes())
    if name == "clip.mp4":
        # The index lies at the end: keep it and damage the pictures before it.
        index = data.rindex(b"moov") - 4
        broken = _zero(data[:index]) + bytes(data[index:])
    else:
        broken = damage(data)
    (tmp_path / name).write_bytes(broken)
    with open_source(tmp_path / name) as source:
        got = list(source.frames())
        times = [frame.pts for frame in got]
        assert 15 <= len(got) <= 40
        assert times == sorted(set(times))
        if source.skipped:
            assert f"{source.skipped} damaged" in source.warnings[0]
        assert len(got) + source.skipped <= 41


def test_damaged_packets_are_counted_and_strict_stops(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.avi", frames=12, codec="png", av_format="rgb24", options={})
    data = bytearray(clip.read_bytes())
    at = [place for place in range(len(data)) if data[place : place + 4] == b"IHDR"]
    for number in (3, 7):
        data[at[number] : at[number] + 4] = b"XXXX"
    clip.write_bytes(data)
    with open_source(clip) as source:
        assert len(list(source.frames())) == 10
        assert source.skipped == 2
        assert source.warnings == ["2 damaged packets or pictures were skipped"]
    with (
        open_source(clip, strict=True) as source,
        pytest.raises(SourceError, match=r"damaged near picture 4.*leave out --strict"),
    ):
        list(source.frames())


def test_a_file_that_ends_early_says_so(tmp_path: Path) -> None:
    clip = make_clip(
        tmp_path / "clip.mp4", frames=30, codec="mjpeg", av_format="yuvj420p", options={}
    )
    data = clip.read_bytes()
    index = data.rindex(b"moov") - 4
    # Index first, pictures last, and the last ones are missing.
    front = data[: data.index(b"mdat") - 4]
    moved = len(data) - index
    moov = bytearray(data[index:])
    place = moov.index(b"stco") + 12
    for entry in range(int.from_bytes(moov[place - 4 : place], "big")):
        where = slice(place + 4 * entry, place + 4 * entry + 4)
        moov[where] = (int.from_bytes(moov[where], "big") + moved).to_bytes(4, "big")
    pictures = data[len(front) : index]
    clip.write_bytes(front + bytes(moov) + pictures[: len(pictures) // 2])
    with open_source(clip) as source:
        got = list(source.frames())
        assert 10 < len(got) < 20
        assert any("the file ends early" in warning for warning in source.warnings)


def test_a_change_of_size_is_scaled_away(tmp_path: Path) -> None:
    small = make_clip(tmp_path / "small.ts", frames=6, size_px=(64, 48))
    large = make_clip(tmp_path / "large.ts", frames=6, size_px=(128, 96))
    both = tmp_path / "both.ts"
    both.write_bytes(small.read_bytes() + large.read_bytes())
    with open_source(both) as source:
        got = list(source.frames())
        assert len(got) >= 11
        assert {(frame.width_px, frame.height_px) for frame in got} == {(64, 48)}
        assert "the picture changes size on the way; scaled to 64x48" in source.warnings


def test_what_cannot_be_read_is_one_clear_line(tmp_path: Path) -> None:
    text = tmp_path / "notes.mp4"
    text.write_text("this is no video" * 100)
    empty = tmp_path / "empty.mp4"
    empty.touch()
    headless = tmp_path / "headless.mp4"
    headless.write_bytes(make_clip(tmp_path / "clip.mp4").read_bytes()[:2000])
    with pytest.raises(FileNotFoundError, match=r"gone\.mp4"):
        open_source(tmp_path / "gone.mp4")
    for path, reason in ((text, "not a video"), (empty, "is empty"), (headless, "not a video")):
        with pytest.raises(SourceError, match=reason) as caught:
            open_source(path)
        assert path.name in str(caught.value)
        assert "\n" not in str(caught.value)
    with pytest.raises(SourceError, match=r"is a folder; .*\*\.png"):
        open_source(tmp_path)


def test_sound_alone_is_no_video(tmp_path: Path) -> None:
    path = tmp_path / "tone.wav"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("pcm_s16le", rate=8000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 800), np.int16), "s16", "mono")
        frame.sample_rate = 8000
        container.mux([*stream.encode(frame), *stream.encode(None)])
    with pytest.raises(SourceError, match="holds no video"):
        open_source(path)


def test_an_unreachable_address_is_one_clear_line() -> None:
    with pytest.raises(SourceError, match=r"cannot read http://127\.0\.0\.1:9/"):
        open_source("http://127.0.0.1:9/clip.mp4")


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
        assert "2 more video streams are left out" in source.info.notes
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


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """The address of a server for the files in `tmp_path`."""
    handler = functools.partial(_Quiet, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


def test_addresses_are_read(tmp_path: Path, served: str) -> None:
    make_clip(tmp_path / "clip.mkv", audio_tracks=1)
    with open_source(f"{served}/clip.mkv") as source:
        frames = list(source.frames())
    assert len(frames) == 8
    assert sum(len(frame.side_packets) for frame in frames) + len(source.trailing_packets) > 10
    with pytest.raises(SourceError, match="404"):
        open_source(f"{served}/gone.mkv")


def test_a_silent_server_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "OPEN_TIMEOUT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(SourceError, match=r"no data within .* check the address"):
            open_source(f"http://127.0.0.1:{port}/clip.mp4")


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
