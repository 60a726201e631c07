"""A file is good when it was opened again and holds what was written."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
from av import FFmpegError
from av.container import InputContainer
from av.video.stream import VideoStream

from sfumato.stream.errors import SinkError
from sfumato.stream.media.errors import plain
from sfumato.stream.media.streams import is_cover

TAIL_S = 1
"""How far before its end a file is decoded as a test; the keyframe before that counts."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What was written."""

    frames: int
    first_s: Fraction
    last_s: Fraction
    side_streams: int
    chapters: int
    metadata: frozenset[str]


def verify(path: Path, name: str, expected: Expected) -> list[str]:
    """Open a finished file, count its pictures and decode its first and last ones.

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
        with av.open(str(path), "r", metadata_errors="replace") as container:
            video = next(stream for stream in container.streams.video if not is_cover(stream))
            found = _count(container, video)
            if found != expected.frames:
                raise SinkError(
                    f"{name} was written but holds {found} of {expected.frames} frames; "
                    "try another --codec or file ending"
                )
            _decode_ends(container, video)
            return [*_lost_metadata(container, expected), *_lost_streams(container, expected)]
    except (FFmpegError, StopIteration) as error:
        raise SinkError(f"{name} was written but cannot be read back: {plain(error)}") from error


def _count(container: InputContainer, video: VideoStream) -> int:
    return sum(packet.size > 0 for packet in container.demux(video))


def _decode_ends(container: InputContainer, video: VideoStream) -> None:
    """Decode the first picture and the last; a decoder that cannot raises."""
    container.seek(container.start_time or 0)
    if next(container.decode(video), None) is None:
        raise SinkError("the first picture is missing")
    if container.duration is not None:
        end = (container.start_time or 0) + container.duration - TAIL_S * av.time_base
        container.seek(max(end, container.start_time or 0))
        for _ in container.decode(video):
            pass


def _lost_metadata(container: InputContainer, expected: Expected) -> list[str]:
    kept = {key.lower() for key in container.metadata}
    lost = sorted(key for key in expected.metadata if key.lower() not in kept)
    return (
        [f"not copied, since the file cannot hold it: metadata {', '.join(lost)}"] if lost else []
    )


def _lost_streams(container: InputContainer, expected: Expected) -> list[str]:
    lost = []
    if len(container.chapters()) < expected.chapters:
        lost.append("not copied, since the file cannot hold them: chapters")
    if len(container.streams) - 1 < expected.side_streams:
        lost.append("some copied streams cannot be found in the file")
    return lost
