"""Limits on connections and bodies, applied before anything is read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from aiohttp import web

SMALL_BODY_BYTES = 64_000
"""Largest body of any request but an upload."""

LINGER_S = 0.5
"""How long a refused body is read on, so that its sender sees the answer instead of a reset."""

SILENT_S = 15.0
"""How long a connection may stay without a request."""

HANDSHAKE_S = 10.0


class Door:
    """Makes a protocol for each connection, until there are as many as may be."""

    def __init__(self, server: web.Server, most: int) -> None:
        self._server = server
        self._most = most

    def __call__(self) -> asyncio.Protocol:
        """What :meth:`asyncio.loop.create_server` calls."""
        return self._server() if len(self._server.connections) < self._most else Refusal()


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
