"""A file is good when it was opened again and holds what was written."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from pathlib import Path

import av
from av.container import InputContainer
from av.error import FFmpegError
from av.video.stream import VideoStream

from sfumato.stream.errors import SinkError
from sfumato.stream.media.errors import plain
from sfumato.stream.media.source import local
from sfumato.stream.media.streams import is_cover

TAIL_S = 1
"""How far before its end a file is decoded as a test, from the keyframe before."""

TAIL_PICTURES = 12
"""How many pictures are decoded there: a GOP may be ten seconds long, and every packet is counted."""

TOLERANCE_S = Fraction(1, 1000)
"""What containers with a millisecond clock may round times by."""

ASPECT_TOLERANCE = Fraction(1, 100)
"""Matroska keeps the aspect as a display size in whole pixels."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What was written."""

    frames: int
    first_s: Fraction
    last_s: Fraction
    sample_aspect: Fraction | None
    side_streams: int
    chapters: int
    metadata: frozenset[str]


def verify(path: Path, name: str, expected: Expected) -> list[str]:
    """Open a finished file, count its pictures and decode some at both ends.

    Args:
        path: Where the file lies now.
        name: What to call it in messages.
        expected: What should be in it.

    Returns:
        What the container did not keep, one sentence each.

    Raises:
        SinkError: Pictures are missing, or cannot be decoded.
    """
    try:
        with av.open(local(path), "r", metadata_errors="replace") as container:
            video = _film(container, name)
            ticks = [packet.pts for packet in container.demux(video) if packet.size > 0]
            if len(ticks) != expected.frames:
                raise SinkError(
                    f"{name} was written but holds {len(ticks)} of {expected.frames} frames; "
                    "try another --codec or file ending"
                )
            said = [
                *_moved(ticks, Fraction(video.time_base or 1), expected),
                *_lost_metadata(container, expected),
                *_lost_streams(container, video, expected),
            ]
        _decode_ends(path)
        return said
    except FFmpegError as error:
        raise SinkError(f"{name} was written but cannot be read back: {plain(error)}") from error


def _film(container: InputContainer, name: str) -> VideoStream:
    """The video stream that was written. Raises SinkError where a reader finds none."""
    films = [stream for stream in container.streams.video if not is_cover(stream)]
    if not films:
        raise SinkError(
            f"{name} was written but no video is found in it; try another --codec or file ending"
        )
    return films[0]


def _moved(ticks: list[int | None], time_base: Fraction, expected: Expected) -> list[str]:
    """Whether the first or last picture is shown at another time than it should."""
    known = [tick for tick in ticks if tick is not None]
    if not known:
        return ["the file keeps no times: a player shows the pictures at an even pace"]
    first_s, last_s = min(known) * time_base, max(known) * time_base
    told_s = TOLERANCE_S + time_base
    if abs(first_s - expected.first_s) > told_s:
        return [f"the file begins {_at(first_s, expected.first_s)}"]
    if abs(last_s - expected.last_s) > told_s:
        return [f"the last picture is shown {_at(last_s, expected.last_s)}"]
    return []


def _at(found_s: Fraction, expected_s: Fraction) -> str:
    """Times that differ by more than the milliseconds shown."""
    return f"at {float(found_s):.3f} s, not at {float(expected_s):.3f} s"


def _decode_ends(path: Path) -> None:
    """Decode the first picture and the beginning of the last GOP; a decoder that cannot raises."""
    with av.open(local(path), "r", metadata_errors="replace") as container:
        video = _film(container, path.name)
        pictures = container.decode(video)
        if next(pictures, None) is None:
            raise SinkError(f"{path.name} holds no picture that can be decoded")
        begin, length = container.start_time or 0, container.duration or 0
        if length > 2 * TAIL_S * av.time_base:
            container.seek(begin + length - TAIL_S * av.time_base)
            pictures = container.decode(video)
        for _ in islice(pictures, TAIL_PICTURES):
            pass


def _lost_metadata(container: InputContainer, expected: Expected) -> list[str]:
    kept = {key.lower() for key in container.metadata}
    lost = sorted(key for key in expected.metadata if key.lower() not in kept)
    return (
        [f"not copied, since the file cannot hold it: metadata {', '.join(lost)}"] if lost else []
    )


def _lost_streams(container: InputContainer, video: VideoStream, expected: Expected) -> list[str]:
    lost = []
    aspect = expected.sample_aspect
    found = Fraction(video.sample_aspect_ratio or 1)
    if aspect is not None and abs(found / aspect - 1) > ASPECT_TOLERANCE:
        shape = f"{aspect.numerator}:{aspect.denominator}"
        lost.append(f"not copied, since the file cannot hold it: pixel aspect {shape}; use .mp4")
    if len(container.chapters()) < expected.chapters:
        lost.append("not copied, since the file cannot hold them: chapters")
    if len(container.streams) - 1 < expected.side_streams:
        lost.append("some copied streams cannot be found in the file")
    return lost
