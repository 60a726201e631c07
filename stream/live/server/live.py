"""The conversation with a page that shows a camera: a WebSocket of small JSON messages.

The page says ``offer`` (sdp, style, strength) once and ``paint`` (style, strength) at will; it
hears ``answer`` (sdp), ``stats`` and ``error`` (reason). The viewer ends with the socket.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any

from aiohttp import WSCloseCode, WSMsgType, web

from sfumato.stream.errors import SfumatoError
from sfumato.stream.live.server.gallery import Gallery
from sfumato.stream.live.server.messages import MessageError, parse_object, parse_strength
from sfumato.stream.live.server.settings import ServeSettings
from sfumato.stream.live.server.viewer import Viewer

log = logging.getLogger(__name__)

MOST_MESSAGE_BYTES = 64_000
HEARTBEAT_S = 20.0
"""A page that does not answer for half as long is gone."""

OFFER_S = 20.0
"""How long a page may take to say what it wants."""

STATS_S = 0.5


class Viewers:
    """Places for cameras."""

    def __init__(self, settings: ServeSettings, gallery: Gallery) -> None:
        self._settings = settings
        self._gallery = gallery
        self._sockets: set[web.WebSocketResponse] = set()

    @property
    def count(self) -> int:
        """Pages connected now."""
        return len(self._sockets)

    async def talk(self, request: web.Request) -> web.WebSocketResponse:
        """Serve one page until it leaves. Raises 503 when all places are taken."""
        if self.count >= self._settings.max_viewers:
            raise web.HTTPServiceUnavailable(text="All places are taken; try again later.")
        socket = web.WebSocketResponse(
            heartbeat=HEARTBEAT_S, max_msg_size=MOST_MESSAGE_BYTES, compress=False, timeout=2.0
        )
        self._sockets.add(socket)
        try:
            await socket.prepare(request)
            async with asyncio.timeout(self._settings.max_session_s):
                await self._converse(socket)
        except SfumatoError as exc:
            await _end(socket, str(exc))
        except TimeoutError:
            await _end(socket, "Time is up; connect again to go on.")
        except web.HTTPException:
            raise
        except ConnectionError:
            pass
        except Exception:
            log.exception("a viewer was lost")
            await _end(socket, "Something went wrong here.")
        finally:
            self._sockets.discard(socket)
        return socket

    async def close(self) -> None:
        """Hang up on all pages."""
        for socket in list(self._sockets):
            with contextlib.suppress(ConnectionError):
                await socket.close(code=WSCloseCode.GOING_AWAY, message=b"The server stops.")

    async def _converse(self, socket: web.WebSocketResponse) -> None:
        async with asyncio.timeout(OFFER_S):
            offer = await _receive(socket)
        if offer is None:
            return
        if offer.get("type") != "offer" or not isinstance(offer.get("sdp"), str):
            raise MessageError("an offer comes first")
        style = self._style(offer) or self._settings.live.paint.style
        strength = parse_strength(offer.get("strength"))
        viewer = Viewer(self._settings, style, 1.0 if strength is None else strength)
        async with viewer:
            await socket.send_json({"type": "answer", "sdp": await viewer.answer(offer["sdp"])})
            await self._attend(socket, viewer)

    async def _attend(self, socket: web.WebSocketResponse, viewer: Viewer) -> None:
        """Hear wishes and tell figures until one side has enough."""
        tasks = [
            asyncio.create_task(self._hear(socket, viewer)),
            asyncio.create_task(self._tell(socket, viewer)),
            asyncio.create_task(viewer.ended.wait()),
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            if viewer.reason:
                await _end(socket, viewer.reason)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _hear(self, socket: web.WebSocketResponse, viewer: Viewer) -> None:
        while (message := await _receive(socket)) is not None:
            if message.get("type") != "paint":
                raise MessageError("only wishes for painting follow an offer")
            viewer.paint(
                style=self._style(message), strength=parse_strength(message.get("strength"))
            )

    def _style(self, message: dict[str, Any]) -> str | None:
        key = message.get("style")
        return None if key is None else self._gallery.find(key)

    async def _tell(self, socket: web.WebSocketResponse, viewer: Viewer) -> None:
        while True:
            await asyncio.sleep(STATS_S)
            stats = viewer.stats()
            stats["style"] = self._gallery.key_of(stats["style"])
            await socket.send_json({"type": "stats", **stats})


async def _receive(socket: web.WebSocketResponse) -> dict[str, Any] | None:
    """The next message; None when the page has left. Raises :class:`MessageError` for junk."""
    message = await socket.receive()
    if message.type is not WSMsgType.TEXT:
        if message.type is WSMsgType.BINARY:
            raise MessageError("messages are text")
        return None
    return parse_object(message.data)


async def _end(socket: web.WebSocketResponse, reason: str) -> None:
    with contextlib.suppress(ConnectionError):
        await socket.send_json({"type": "error", "reason": reason})
        await socket.close(code=WSCloseCode.POLICY_VIOLATION)
