"""One viewer: a camera comes in, its painting goes out, wishes are heard until it leaves."""

from __future__ import annotations

import asyncio
import contextlib
import re
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self

from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription

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
        try:
            async with asyncio.timeout(ANSWER_S):
                return await self._connect(connection, offer_sdp)
        except TimeoutError:
            await connection.close()
            raise MessageError("the connection could not be prepared in time") from None
        except Exception as exc:
            await connection.close()
            raise MessageError("this offer cannot be answered") from exc

    async def _connect(self, connection: RTCPeerConnection, offer_sdp: str) -> str:
        track = PaintedTrack(self._painter)
        sender = connection.addTrack(track)
        await connection.setRemoteDescription(RTCSessionDescription(offer_sdp, "offer"))
        if self._private:
            stay_on_this_machine(connection)
        receiver = connection.getTransceivers()[0].receiver
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
        """Why it ended, where painting failed; else empty."""
        return self._way.track.reason if self._way else ""

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
        if way is not None:
            way.feeding.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await way.feeding
            await way.track.close()
            await way.connection.close()
        await asyncio.to_thread(self._painter.close)


def check_offer(sdp: str) -> None:
    """Raise :class:`MessageError` for what is no offer of one video."""
    if len(sdp) > MOST_SDP_CHARACTERS:
        raise MessageError("the offer is too long")
    if len(re.findall(r"^m=", sdp, re.MULTILINE)) != 1 or "m=video" not in sdp:
        raise MessageError("the offer should hold one video and nothing else")
    if sdp.count("a=candidate:") > MOST_CANDIDATES:
        raise MessageError("the offer names too many addresses")
