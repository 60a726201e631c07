"""Packets into pictures, past whatever is damaged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from errno import EIO
from typing import Any

from av import Packet
from av.container import InputContainer
from av.error import EOFError as StreamEnd
from av.error import FFmpegError, InvalidDataError
from av.stream import Stream
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from sfumato.stream.errors import SourceError
from sfumato.stream.media.clock import Timeline
from sfumato.stream.media.errors import plain

MAX_FAILURES = 100
"""Damaged packets in a row after which the rest of a file counts as lost."""


class Decoder:
    """Demuxes a container, decodes its video stream and gives the packets of others to ``beside``.

    Attached pictures go to ``covers`` by stream index: containers have them before anything else.
    """

    def __init__(
        self,
        name: str,
        container: InputContainer,
        video: VideoStream,
        side: tuple[Stream, ...],
        *,
        strict: bool,
        beside: Callable[[Packet[Any]], None] | None = None,
        covers: dict[int, bytes] | None = None,
    ) -> None:
        self.name = name
        self.skipped = 0
        """Damaged packets and pictures left out."""
        self.packets_read = 0
        """Video packets met, damaged ones included."""
        self.end_bytes: int | None = None
        """Where in the file its last packet ends; None until all is read."""
        self.gave_up = False
        """Nothing but damage came any more, and the rest was left unread."""
        self._covers = {} if covers is None else covers
        self.timeline = Timeline()
        self._container = container
        self._video = video
        self._streams = (video, *side)
        self._beside = beside
        self._strict = strict

    def pictures(self) -> Iterator[VideoFrame]:
        """All pictures from the container's present position on, in order of presentation."""
        self.timeline = Timeline()
        failures = 0
        for packet in self._video_packets():
            try:
                pictures = self._video.decode(packet)
            except StreamEnd:
                return
            except FFmpegError as error:
                self._skip(plain(error))
                failures += 1
                if failures >= MAX_FAILURES:
                    self.gave_up = True
                    return
                continue
            failures = 0
            for picture in pictures:
                if picture.is_corrupt:
                    self._skip("a damaged picture")
                else:
                    yield picture

    def packets(self) -> Iterator[Packet[Any]]:
        """All packets from the present position on. Damage between packets is skipped."""
        failures = end_bytes = 0
        while failures < MAX_FAILURES:
            try:
                for packet in self._container.demux(self._streams):
                    # The end is marked by packets without content; an empty dts marks nothing.
                    if packet.size > 0:
                        failures = 0
                        end_bytes = (packet.pos or 0) + packet.size
                        self.timeline.straighten(packet)
                        yield packet
                self.end_bytes = end_bytes
                return
            except IndexError:
                return  # PyAV's end mark trips over streams that appeared on the way
            except (InvalidDataError, OSError) as error:
                if isinstance(error, OSError) and (error.errno != EIO or "://" in self.name):
                    raise
                # FFmpeg also says EIO where a damaged index points past the end of a file.
                self._skip(plain(error))
                failures += 1
        self.gave_up = True

    def _video_packets(self) -> Iterator[Packet[Any] | None]:
        """Packets of the video stream, then None to flush the decoder."""
        for packet in self.packets():
            if packet.stream.index != self._video.index:
                self._keep(packet)
                continue
            self.packets_read += 1
            if packet.is_corrupt:
                self._skip("a packet that is marked as damaged")
            else:
                yield packet
        yield None

    def _keep(self, packet: Packet[Any]) -> None:
        if packet.stream.type == "video":
            self._covers[packet.stream.index] = bytes(packet)
        elif self._beside is not None:
            self._beside(packet)

    def _skip(self, reason: str) -> None:
        self.skipped += 1
        if self._strict:
            raise SourceError(
                f"{self.name} is damaged near picture {self.packets_read} ({reason}); "
                "leave out --strict to skip what is damaged"
            )
