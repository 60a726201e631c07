"""The server from its start to its end."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from threading import Event
from typing import Any

from aiohttp import web

from sfumato.stream.errors import SfumatoError
from sfumato.stream.live.server.gallery import Gallery
from sfumato.stream.live.server.guard import Guard
from sfumato.stream.live.server.limits import Door
from sfumato.stream.live.server.routes import Server
from sfumato.stream.live.server.settings import ServeSettings
from sfumato.stream.live.server.tls import Tls, open_tls, own_addresses

STOP_LOOK_S = 0.2
"""How soon a signal to stop is noticed."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server can be reached."""

    url: str
    """With the token, where one is needed."""
    private: bool
    """From this machine only."""
    fingerprint: str | None = None
    """Of the certificate, where we signed it ourselves."""


@asynccontextmanager
async def serving(settings: ServeSettings, styles: list[str]) -> AsyncGenerator[Running]:
    """Serve while the ``with`` block runs. Raises :class:`SfumatoError`.

    Args:
        styles: Names, or paths of ONNX files, in the order in which the page shows them.
    """
    names = {"localhost", "127.0.0.1", *own_addresses()}
    tls = open_tls(settings, names)
    async with AsyncExitStack() as stack:
        server = Server(settings, Gallery(styles))
        await stack.enter_async_context(server.jobs)
        runner = web.AppRunner(
            server.app(), access_log=None, handle_signals=False, shutdown_timeout=1.0
        )
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        listener = await _listen(runner, settings, tls)
        stack.callback(listener.close)
        port = listener.sockets[0].getsockname()[1]
        server.guard.port = port
        yield Running(server, _address(settings, server.guard, port, tls))


@dataclass(frozen=True, slots=True)
class Running:
    """A server that answers."""

    server: Server
    address: Address


async def _listen(
    runner: web.AppRunner, settings: ServeSettings, tls: Tls | None
) -> asyncio.Server:
    assert runner.server is not None
    door = Door(runner.server, settings.max_connections, tls.context if tls else None)
    try:
        return await asyncio.get_running_loop().create_server(door, **_where(settings))
    except (OSError, ValueError) as exc:
        raise SfumatoError(
            f"--host {settings.host} --port {settings.port}: cannot listen there "
            f"({getattr(exc, 'strerror', None) or exc}); choose another port, or 0 for a free one"
        ) from exc


def _where(settings: ServeSettings) -> dict[str, Any]:
    """All addresses of both kinds for ``::``, which asyncio would take for IPv6 alone."""
    if settings.host != "::":
        return {"host": settings.host, "port": settings.port}
    address = ("::", settings.port)
    return {"sock": socket.create_server(address, family=socket.AF_INET6, dualstack_ipv6=True)}


def _address(settings: ServeSettings, guard: Guard, port: int, tls: Tls | None) -> Address:
    host = settings.host
    if host in ("0.0.0.0", "::", ""):
        host = next(iter(own_addresses()), "localhost")
    if ":" in host:
        host = f"[{host}]"
    token = "" if guard.token is None else f"#token={guard.token}"
    url = f"{'https' if settings.secure else 'http'}://{host}:{port}/{token}"
    return Address(url, settings.private, tls.fingerprint if tls else None)


async def serve(
    settings: ServeSettings,
    styles: list[str],
    on_ready: Callable[[Address], None],
    stop: Event,
) -> None:
    """Serve until ``stop`` is set. Raises :class:`SfumatoError`."""
    async with serving(settings, styles) as running:
        on_ready(running.address)
        while not stop.is_set():
            await asyncio.sleep(STOP_LOOK_S)
