"""Limits on connections and bodies, applied before anything is read."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import time
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

HANDSHAKE_S = 10.0

LEAST_SHARE = 8
"""Connections that one address may have, however few there are in all: a browser takes 6."""

IPV6_PREFIX = 64
"""Bits that tell one network from another; whoever has one has all its addresses."""

_UNHEARD = logging.getLogger("sfumato.requests")
_UNHEARD.disabled = True  # aiohttp would print the address of whoever sends junk


class Door:
    """Makes a protocol for each connection, until there are as many as may be.

    A connection counts from when it is accepted. One whose TLS handshake fails is never heard of
    again and counts until the handshake would have run out of time.
    """

    def __init__(self, server: web.Server, most: int) -> None:
        self._server = server
        self._most = most
        self._share = max(LEAST_SHARE, most // 4)
        self._coming: dict[Handler, float] = {}
        self._open: dict[Handler, str | None] = {}

    def __call__(self) -> asyncio.Protocol:
        """What :meth:`asyncio.loop.create_server` calls."""
        now_s = time.monotonic()
        late_s = now_s - HANDSHAKE_S - 1
        self._coming = {each: at_s for each, at_s in self._coming.items() if at_s > late_s}
        if len(self._coming) + len(self._open) >= self._most:
            return Refusal()
        handler = Handler(self, self._server)
        self._coming[handler] = now_s
        return handler

    def admit(self, handler: Handler, address: str | None) -> bool:
        """Count a connection that is made, unless there are too many from where it comes."""
        self._coming.pop(handler, None)
        network = network_of(address)
        if network is not None and Counter(self._open.values())[network] >= self._share:
            return False
        self._open[handler] = network
        return True

    def forget(self, handler: Handler) -> None:
        """A connection is gone."""
        self._open.pop(handler, None)


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

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See :class:`asyncio.Protocol`."""
        super().connection_made(transport)
        peer = transport.get_extra_info("peername")
        if not self._door.admit(self, peer[0] if peer else None):
            assert isinstance(transport, asyncio.Transport)
            transport.abort()

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


class Refusal(asyncio.Protocol):
    """Hangs up."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See :class:`asyncio.Protocol`."""
        assert isinstance(transport, asyncio.Transport)
        transport.abort()


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
