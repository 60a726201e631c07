"""Reading what is damaged, joined, missing or far away: past it, or one clear line."""

from __future__ import annotations

import functools
import socket
import threading
from collections.abc import Callable, Iterator
from fractions import Fraction
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import av
import numpy as np
import pytest

from sfumato.stream.errors import SourceError
from sfumato.stream.media import open_source, reader
from tests.media import make_clip


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
            assert f"skipped: {source.skipped}" in source.warnings[0]
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
        assert source.warnings == ["damaged packets or pictures skipped: 2"]
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


@pytest.mark.parametrize("begin_s", [100.0, 1e18, 1e300])
def test_a_part_beyond_the_end_is_one_clear_line(tmp_path: Path, begin_s: float) -> None:
    clip = make_clip(tmp_path / "clip.mp4")
    with pytest.raises(SourceError, match="no picture in the wanted part; check --start"):
        open_source(clip, start_s=begin_s)
    with pytest.raises(SourceError, match=r"no picture in the wanted part; .*--duration"):
        open_source(clip, duration_s=1e-9)


@pytest.mark.parametrize("header", [b"W0 H0", b"W99999 H99999", b"W64"])
def test_a_damaged_header_is_one_clear_line(tmp_path: Path, header: bytes) -> None:
    (tmp_path / "clip.y4m").write_bytes(b"YUV4MPEG2 " + header)
    with pytest.raises(SourceError, match=r"clip\.y4m: not a video or image that can be read"):
        open_source(tmp_path / "clip.y4m")


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


@pytest.mark.parametrize("name", ["clip.mkv", "clip.flv"])
def test_a_part_from_an_address_that_cannot_seek(tmp_path: Path, served: str, name: str) -> None:
    clip = make_clip(tmp_path / name, frames=200, options={"g": "12"}, rate=Fraction(5))
    for place in (clip, f"{served}/{name}"):
        with open_source(place, start_s=20) as source:
            assert len(list(source.frames())) == 100


def test_a_silent_server_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "OPEN_TIMEOUT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(SourceError, match=r"no data within .* check the address"):
            open_source(f"http://127.0.0.1:{port}/clip.mp4")
