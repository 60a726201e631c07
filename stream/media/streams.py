"""The streams of a container: which one is painted, and how the others are copied."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from io import BytesIO
from typing import Any

import av
from av import Packet
from av.container import InputContainer, OutputContainer
from av.error import FFmpegError
from av.stream import Discard, Disposition, Stream
from av.video.stream import VideoStream

from sfumato.stream.count import count
from sfumato.stream.errors import SourceError
from sfumato.stream.media.carried import Carried

COVER_CODECS = {"mjpeg", "png", "bmp", "gif", "webp"}
"""Single pictures coded in these, beside a real video, are covers even where not marked so."""

COVER_MIME_TYPES = {"mjpeg": ("jpg", "image/jpeg"), "png": ("png", "image/png")}
"""What players know as a cover."""

STALE_KEYS = {
    "encoder",
    "software",
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
    notes = (f"left out: {count(left, 'more video stream')}",) if left else ()
    return best, notes


def is_cover(stream: Stream) -> bool:
    """Whether a video stream is an attached picture."""
    return bool(stream.disposition & (Disposition.attached_pic | Disposition.timed_thumbnails))


def side_streams(container: InputContainer, video: VideoStream) -> tuple[Stream, ...]:
    """The streams to copy: all but films, and the tracks in which MP4 keeps chapter titles and the
    time code, which its muxer makes anew from metadata."""
    chapters = bool(container.chapters())
    return tuple(
        stream
        for stream in container.streams
        if stream.index != video.index
        and (stream.type != "video" or is_cover(stream))
        and not (chapters and stream.discard == Discard.all)
        and not (stream.type == "data" and "timecode" in stream.metadata)
    )


def _looks_like_cover(stream: VideoStream) -> bool:
    context = stream.codec_context
    return context is not None and context.name in COVER_CODECS and stream.frames <= 1


def _rank(stream: VideoStream) -> tuple[bool, int, int]:
    context = stream.codec_context
    area = context.width * context.height if context is not None else -1
    return bool(stream.disposition & Disposition.default), area, -stream.index


def useful_metadata(metadata: dict[str, str]) -> dict[str, str]:
    """Metadata that stays true for the copy."""
    return {
        key: value
        for key, value in metadata.items()
        if key.lower().split("-")[0] not in STALE_KEYS
        and not key.startswith("_STATISTICS")
        and not value.startswith("1970-01-01T00:00:00")  # a creation time that was never set
    }


class StreamCopy:
    """Copies the streams beside the picture into an output container."""

    def __init__(self, container: OutputContainer, carried: Carried) -> None:
        self.copied = 0
        """Streams that the container took."""
        self._container = container
        self._format = container.format.name
        # Keyed by the source's stream index, which its packets know even when it is closed.
        self._targets: dict[int, Stream] = {}
        self._has_delay: set[int] = set()
        self._covers: list[tuple[Stream, bytes]] = []
        self._last_dts: dict[int, int] = {}
        self._refused: list[str] = []
        self._untimed = 0
        self._unprimed_s = Fraction(0)
        """How much sound fades in since the packet before it is left out."""
        for stream in carried.side_streams:
            if stream.type == "video":
                self._add_cover(stream, carried.covers.get(stream.index, b""))
            elif takes_stream(self._format, stream):
                self._targets[stream.index] = self._add(stream)
                if "matroska" in stream.container.format.name:
                    self._has_delay.add(stream.index)
            else:
                self._refused.append(describe(stream))

    def begin(self) -> None:
        """Write the covers; the container's header has to be there."""
        for target, data in self._covers:
            packet: Packet[Any] = Packet(data)
            packet.stream = target
            packet.time_base = Fraction(1, 1000)
            packet.pts = packet.dts = 0
            packet.is_keyframe = True
            self._container.mux_one(packet)

    def mux(self, packets: Sequence[Packet[Any]]) -> None:
        """Write packets that rode on a frame; those of refused streams are dropped."""
        for packet in packets:
            target = self._targets.get(packet.stream_index)
            if target is None:
                continue
            if self._is_preroll(packet):
                length_s = (packet.duration or 0) * packet.time_base
                self._unprimed_s = max(self._unprimed_s, length_s)
            else:
                self._mux_one(packet, target)

    def warnings(self) -> list[str]:
        """What could not be copied, one sentence each."""
        said = []
        if self._refused:
            streams = ", ".join(self._refused)
            said.append(f"not copied, since {self._format} cannot hold it: {streams}")
        if self._unprimed_s:
            said.append(
                f"the first {round(self._unprimed_s * 1000)} ms of sound fade in, as {self._format} "
                "has no place for what comes before time 0"
            )
        if self._untimed:
            said.append(f"not copied: {count(self._untimed, 'packet')} without a time")
        return said

    def _add(self, stream: Stream) -> Stream:
        target = self._container.add_stream_from_template(stream, opaque=True)
        target.disposition = stream.disposition
        target.metadata.update(_kept(stream))
        self.copied += 1
        return target

    def _add_cover(self, stream: Stream, picture: bytes) -> None:
        """MP4 has a place for covers; Matroska takes them as attached files."""
        codec = stream.codec_context.name if stream.codec_context is not None else ""
        if picture and self._format == "matroska" and codec in COVER_MIME_TYPES:
            ending, mime_type = COVER_MIME_TYPES[codec]
            self._container.add_attachment(f"cover.{ending}", mime_type, picture)
            self.copied += 1
        elif picture and self._format in ("mp4", "ipod") and codec in COVER_MIME_TYPES:
            self._covers.append((self._add(stream), picture))
        else:
            self._refused.append(describe(stream))

    def _is_preroll(self, packet: Packet[Any]) -> bool:
        """Whether a packet lies before time 0, in a container that knows no such time.

        It holds samples that decoders throw away (the 1024 with which AAC begins). Kept, it would
        make the muxer move every stream by its length, unless the stream comes with a codec delay.
        Without it the next one, which builds on it, fades in.
        """
        if self._format not in ("matroska", "webm") or packet.pts is None:
            return False
        if packet.stream_index in self._has_delay:
            return False
        return packet.pts < 0 and packet.pts + (packet.duration or 0) <= 0

    def _mux_one(self, packet: Packet[Any], target: Stream) -> None:
        dts = packet.dts if packet.dts is not None else packet.pts
        if dts is None:
            self._untimed += 1
            return
        # Muxers refuse times that do not rise; a damaged source may have some.
        packet.dts = max(dts, self._last_dts.get(target.index, dts - 1) + 1)
        if packet.pts is not None:
            packet.pts = max(packet.pts, packet.dts)
        self._last_dts[target.index] = packet.dts
        packet.stream = target
        self._container.mux_one(packet)


def takes_stream(format_name: str, stream: Stream) -> bool:
    """Whether a container format can hold a copy of the stream, found out by trying."""
    if stream.type == "attachment" and format_name != "matroska":
        return False  # other muxers accept such a stream and drop it
    try:
        with av.open(BytesIO(), "w", format=format_name) as trial:
            target = trial.add_stream_from_template(stream, opaque=True)
            trial.start_encoding()
            if (target.name or "").startswith(
                "pcm_"
            ):  # refused no sooner than by the index at the end
                trial.mux_one(_silence(target))
    except (FFmpegError, ValueError, NotImplementedError):
        return False
    return True


def _silence(target: Stream) -> Packet[Any]:
    """Uncoded samples of nothing, for any number of channels up to eight."""
    packet: Packet[Any] = Packet(bytes(840 * 24))
    packet.stream = target
    packet.time_base = target.time_base or Fraction(1, 1000)
    packet.pts = packet.dts = 0
    return packet


def describe(stream: Stream) -> str:
    """A stream in a few words: ``audio 1 (aac, eng)``."""
    codec = stream.codec_context.name if stream.codec_context is not None else None
    details = ", ".join(word for word in (codec, stream.language) if word)
    return f"{stream.type} stream {stream.index}" + (f" ({details})" if details else "")


def _kept(stream: Stream) -> dict[str, str]:
    keys = {"filename", "mimetype"} if stream.type == "attachment" else set()
    attached = {key: value for key, value in stream.metadata.items() if key in keys}
    return useful_metadata(stream.metadata) | attached
