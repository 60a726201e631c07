"""The wanted part of a video: where it begins and ends, how long it is, and what lies beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

from av import Packet
from av.container import InputContainer
from av.stream import Stream
from av.video.stream import VideoStream

from sfumato.stream.media.clock import Cut

INTERLEAVE_S = 10
"""How far apart in a file packets of the same moment may lie (FFmpeg's max_interleave_delta)."""

MICROSECOND = Fraction(1, 1_000_000)
"""FFmpeg's AV_TIME_BASE."""


def cut_of(
    container: InputContainer, video: VideoStream, start_s: float, duration_s: float | None
) -> Cut:
    """The part that begins so many seconds after the first picture and is so long."""
    start = begin_s(container, video) + Fraction(start_s).limit_denominator(1_000_000)
    end = None
    if duration_s is not None:
        end = start + Fraction(duration_s).limit_denominator(1_000_000)
    return Cut(start if start_s else None, end)


def begin_s(container: InputContainer, video: VideoStream) -> Fraction:
    """When the first picture is shown, as far as the container says."""
    if video.start_time is not None:
        return video.start_time * time_base_of(video)
    return (container.start_time or 0) * MICROSECOND


def time_base_of(video: VideoStream) -> Fraction:
    """Seconds per tick."""
    return Fraction(video.time_base or MICROSECOND)


def frames_in(
    container: InputContainer, video: VideoStream, cut: Cut, rate: Fraction | None
) -> int | None:
    """Frames to come, as far as the container's own figures can be believed."""
    if cut == Cut() and video.frames:
        return video.frames
    length_s = _length_s(container, video)
    if length_s is None or rate is None:
        return None
    first_s = begin_s(container, video)
    end_s = first_s + length_s
    if cut.end_s is not None:
        end_s = min(end_s, cut.end_s)
    return max(1, round((end_s - (cut.start_s or first_s)) * rate))


def _length_s(container: InputContainer, video: VideoStream) -> Fraction | None:
    if container.duration is not None:
        return container.duration * MICROSECOND
    if video.duration is not None:
        return video.duration * time_base_of(video)
    return None


def chapters_in(container: InputContainer, cut: Cut) -> tuple[Any, ...]:
    """Chapters of the cut, on the cut's clock."""
    kept = []
    for chapter in container.chapters():
        base = chapter["time_base"]
        if not base:
            continue
        start, end = chapter["start"] * base, chapter["end"] * base
        if cut.is_after(start) or (cut.start_s is not None and cut.is_before(end)):
            continue
        shift = round(cut.shift_s / base)
        begin = max(0, chapter["start"] - shift)
        kept.append({**chapter, "start": begin, "end": chapter["end"] - shift})
    return tuple(kept)


def rest_beside(
    packets: Iterable[Packet[Any]], side: tuple[Stream, ...], end_s: Fraction
) -> Iterator[Packet[Any]]:
    """What the copied streams still have of a part that ends there, after its last picture."""
    copied = {stream.index for stream in side}
    waiting = {stream.index for stream in side if stream.type == "audio"}
    for packet in packets if waiting else ():
        time = packet.pts if packet.pts is not None else packet.dts
        late_s = time * packet.time_base - end_s if time is not None else Fraction(0)
        if late_s >= 0:
            waiting.discard(packet.stream.index)
        if not waiting or late_s > INTERLEAVE_S:
            return
        if packet.stream.index in copied:
            yield packet
