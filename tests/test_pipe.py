"""Standard input and output, and the sink that only counts."""

from __future__ import annotations

import io
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from sfumato.stream.errors import SinkError, SourceError
from sfumato.stream.media import open_sink, open_source
from sfumato.stream.media.pipe import Y4mSink
from sfumato.stream.prepare import expect_output
from sfumato.stream.settings import FileSettings
from tests.media import fit, make_clip, repaint

COPY = """
import sys
from sfumato.stream.media import open_sink, open_source
with open_source(sys.argv[1]) as source, open_sink(sys.argv[2], like=source) as sink:
    for frame in source.frames():
        sink.write(frame)
print(source.info.width_px, sink.frames_written, source.warnings + sink.warnings, file=sys.stderr)
"""

PART = """
import sys
from sfumato.stream.media import open_source
with open_source("-", start_s=float(sys.argv[1])) as source:
    for frame in source.frames():
        print(f"{frame.pts}:{frame.planes[0].sum()}")
"""

STOPPED = """
import sys, threading
from sfumato.stream.errors import Stopped
from sfumato.stream.media import open_source
stop = threading.Event()
threading.Timer(0.3, stop.set).start()
try:
    with open_source("-", stop=stop) as source:
        list(source.frames())
except Stopped:
    sys.exit(3)
"""


def copy(source: str, target: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Copy frames in a program of its own, whose standard streams are pipes."""
    command = [sys.executable, "-c", COPY, source, target]
    return subprocess.run(command, input=data, capture_output=True, timeout=60, check=False)


def y4m_of(clip: Path) -> bytes:
    out = io.BytesIO()
    with open_source(clip) as source, Y4mSink(source, (64, 48), out) as sink:
        for frame in source.frames():
            sink.write(frame)
    return out.getvalue()


@pytest.mark.parametrize(
    "av_format",
    ["yuv420p", "yuv422p", "yuv444p", "yuv420p10le", "yuv422p10le", "yuv444p10le"],
)
@pytest.mark.parametrize("full", [False, True])
def test_y4m_holds_every_layout(tmp_path: Path, av_format: str, full: bool) -> None:
    clip = make_clip(
        tmp_path / "clip.mkv",
        frames=3,
        codec="ffv1",
        av_format=av_format,
        options={},
        rate=Fraction(30000, 1001),
        tags={"color_range": 2 if full else 1},
    )
    (tmp_path / "out.y4m").write_bytes(y4m_of(clip))
    with open_source(clip) as before, open_source(tmp_path / "out.y4m") as after:
        assert after.info.pixels == before.info.pixels
        assert after.info.frame_rate == Fraction(30000, 1001)
        for one, other in zip(before.frames(), after.frames(), strict=True):
            for plane, copied in zip(one.planes, other.planes, strict=True):
                assert np.array_equal(plane, copied)


@pytest.mark.parametrize(
    "av_format", ["yuv420p", "yuv422p", "yuv444p", "yuv420p10le", "yuv444p10le", "gray", "gbrp"]
)
def test_a_y4m_file_holds_what_the_pipe_does(tmp_path: Path, av_format: str) -> None:
    clip = make_clip(
        tmp_path / "clip.mkv",
        frames=5,
        codec="libx265" if av_format == "gbrp" else "ffv1",
        av_format=av_format,
        options={"x265-params": "log-level=error"} if av_format == "gbrp" else {},
        rate=Fraction(30000, 1001),
        audio_tracks=1,
    )
    piped = io.BytesIO()
    with open_source(clip) as source, Y4mSink(source, (64, 48), piped) as sink:
        assert expect_output("out.y4m", source.info, FileSettings()).encoder == "rawvideo"
        for frame in source.frames():
            sink.write(fit(frame, sink.pixels))
    with open_source(clip) as source:
        file = repaint(source, tmp_path / "out.y4m")
    assert file.pixels == sink.pixels
    assert file.warnings == [
        "not copied, since yuv4mpegpipe cannot hold it: audio stream 1 (aac, eng)"
    ]
    (head, *frames), (piped_head, *piped_frames) = (
        data.split(b"FRAME\n") for data in ((tmp_path / "out.y4m").read_bytes(), piped.getvalue())
    )
    assert frames == piped_frames and len(frames) == 5
    for word in piped_head.split():
        assert word in head.split() or word.startswith(b"A")  # FFmpeg: 0:0, unknown


def test_a_part_of_a_film_in_y4m_needs_no_note(tmp_path: Path) -> None:
    clip = make_clip(
        tmp_path / "clip.mp4",
        frames=30,
        time_base=Fraction(1, 12800),
        pts=[512 * number for number in range(30)],
    )
    with open_source(clip, duration_s=1.0) as source:
        assert repaint(source, tmp_path / "out.y4m", codec="rawvideo").warnings == []
    with open_source(tmp_path / "out.y4m") as copy:
        assert copy.info.frame_rate == 25


@pytest.mark.parametrize("codec", ["libx264", "ffv1"])
def test_y4m_takes_no_codec(tmp_path: Path, codec: str) -> None:
    said = rf"\.y4m files cannot hold {codec}.*use a name ending"
    clip = make_clip(tmp_path / "clip.mp4")
    with open_source(clip) as source, pytest.raises(SinkError, match=said):
        open_sink(tmp_path / "out.y4m", like=source, codec=codec)
    assert [path.name for path in tmp_path.iterdir()] == ["clip.mp4"]


@pytest.mark.parametrize("target", ["-", "null"])
@pytest.mark.parametrize(("av_format", "bits"), [("gray", 8), ("gray10le", 10)])
def test_grey_is_painted_in_colours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, av_format: str, bits: int
) -> None:
    clip = make_clip(tmp_path / "c.mkv", frames=1, codec="ffv1", av_format=av_format, options={})
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO()))
    with open_source(clip) as source, open_sink(target, like=source) as sink:
        assert (sink.pixels.chroma, sink.pixels.bits) == ("420", bits)
        assert expect_output(target, source.info, FileSettings()).pixels == sink.pixels
        for frame in source.frames():
            sink.write(fit(frame, sink.pixels))


def test_from_pipe_to_pipe(tmp_path: Path) -> None:
    data = y4m_of(make_clip(tmp_path / "clip.mp4", frames=5))
    done = copy("-", "-", data)
    assert done.returncode == 0, done.stderr
    assert done.stdout == data
    assert done.stderr.split() == [b"64", b"5", b"[]"]


@pytest.mark.parametrize("source", ["-", "cut.y4m"])
@pytest.mark.parametrize(("lost_bytes", "said"), [(0, False), (1000, True), (4500, True)])
def test_a_last_picture_that_is_cut_off_is_told(
    tmp_path: Path, source: str, lost_bytes: int, said: bool
) -> None:
    data = y4m_of(make_clip(tmp_path / "clip.mp4", frames=5))
    data = data[: len(data) - lost_bytes]
    path = tmp_path / "cut.y4m"
    path.write_bytes(data)
    done = copy(source if source == "-" else str(path), "null", data)
    assert done.returncode == 0, done.stderr
    assert done.stderr.split()[:2] == [b"64", b"4" if said else b"5"]
    assert (b"the last picture was cut off" in done.stderr) == said


def test_a_part_of_y4m_is_not_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "clip.y4m"
    path.write_bytes(y4m_of(make_clip(tmp_path / "clip.mp4", frames=50))[:-1000])
    with open_source(path, duration_s=0.4) as source:
        assert len(list(source.frames())) == 10
        assert source.warnings == []
    with (
        open_source(path, start_s=1, strict=True) as source,
        pytest.raises(SourceError, match="ends in mid-picture; leave out --strict"),
    ):
        list(source.frames())


def test_any_video_that_needs_no_seeking_can_be_piped(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mkv", frames=6, audio_tracks=1)
    done = copy("-", str(tmp_path / "out.mp4"), clip.read_bytes())
    assert done.returncode == 0, done.stderr
    with av.open(str(tmp_path / "out.mp4")) as container:
        assert len(container.streams.audio) == 1
        assert sum(1 for _ in container.decode(video=0)) == 6


@pytest.mark.parametrize("name", ["clip.mkv", "clip.flv", "clip.ts"])
def test_a_part_of_what_is_piped_begins_exactly(tmp_path: Path, name: str) -> None:
    """FFmpeg seeks in some pipes without a word, by reading on to where a keyframe comes."""
    clip = make_clip(tmp_path / name, frames=200, options={"g": "12"}, rate=Fraction(5))
    with open_source(clip, start_s=20) as source:
        whole = [(frame.pts, frame.planes[0].tobytes()) for frame in source.frames()]
    done = subprocess.run(
        [sys.executable, "-c", PART, "20"],
        input=clip.read_bytes(),
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.decode().split() == [f"{pts}:{sum(luma)}" for pts, luma in whole], (
        done.stderr
    )


@pytest.mark.parametrize("begun", [False, True])
def test_a_silent_pipe_does_not_keep_who_stops_waiting(tmp_path: Path, begun: bool) -> None:
    data = y4m_of(make_clip(tmp_path / "clip.mp4", frames=5)) if begun else b""
    with subprocess.Popen(
        [sys.executable, "-c", STOPPED], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        process.stdin.write(data[:-1000])
        process.stdin.flush()
        try:
            assert process.wait(timeout=20) == 3
        finally:
            process.kill()


def test_an_empty_pipe_is_one_clear_line() -> None:
    done = copy("-", "null")
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1].decode()
    assert "SourceError: cannot read standard input: nothing comes through it" in last


def test_a_reader_that_goes_away_is_one_clear_line(tmp_path: Path) -> None:
    class Closed(io.BytesIO):
        def write(self, _: object) -> int:
            raise BrokenPipeError(32, "Broken pipe")

    with (
        open_source(make_clip(tmp_path / "clip.mp4")) as source,
        pytest.raises(SinkError, match="standard output: the program reading it has gone"),
    ):
        Y4mSink(source, (64, 48), Closed())


def test_y4m_keeps_the_pixel_aspect(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4", aspect=Fraction(16, 11))
    (tmp_path / "out.y4m").write_bytes(y4m_of(clip))
    with open_source(tmp_path / "out.y4m") as source:
        assert source.carried.sample_aspect == Fraction(16, 11)


def test_y4m_says_what_it_cannot_hold(tmp_path: Path) -> None:
    clip = make_clip(
        tmp_path / "clip.mp4",
        frames=4,
        audio_tracks=1,
        pts=[0, 40, 200, 240],
        time_base=Fraction(1, 1000),
    )
    with open_source(clip) as source:
        sink = Y4mSink(source, (64, 48), io.BytesIO())
        for frame in source.frames():
            sink.write(frame)
        sink.close()
    assert sink.warnings == [
        "a y4m pipe carries the picture only: no other stream is copied",
        "y4m has no timestamps: uneven frame times became even ones",
    ]


def test_turned_video_is_piped_upright(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4", rotation_degrees=90)
    data = y4m_of(clip)
    assert data.startswith(b"YUV4MPEG2 W48 H64 ")


def test_null_counts(tmp_path: Path) -> None:
    with open_source(make_clip(tmp_path / "clip.mp4", frames=7)) as source:
        sink = repaint(source, "null")
    assert sink.frames_written == 7
    assert sink.pixels == source.info.pixels
