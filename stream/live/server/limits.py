"""Limits on connections and bodies, applied before anything is read."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import ssl
from collections import Counter
from collections.abc import Awaitable, Callable

from aiohttp import web

from sfumato.stream.live.server.guard import HEADERS

SMALL_BODY_BYTES = 64_000
"""Largest body of any request but an upload."""

LINGER_S = 0.5
"""How long a refused body is read on, so that its sender sees the answer instead of a reset."""

SILENT_S = 15.0
"""How long a connection may stay without a request."""

HANDSHAKE_S = 5.0
"""How long a TLS handshake may take."""

LEAST_SHARE = 8
"""Connections that one address may have, however few there are in all: a browser takes 6."""

IPV6_PREFIX = 64
"""Bits that tell one network from another; whoever has one has all its addresses."""

_UNHEARD = logging.getLogger("sfumato.requests")
_UNHEARD.disabled = True  # aiohttp would print the address of whoever sends junk


class Door:
    """Lets connections in, until there are as many as may be, from one address or in all.

    They count from when they are accepted: whoever is silent in a TLS handshake takes a place too.
    """

    def __init__(self, server: web.Server, most: int, tls: ssl.SSLContext | None = None) -> None:
        self._server, self._tls = server, tls
        self._most = most
        self._share = max(LEAST_SHARE, most // 4)
        self._open: dict[Handler, str | None] = {}
        self._greeted: set[asyncio.Task[None]] = set()

    def __call__(self) -> asyncio.Protocol:
        """What :meth:`asyncio.loop.create_server` calls."""
        return Threshold(self)

    def meet(self, transport: asyncio.Transport) -> None:
        """Send a new connection away, or begin to speak with it."""
        peer = transport.get_extra_info("peername")
        handler = Handler(self, self._server)
        if not self.admit(handler, peer[0] if peer else None):
            transport.abort()
        elif self._tls is None:
            transport.set_protocol(handler)
            handler.connection_made(transport)
        else:
            transport.pause_reading()  # what comes now is for TLS
            greeted = asyncio.create_task(self._shake_hands(transport, handler, self._tls))
            self._greeted.add(greeted)
            greeted.add_done_callback(self._greeted.discard)

    def admit(self, handler: Handler, address: str | None) -> bool:
        """Count a connection, unless there are too many, or too many from where it comes."""
        network = network_of(address)
        if len(self._open) >= self._most:
            return False
        if network is not None and Counter(self._open.values())[network] >= self._share:
            return False
        self._open[handler] = network
        return True

    def forget(self, handler: Handler) -> None:
        """A connection is gone."""
        self._open.pop(handler, None)

    async def _shake_hands(
        self, transport: asyncio.Transport, handler: Handler, tls: ssl.SSLContext
    ) -> None:
        early = _Early()
        try:
            secure = await asyncio.get_running_loop().start_tls(
                transport, early, tls, server_side=True, ssl_handshake_timeout=HANDSHAKE_S
            )
        except OSError:
            secure = None
        if secure is None:
            self.forget(handler)
        else:
            early.hand_over(secure, handler)


class Threshold(asyncio.Protocol):
    """Where a connection is until it is let in."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See :class:`asyncio.Protocol`."""
        assert isinstance(transport, asyncio.Transport)
        self._door.meet(transport)


class _Early(asyncio.Protocol):
    """Keeps what comes between a handshake and the one who speaks."""

    def __init__(self) -> None:
        self._data: list[bytes] = []
        self._lost = False

    def data_received(self, data: bytes) -> None:
        """See :class:`asyncio.Protocol`."""
        self._data.append(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        """See :class:`asyncio.Protocol`."""
        self._lost = True

    def hand_over(self, transport: asyncio.Transport, handler: Handler) -> None:
        """From now on the connection is the handler's."""
        transport.set_protocol(handler)
        handler.connection_made(transport)
        for data in self._data:
            handler.data_received(data)
        if self._lost:
            handler.connection_lost(None)


def network_of(address: str | None) -> str | None:
    """What connections are counted by; None for this machine itself, which is not limited."""
    try:
        where = ipaddress.ip_address((address or "").partition("%")[0])
    except ValueError:
        return None
    if isinstance(where, ipaddress.IPv6Address):
        if where.ipv4_mapped is None:
            network = ipaddress.ip_network((int(where), IPV6_PREFIX), strict=False)
            return None if where.is_loopback else str(network)
        where = where.ipv4_mapped
    return None if where.is_loopback else str(where)


class Handler(web.RequestHandler):
    """Speaks HTTP on one connection. What is no HTTP gets the same headers as all else."""

    def __init__(self, door: Door, server: web.Server) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            logger=_UNHEARD,
            access_log=None,  # type: ignore[arg-type] # as AppRunner passes it
            keepalive_timeout=SILENT_S,
            lingering_time=LINGER_S,
            auto_decompress=False,  # a small body stays small
        )
        self._door = door

    def connection_lost(self, exc: BaseException | None) -> None:
        """See :class:`asyncio.Protocol`."""
        self._door.forget(self)
        super().connection_lost(exc)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The answer to what cannot be read; says nothing of what is inside."""
        text = "This is no request that can be read." if status < 500 else None
        response = super().handle_error(request, status, exc, text)
        response.headers.update(HEADERS)
        return response


def check_length(request: web.Request, most_bytes: int) -> None:
    """Raise 413 for a body that says that it is longer, without reading any of it."""
    if (request.content_length or 0) > most_bytes:
        raise web.HTTPRequestEntityTooLarge(
            most_bytes,
            request.content_length or 0,
            text=f"That is too large: {most_bytes / 1e6:.0f} MB at most."
            if most_bytes >= 1e6
            else "That is too large.",
        )


def answering_expect(
    most_bytes: Callable[[web.Request], int],
) -> Callable[[web.Request], Awaitable[None]]:
    """A handler for ``Expect: 100-continue`` that refuses before the body is sent."""

    async def expect(request: web.Request) -> None:
        check_length(request, most_bytes(request))
        if request.version >= (1, 1) and request.transport is not None:
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.writer.output_size = 0

    return expect
