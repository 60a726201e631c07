"""Packets of copied streams: a bounded number of them at a time, and none is lost."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from sfumato.stream.flow import prefetch
from sfumato.stream.media import open_sink, open_source, riders
from tests.media import AUDIO_RATE, times

RATE = 5
LENGTH_S = 5
BLOCK = AUDIO_RATE // 20
"""Samples in a packet of sound."""

FEW_BYTES = 100_000
"""What may gather in these tests: half a second of sound."""


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(riders, "LOAD_BYTES", FEW_BYTES)


def film(path: Path, numbers: Sequence[int]) -> Path:
    """Sound of five seconds, with pictures only at some of its fifths of a second."""
    with av.open(str(path), "w") as container:
        video = container.add_stream("ffv1", rate=RATE)
        video.width, video.height, video.pix_fmt = 32, 32, "yuv420p"
        audio = container.add_stream("pcm_s16le", rate=AUDIO_RATE)
        audio.layout = "stereo"
        container.start_encoding()
        for block in range(LENGTH_S * AUDIO_RATE // BLOCK):
            begin_s = Fraction(block * BLOCK, AUDIO_RATE)
            if begin_s * RATE in numbers:
                picture = av.VideoFrame.from_ndarray(
                    np.full((48, 32), round(begin_s * RATE), np.uint8), format="yuv420p"
                )
                picture.pts, picture.time_base = round(begin_s * RATE), Fraction(1, RATE)
                container.mux(video.encode(picture))
            codes = (np.arange(2 * BLOCK) + block).astype(np.int16)[None]
            sound = av.AudioFrame.from_ndarray(codes, "s16", "stereo")
            sound.sample_rate, sound.pts = AUDIO_RATE, block * BLOCK
            container.mux(audio.encode(sound))
        container.mux(video.encode(None))
    return path


def sounds(path: Path) -> list[tuple[Fraction, bytes]]:
    with av.open(str(path)) as container:
        packets = [p for p in container.demux(container.streams.audio[0]) if p.size]
        return [(p.pts * p.time_base, bytes(p)) for p in packets if p.pts is not None]


PLACES = {
    "before the first picture": range(20, 25),
    "between two": [0, 1, 22, 24],
    "after the last": range(3),
}


@pytest.mark.parametrize("numbers", PLACES.values(), ids=PLACES.keys())
def test_sound_without_pictures_is_copied_bit_for_bit(
    tmp_path: Path, numbers: Sequence[int]
) -> None:
    clip, out = film(tmp_path / "clip.mkv", numbers), tmp_path / "out.mkv"
    with open_source(clip) as source, open_sink(out, like=source, codec="ffv1") as sink:
        with closing(prefetch(source.frames(), 3, "decode")) as frames:
            for frame in frames:
                assert sum(packet.size for packet in frame.side_packets) <= FEW_BYTES
                sink.write(frame)
        assert sum(packet.size for packet in source.trailing_packets) <= FEW_BYTES
    assert times(out) == times(clip)
    assert sounds(out) == sounds(clip)


def test_a_part_behind_a_gap(tmp_path: Path) -> None:
    clip, out = film(tmp_path / "clip.mkv", [0, 1, 20, 21, 22, 23]), tmp_path / "out.mkv"
    with (
        open_source(clip, start_s=1, duration_s=3.5) as source,
        open_sink(out, like=source, codec="ffv1") as sink,
    ):
        for frame in source.frames():
            sink.write(frame)
    assert times(out) == [0, Fraction(1, 5), Fraction(2, 5)]
    whole = sounds(clip)
    assert sounds(out) == [(time_s - 4, data) for time_s, data in whole if 4 <= time_s < 4.5]


def test_who_copies_no_sound_holds_little_of_it(tmp_path: Path) -> None:
    clip = film(tmp_path / "clip.mkv", [0, 1, 24])
    with open_source(clip) as source:
        for frame in source.frames():
            assert sum(packet.size for packet in frame.side_packets) <= FEW_BYTES
