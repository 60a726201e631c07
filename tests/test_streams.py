"""The streams beside the picture: copied, in step with it, and never lost in silence."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from av.stream import Disposition

from sfumato.stream.media import open_sink, open_source
from tests.media import AUDIO_RATE, make_clip, repaint_file, times

CHAPTERS = ((0, 400, "one"), (400, 1000, "two"))


def payloads(path: Path, kind: str, number: int = 0) -> list[bytes]:
    """What the packets of a stream hold; MP4 fills the time between subtitles with empty ones."""
    with av.open(str(path)) as container:
        stream = [stream for stream in container.streams if stream.type == kind][number]
        return [bytes(packet) for packet in container.demux(stream) if packet.size > 2]


@pytest.mark.parametrize("name", ["clip.mp4", "clip.mkv"])
def test_everything_is_copied(tmp_path: Path, name: str) -> None:
    clip = make_clip(
        tmp_path / name,
        frames=25,
        audio_tracks=3,
        subtitles=True,
        attachment=name.endswith("mkv"),
        cover=name.endswith("mp4"),
        metadata={"title": "A title", "artist": "Somebody"},
        chapters=CHAPTERS,
    )
    target = tmp_path / f"out{clip.suffix}"
    assert repaint_file(clip, target) == ([], [])
    for number in range(3):
        assert payloads(target, "audio", number) == payloads(clip, "audio", number)
    assert payloads(target, "subtitle") == payloads(clip, "subtitle")
    with av.open(str(clip)) as before, av.open(str(target)) as after:
        assert [stream.language for stream in after.streams.audio] == ["eng", "deu", "fra"]
        assert {key.lower(): value for key, value in after.metadata.items()} | {
            "title": "A title",
            "artist": "Somebody",
        } == {key.lower(): value for key, value in after.metadata.items()}
        titles = [chapter["metadata"]["title"] for chapter in after.chapters()]
        spans = [chapter["start"] * (chapter["time_base"] or 0) for chapter in after.chapters()]
        assert titles == ["one", "two"]
        assert spans == [0, Fraction(2, 5)]
        kept = [stream.data for stream in after.streams.attachments]
        assert kept == [stream.data for stream in before.streams.attachments]
        covers = [
            stream
            for stream in after.streams.video
            if stream.disposition & Disposition.attached_pic
        ]
        assert len(covers) == name.endswith("mp4")


@pytest.mark.parametrize(("name", "out"), [("clip.mp4", "out.mkv"), ("clip.mkv", "out.mp4")])
def test_covers_move_between_containers(tmp_path: Path, name: str, out: str) -> None:
    clip = make_clip(tmp_path / "first.mp4", cover=True)
    repaint_file(clip, tmp_path / name)
    assert repaint_file(tmp_path / name, tmp_path / out) == ([], [])
    with av.open(str(tmp_path / out)) as container:
        cover = next(s for s in container.streams.video if s.disposition & Disposition.attached_pic)
        assert (cover.width, cover.height) == (32, 32)


def test_what_a_container_cannot_hold_is_listed(tmp_path: Path) -> None:
    clip = make_clip(
        tmp_path / "clip.mkv",
        audio_tracks=1,
        subtitles=True,
        attachment=True,
        metadata={"title": "kept", "WORKSHOP": "lost"},
    )
    _, warnings = repaint_file(clip, tmp_path / "out.mp4")
    streams, metadata = warnings
    assert "subtitle stream 2 (srt)" in streams
    assert "attachment stream 3" in streams
    assert "audio" not in streams
    assert "WORKSHOP" in metadata
    _, warnings = repaint_file(clip, tmp_path / "out.webm")
    assert "audio stream 1 (aac, eng)" in warnings[0]


@pytest.mark.parametrize("name", ["out.mp4", "out.mkv", "out.mov"])
def test_sound_and_picture_stay_in_step(tmp_path: Path, name: str) -> None:
    clip = make_clip(
        tmp_path / "clip.mp4",
        frames=50,
        audio_tracks=1,
        pts=[40 * number + 250 for number in range(50)],
        time_base=Fraction(1, 1000),
        options={"qp": "0", "bf": "3"},
    )
    repaint_file(clip, tmp_path / name)
    assert times(tmp_path / name) == times(clip)
    before = [time for time in times(clip, "audio") if time >= 0]
    after = [time for time in times(tmp_path / name, "audio") if time >= 0]
    assert len(before) == len(after)
    assert max(abs(one - other) for one, other in zip(before, after, strict=True)) <= Fraction(
        1, 1000
    )


@pytest.mark.parametrize("name", ["out.mp4", "out.mkv"])
def test_a_part_keeps_the_offset_between_sound_and_picture(tmp_path: Path, name: str) -> None:
    clip = make_clip(
        tmp_path / "clip.mp4", frames=75, audio_tracks=2, subtitles=True, options={"g": "12"}
    )
    repaint_file(clip, tmp_path / name, start_s=1.01, duration_s=1.0)
    shift = Fraction(26, 25)  # the first frame at or after 1.01 s
    assert times(tmp_path / name) == [Fraction(number, 25) for number in range(25)]
    for track in range(2):
        whole = {bytes_: time for bytes_, time in timed(clip, track)}
        part = timed(tmp_path / name, track)
        assert Fraction(94, 100) < part[-1][1] < 1
        assert 0 <= part[0][1] <= Fraction(1024, AUDIO_RATE)
        for bytes_, time in part:
            assert abs(whole[bytes_] - shift - time) <= Fraction(1, 1000)


def test_a_part_is_counted_from_the_first_picture(tmp_path: Path) -> None:
    """Not from where the sound begins, which may be earlier."""
    clip = make_clip(
        tmp_path / "clip.mp4",
        frames=50,
        audio_tracks=1,
        pts=[40 * number + 250 for number in range(50)],
        time_base=Fraction(1, 1000),
    )
    repaint_file(clip, tmp_path / "out.mp4", duration_s=0.4)
    assert [time * 1000 for time in times(tmp_path / "out.mp4")] == [
        250 + 40 * n for n in range(10)
    ]
    assert times(tmp_path / "out.mp4", "audio")[-1] < Fraction(65, 100)


def test_a_part_from_the_beginning_keeps_what_primes_the_decoder(tmp_path: Path) -> None:
    """AAC begins before time 0, with samples that are thrown away but needed for those that follow."""
    clip = make_clip(tmp_path / "clip.mp4", frames=50, audio_tracks=1)
    repaint_file(clip, tmp_path / "out.mp4", duration_s=1.0)
    whole, part = timed(clip, 0), timed(tmp_path / "out.mp4", 0)
    assert whole[0][1] < 0
    assert part == whole[: len(part)]
    assert part[-1][1] < 1


@pytest.mark.parametrize(("name", "said"), [("out.mp4", False), ("out.mkv", True)])
def test_where_sound_is_not_primed_it_is_told(tmp_path: Path, name: str, said: bool) -> None:
    clip = make_clip(tmp_path / "clip.mp4", audio_tracks=1)
    _, warnings = repaint_file(clip, tmp_path / name)
    told = "the first 21 ms of sound fade in, as matroska has no place for what comes before time 0"
    assert warnings == [told] * said
    assert len(timed(clip, 0)) - len(timed(tmp_path / name, 0)) == said


def timed(path: Path, track: int) -> list[tuple[bytes, Fraction]]:
    """Contents and time of each packet of an audio track."""
    with av.open(str(path)) as container:
        packets = container.demux(container.streams.audio[track])
        return [(bytes(p), p.pts * p.time_base) for p in packets if p.size and p.pts is not None]


def test_chapters_follow_a_part(tmp_path: Path) -> None:
    clip = make_clip(
        tmp_path / "clip.mkv",
        frames=50,
        chapters=((0, 400, "one"), (400, 1200, "two"), (1200, 2000, "three")),
    )
    repaint_file(clip, tmp_path / "out.mkv", start_s=0.8, duration_s=0.8)
    with av.open(str(tmp_path / "out.mkv")) as container:
        found = [
            (c["metadata"]["title"], c["start"] * (c["time_base"] or 0))
            for c in container.chapters()
        ]
    assert found == [("two", 0), ("three", Fraction(2, 5))]


def test_subtitles_follow_a_part(tmp_path: Path) -> None:
    clip = make_clip(
        tmp_path / "clip.mkv", frames=25, subtitles=True, options={"g": "2", "bf": "0"}
    )
    repaint_file(clip, tmp_path / "out.mkv", start_s=0.12)
    # Shown at 100 ms for 81 ms: what is left of it starts with the part, at 120 ms.
    assert payloads(tmp_path / "out.mkv", "subtitle") == [b"second", b"third"]
    assert times(tmp_path / "out.mkv", "subtitle") == [0, Fraction(80, 1000)]


@pytest.mark.parametrize("name", ["out.mp4", "out.mkv"])
def test_packets_are_interleaved(tmp_path: Path, name: str) -> None:
    clip = make_clip(tmp_path / "clip.mp4", frames=150, audio_tracks=1, size_px=(32, 32))
    repaint_file(clip, tmp_path / name)
    latest = {"video": Fraction(0), "audio": Fraction(0)}
    with av.open(str(tmp_path / name)) as container:
        for packet in container.demux():
            if packet.size and packet.pts is not None and packet.stream.type in latest:
                latest[packet.stream.type] = packet.pts * packet.time_base
                assert abs(latest["video"] - latest["audio"]) < 1


def test_the_result_can_be_sought(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4", frames=100, audio_tracks=1, size_px=(32, 32))
    repaint_file(clip, tmp_path / "out.mp4", preset="ultrafast")
    with open_source(tmp_path / "out.mp4", start_s=3.0) as source:
        frames = list(source.frames())
    with open_source(tmp_path / "out.mp4") as source:
        whole = list(source.frames())
    assert len(frames) == 25
    for frame, other in zip(frames, whole[75:], strict=True):
        assert np.array_equal(frame.planes[0], other.planes[0])


def test_the_length_is_that_of_the_source(tmp_path: Path) -> None:
    """A last frame without a duration would make the film shorter and its rate wrong."""
    clip = make_clip(tmp_path / "clip.mp4", frames=10)
    for name in ("out.mp4", "out.mov", "out.webm"):
        repaint_file(clip, tmp_path / name)
        with av.open(str(tmp_path / name)) as container:
            assert container.duration == 400_000
            assert container.streams.video[0].average_rate == 25


def test_packets_with_falling_times_do_not_stop_the_job(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mkv", frames=25, audio_tracks=1)
    with open_source(clip) as source, open_sink(tmp_path / "out.mp4", like=source) as sink:
        for number, frame in enumerate(source.frames()):
            for packet in frame.side_packets if number == 5 else ():
                packet.pts = packet.dts = 3
            sink.write(frame)
    assert len(times(tmp_path / "out.mp4")) == 25


def test_joined_recordings_run_on(tmp_path: Path) -> None:
    """Two recordings of one tuner in a row: each has a clock that begins anew."""
    for name in ("first.ts", "second.ts"):
        make_clip(tmp_path / name, frames=50, audio_tracks=1, size_px=(32, 32), options={"bf": "2"})
    both = tmp_path / "both.ts"
    both.write_bytes((tmp_path / "first.ts").read_bytes() + (tmp_path / "second.ts").read_bytes())
    warnings, _ = repaint_file(both, tmp_path / "out.mp4")
    assert "recordings were joined: times run on across 1 seam" in warnings
    video, audio = times(tmp_path / "out.mp4"), times(tmp_path / "out.mp4", "audio")
    assert len(video) >= 98
    for kind in (video, audio):
        gaps = [float(late - early) for early, late in itertools.pairwise(kind)]
        assert max(gaps) < 0.2
        assert sum(gap < 0.005 for gap in gaps) <= 2  # sound before the seam and after it overlaps
    assert abs(video[-1] - audio[-1]) < 0.2


def test_what_a_container_refuses_at_its_end_is_found_at_the_beginning(tmp_path: Path) -> None:
    """MP4 takes PCM if it is told the places of the speakers, which AVI does not tell."""
    with av.open(str(tmp_path / "clip.avi"), "w") as container:
        video = container.add_stream("mpeg4", rate=25)
        video.width, video.height, video.pix_fmt = 64, 48, "yuv420p"
        audio = container.add_stream("pcm_s16le", rate=AUDIO_RATE)
        audio.layout = "stereo"
        for number in range(5):
            picture = av.VideoFrame(64, 48, "yuv420p")
            picture.pts = number
            container.mux(video.encode(picture))
            sound = av.AudioFrame.from_ndarray(np.zeros((1, 3840), np.int16), "s16", "stereo")
            sound.sample_rate, sound.pts = AUDIO_RATE, number * 1920
            container.mux(audio.encode(sound))
        container.mux(video.encode(None))
    _, warnings = repaint_file(tmp_path / "clip.avi", tmp_path / "out.mkv")
    assert warnings == []
    _, warnings = repaint_file(tmp_path / "clip.avi", tmp_path / "out.mp4")
    assert warnings == ["not copied, since mp4 cannot hold it: audio stream 1 (pcm_s16le)"]
