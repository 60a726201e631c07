"""What bounds aiortc's queues, which grow without limit as it makes them.

Two queues lie on the way in: encoded frames wait for the decoder, decoded ones for whoever reads
the track. On the way out there is none: the sender asks the track for one frame after the other.
aiortc offers no setting for either, so that each is put in place of its own before it starts.
"""

from __future__ import annotations

import asyncio
import queue
from threading import Event
from typing import Any

from aiortc import RTCPeerConnection, RTCRtpReceiver, RTCRtpSender
from aiortc.codecs.base import Encoder
from aiortc.jitterbuffer import JitterBuffer, JitterFrame
from aiortc.rtcrtpparameters import RTCRtpCodecParameters

MOST_ENCODED = 10
"""Encoded frames that may wait: a third of a second at 30 frames per second."""

PACKETS = 512
"""As many as aiortc keeps of a video; a power of two."""

LOOPBACK = "127.0.0.1"


class NewestFrame(asyncio.Queue[Any]):
    """Holds one decoded frame; a newer one replaces it. The end mark (None) stays."""

    def __init__(self) -> None:
        super().__init__(1)
        self.dropped = 0
        self._ended = False

    async def put(self, item: Any) -> None:
        """Never waits."""
        if self._ended:
            return
        self._ended = item is None
        if self.full():
            self.get_nowait()
            self.dropped += 1
        self.put_nowait(item)


class EncodedFrames(queue.Queue[Any]):
    """Holds few encoded frames; when too many wait, all are dropped and a whole picture asked for.

    A frame is a change to the one before: after a gap the decoder would paint old parts over new
    ones, so that it gets nothing until the whole picture comes. The end mark (None) always gets
    in, or the decoder's thread would never end.
    """

    def __init__(self, decode_error: Event) -> None:
        """``decode_error``: aiortc sends a Picture Loss Indication when it is set."""
        super().__init__()
        self.dropped = 0
        self._broken = False
        self._decode_error = decode_error

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        """Never waits. ``item`` is (codec, frame), or None at the end."""
        if item is not None:
            if self.qsize() >= MOST_ENCODED:
                self._clear()
                self._broken = True
            if self._broken and not self._mends(*item):
                return
        super().put(item, block, timeout)

    def _mends(self, codec: RTCRtpCodecParameters, frame: JitterFrame) -> bool:
        """Whether the decoder can go on with this frame; if not, ask again now and then."""
        if is_whole(codec.name, frame.data):
            self._broken = False
            return True
        if self.dropped % MOST_ENCODED == 0:
            self._decode_error.set()
        self.dropped += 1
        return False

    def _clear(self) -> None:
        while True:
            try:
                self.get_nowait()
            except queue.Empty:
                return
            self.dropped += 1


def is_whole(codec: str, data: bytes) -> bool:
    """Whether an encoded frame needs no other: its first bit says so in VP8 (RFC 6386, 9.1), a
    parameter set (NAL unit type 7) or an IDR slice (5) in H.264."""
    if codec == "VP8":
        return bool(data) and not data[0] & 1
    return any(part and part[0] & 0x1F in (5, 7) for part in data.split(b"\0\0\1")[1:])


class PromptFrames(JitterBuffer):
    """Gives a frame when its last packet is there.

    aiortc waits for the first packet of the next frame, which makes every picture a thirtieth of a
    second older than it is. The last packet of a frame says so by its marker (RFC 6184, RFC 7741).
    """

    def __init__(self) -> None:
        super().__init__(capacity=PACKETS, is_video=True)

    def _remove_frame(self, sequence_number: int) -> JitterFrame | None:
        return super()._remove_frame(sequence_number) or self._whole_frame()

    def _whole_frame(self) -> JitterFrame | None:
        """The packets from the first on, if one of them is a last one and none is missing."""
        parts: list[Any] = []
        for count in range(self.capacity):
            packet: Any = self._packets[((self._origin or 0) + count) % self.capacity]
            if packet is None or (parts and packet.timestamp != parts[0].timestamp):
                return None
            parts.append(packet)
            if packet.marker:
                self.remove(len(parts))
                return JitterFrame(b"".join(part._data for part in parts), parts[0].timestamp)
        return None


def bound_receiver(receiver: RTCRtpReceiver) -> tuple[EncodedFrames, NewestFrame]:
    """Bound both queues of a receiver that has a track and has not started.

    Its frames also come at once: see :class:`PromptFrames`.
    """
    _replace(receiver, "RTCRtpReceiver", "jitter_buffer", PromptFrames())
    encoded = EncodedFrames(_private(receiver, "RTCRtpReceiver", "decoder_error"))
    _replace(receiver, "RTCRtpReceiver", "decoder_queue", encoded)
    newest = NewestFrame()
    track: Any = receiver.track
    if not hasattr(track, "_queue"):
        raise _changed("RemoteStreamTrack._queue")
    track._queue = newest
    return encoded, newest


def use_encoder(sender: RTCRtpSender, encoder: Encoder) -> None:
    """Let a sender encode with ours. It passes on the bitrate that the other end can take, as
    ``target_bitrate``, and the other end's wish for a whole picture."""
    _replace(sender, "RTCRtpSender", "encoder", encoder)


def stay_on_this_machine(connection: RTCPeerConnection) -> None:
    """Listen for media on the loopback only, as the page itself does.

    By itself ICE takes all interfaces but this one. Call after the remote description is set.
    """
    for transceiver in connection.getTransceivers():
        ice: Any = transceiver.receiver.transport.transport._connection
        gather = ice.get_component_candidates

        async def gather_here(
            component: int, addresses: list[str], timeout: int = 5, gather: Any = gather
        ) -> Any:
            return await gather(component, [LOOPBACK], timeout)

        ice.get_component_candidates = gather_here


def _private(owner: object, cls: str, name: str) -> Any:
    mangled = f"_{cls}__{name}"
    if not hasattr(owner, mangled):
        raise _changed(f"{cls}.__{name}")
    return getattr(owner, mangled)


def _replace(owner: object, cls: str, name: str, value: object) -> None:
    _private(owner, cls, name)
    setattr(owner, f"_{cls}__{name}", value)


def _changed(name: str) -> RuntimeError:
    return RuntimeError(f"this aiortc has no {name}; install the release that Sfumato asks for")
