"""The streams of a container: which one is painted, and how the others are copied."""

from __future__ import annotations

from typing import Any

import av
from av import Packet
from av.container import InputContainer, OutputContainer
from av.stream import Disposition, Stream
from av.video.stream import VideoStream

from sfumato.stream.errors import SourceError

COVER_CODECS = {"mjpeg", "png", "bmp", "gif", "webp"}
"""Single pictures coded in these, beside a real video, are covers even where not marked so."""

STALE_KEYS = {
    "encoder",
    "major_brand",
    "minor_version",
    "compatible_brands",
    "rotate",
    "vendor_id",
    "duration",
    "number_of_frames",
    "number_of_bytes",
    "bps",
    "filename",
    "mimetype",
}
"""Metadata that describes the old file, not the film (upper or lower case, any language suffix)."""


def choose_video(name: str, container: InputContainer) -> tuple[VideoStream, tuple[str, ...]]:
    """The stream to paint, and what to say about those that are not.

    Cover art is no video. Of several videos the one marked as default is taken, of those the
    largest, of those the first.

    Raises:
        SourceError: There is none, or no decoder for it.
    """
    covers = [stream for stream in container.streams.video if is_cover(stream)]
    films = [stream for stream in container.streams.video if stream not in covers]
    moving = [stream for stream in films if not _looks_like_cover(stream)] or films
    if not moving:
        what = "only cover art" if covers else "no video"
        raise SourceError(f"{name} holds {what}; choose a file with a video or a picture in it")
    best = max(moving, key=_rank)
    if best.codec_context is None:
        raise SourceError(f"{name}: this FFmpeg build has no decoder for its video stream")
    left = len([stream for stream in films if stream.index != best.index])
    notes = (f"{left} more video streams are left out",) if left else ()
    return best, notes


def is_cover(stream: Stream) -> bool:
    """Whether a video stream is an attached picture."""
    return bool(stream.disposition & (Disposition.attached_pic | Disposition.timed_thumbnails))


def side_streams(container: InputContainer, video: VideoStream) -> tuple[Stream, ...]:
    """The streams to copy: all but videos; covers are copied."""
    return tuple(
        stream
        for stream in container.streams
        if stream.index != video.index and (stream.type != "video" or is_cover(stream))
    )


def _looks_like_cover(stream: VideoStream) -> bool:
    context = stream.codec_context
    return context is not None and context.name in COVER_CODECS and stream.frames == 1


def _rank(stream: VideoStream) -> tuple[bool, int, int]:
    context = stream.codec_context
    area = context.width * context.height if context is not None else -1
    return bool(stream.disposition & Disposition.default), area, -stream.index


def useful_metadata(metadata: dict[str, str]) -> dict[str, str]:
    """Metadata that stays true for the copy."""
    return {
        key: value
        for key, value in metadata.items()
        if key.lower().split("-")[0] not in STALE_KEYS and not key.startswith("_STATISTICS")
    }


class StreamCopy:
    """Copies packets of side streams into an output container."""

    def __init__(self, container: OutputContainer, streams: tuple[Any, ...]) -> None:
        self.warnings: list[str] = []
        self.copied = 0
        """Streams that the container took."""
        self._container = container
        self._targets: dict[int, Stream] = {}
        self._last_dts: dict[int, int] = {}
        self._lost: dict[int, int] = {}
        refused = []
        for stream in streams:
            if takes_stream(container.format.name, stream):
                self._add(stream)
            else:
                refused.append(describe(stream))
        if refused:
            kind = container.format.name
            self.warnings.append(f"not copied, since {kind} cannot hold it: {', '.join(refused)}")

    def mux(self, packets: tuple[Packet[Any], ...]) -> None:
        """Write packets that rode on a frame; those of streams that were refused are dropped."""
        for packet in packets:
            target = self._targets.get(packet.stream.index)
            if target is not None:
                self._mux_one(packet, target)

    def _add(self, stream: Stream) -> None:
        target = self._container.add_stream_from_template(stream, opaque=True)
        target.disposition = stream.disposition
        target.metadata.update(_kept(stream))
        self._targets[stream.index] = target
        self.copied += 1

    def _mux_one(self, packet: Packet[Any], target: Stream) -> None:
        index = target.index
        dts = packet.dts if packet.dts is not None else packet.pts
        if dts is None:
            self._lost[index] = self._lost.get(index, 0) + 1
            return
        # Muxers refuse times that do not rise; a damaged or cut source may have some.
        least = self._last_dts.get(index, dts - 1) + 1
        packet.dts = max(dts, least)
        if packet.pts is not None:
            packet.pts = max(packet.pts, packet.dts)
        self._last_dts[index] = packet.dts
        packet.stream = target
        self._container.mux_one(packet)


def takes_stream(format_name: str, stream: Stream) -> bool:
    """Whether a container format can hold a copy of the stream, found out by trying."""
    from io import BytesIO

    with av.open(BytesIO(), "w", format=format_name) as trial:
        try:
            trial.add_stream_from_template(stream, opaque=True)
            trial.start_encoding()
        except (av.FFmpegError, ValueError, NotImplementedError):
            return False
    return True


def describe(stream: Stream) -> str:
    """A stream in a few words: ``audio 1 (aac, eng)``."""
    codec = stream.codec_context.name if stream.codec_context is not None else None
    details = ", ".join(word for word in (codec, stream.language) if word)
    return f"{stream.type} stream {stream.index}" + (f" ({details})" if details else "")


def _kept(stream: Stream) -> dict[str, str]:
    keys = {"filename", "mimetype"} if stream.type == "attachment" else set()
    attached = {key: value for key, value in stream.metadata.items() if key in keys}
    return useful_metadata(stream.metadata) | attached
