"""One viewer: a camera comes in, its painting goes out, wishes are heard until it leaves."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self

from aiortc import RTCConfiguration, RTCPeerConnection, RTCRtpReceiver, RTCSessionDescription

from sfumato.stream.live.painter import LivePainter
from sfumato.stream.live.server.bounds import (
    EncodedFrames,
    NewestFrame,
    bound_receiver,
    stay_on_this_machine,
    use_encoder,
)
from sfumato.stream.live.server.encode import LiveEncoder, sent_codec
from sfumato.stream.live.server.messages import MessageError
from sfumato.stream.live.server.settings import ServeSettings
from sfumato.stream.live.server.tracks import PaintedTrack, feed
from sfumato.stream.live.settings import LiveSettings

MOST_SDP_CHARACTERS = 32_000
MOST_CANDIDATES = 40
"""Addresses that an offer may name: each is sent a probe."""

ANSWER_S = 10.0
"""How long making an answer may take."""


@dataclass(slots=True)
class _Way:
    """What lies between a camera and its painter."""

    connection: RTCPeerConnection
    track: PaintedTrack
    encoder: LiveEncoder
    encoded: EncodedFrames
    decoded: NewestFrame
    feeding: asyncio.Task[None]


class Viewer:
    """An asynchronous context manager; leaving joins every thread and frees the painter."""

    def __init__(self, settings: ServeSettings, style: str, strength: float) -> None:
        """Raises :class:`SettingsError` and :class:`StyleError`."""
        paint = replace(settings.live.paint, style=style, strength=strength)
        self._private = settings.private
        self._live: LiveSettings = replace(settings.live, paint=paint)
        self._painter = LivePainter(self._live)
        self._way: _Way | None = None
        self.ended = asyncio.Event()
        """Set when the connection is gone or painting failed."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.shield(self._close())

    async def answer(self, offer_sdp: str) -> str:
        """The SDP that answers an offer with one video in both directions.

        Raises :class:`MessageError`.
        """
        if self._way is not None:
            raise MessageError("one offer for each connection")
        check_offer(offer_sdp)
        connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        track = PaintedTrack(self._painter)
        try:
            async with asyncio.timeout(ANSWER_S):
                return await self._connect(connection, track, offer_sdp)
        except TimeoutError:
            raise MessageError("the connection could not be prepared in time") from None
        except MessageError:
            raise
        except Exception as exc:
            raise MessageError("this offer cannot be answered") from exc
        finally:
            if self._way is None:
                await asyncio.shield(asyncio.gather(track.close(), connection.close()))

    async def _connect(
        self, connection: RTCPeerConnection, track: PaintedTrack, offer_sdp: str
    ) -> str:
        sender = connection.addTrack(track)
        await connection.setRemoteDescription(RTCSessionDescription(offer_sdp, "offer"))
        if self._private:
            stay_on_this_machine(connection)
        receiver = only_video(connection)
        encoded, decoded = bound_receiver(receiver)
        answer = await connection.createAnswer()
        encoder = LiveEncoder(sent_codec(answer.sdp))
        use_encoder(sender, encoder)
        await connection.setLocalDescription(answer)
        feeding = asyncio.create_task(feed(receiver.track, self._painter))
        self._way = _Way(connection, track, encoder, encoded, decoded, feeding)
        feeding.add_done_callback(lambda _: self.ended.set())
        track.add_listener("ended", self.ended.set)
        connection.add_listener("connectionstatechange", self._look)
        return connection.localDescription.sdp

    def _look(self) -> None:
        if self._way and self._way.connection.connectionState in ("failed", "closed"):
            self.ended.set()

    def paint(self, *, style: str | None = None, strength: float | None = None) -> None:
        """Change how is painted. Raises :class:`SettingsError` and :class:`StyleError`."""
        self._painter.switch(style=style, strength=strength)

    @property
    def reason(self) -> str:
        """Why it ended, where something failed here; else empty."""
        if self._way is None:
            return ""
        feeding = self._way.feeding
        if feeding.done() and not feeding.cancelled() and feeding.exception():
            return "The camera's pictures could not be read."
        return self._way.track.reason

    def stats(self) -> dict[str, Any]:
        """What the page shows: plain figures."""
        stats, way = self._painter.stats(), self._way
        network = {}
        if way is not None:
            late = way.encoded.dropped + way.decoded.dropped
            network = {
                "kbps": round(way.encoder.target_bitrate / 1000),
                "sent_scale": way.encoder.sent_scale,
                "dropped": sum(stats.dropped.values()) + late,
            }
        return {
            "fps": round(stats.fps, 1),
            "age_ms": stats.age_ms.to_dict(),
            "scale": stats.scale,
            "style": stats.style,
            "strength": stats.strength,
            **network,
        }

    async def _close(self) -> None:
        way, self._way = self._way, None
        async with AsyncExitStack() as last:  # each is closed, whatever the others raise
            last.push_async_callback(asyncio.to_thread, self._painter.close)
            if way is not None:
                last.push_async_callback(way.connection.close)
                last.push_async_callback(way.track.close)
                way.feeding.cancel()
                await asyncio.gather(way.feeding, return_exceptions=True)


def check_offer(sdp: str) -> None:
    """Raise :class:`MessageError` for what is no offer of one video."""
    if len(sdp) > MOST_SDP_CHARACTERS:
        raise MessageError("the offer is too long")
    lines = sdp.replace("\r\n", "\n").split("\n")
    if not all(line.isprintable() for line in lines):  # aiortc takes more for ends of lines
        raise MessageError("the offer holds control characters")
    media = [line for line in lines if line.startswith("m=")]
    if len(media) != 1 or not media[0].startswith("m=video "):
        raise MessageError("the offer should hold one video and nothing else")
    if sdp.count("a=candidate:") > MOST_CANDIDATES:
        raise MessageError("the offer names too many addresses")


def only_video(connection: RTCPeerConnection) -> RTCRtpReceiver:
    """The receiver of a connection that has a remote description.

    Raises :class:`MessageError` for one that would carry anything but one video.
    """
    transceivers = connection.getTransceivers()
    if [each.kind for each in transceivers] != ["video"] or connection.sctp is not None:
        raise MessageError("the offer should hold one video and nothing else")
    return transceivers[0].receiver
