"""A server and a client for it in one event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

from sfumato.stream.live.server.app import serving
from sfumato.stream.live.server.routes import Server
from sfumato.stream.live.server.settings import ServeSettings
from sfumato.stream.live.settings import LiveSettings
from sfumato.stream.settings import PaintSettings

IDENTITY = LiveSettings(paint=PaintSettings(style="identity", workers=1), scale=1.0)
STYLES = ("identity", "toon-fast")


@dataclass
class Client:
    """A browser that knows no tricks."""

    http: aiohttp.ClientSession
    server: Server
    base: str
    token: str | None

    @property
    def origin(self) -> dict[str, str]:
        """What a browser says of itself with every request that changes something."""
        return {"Origin": self.base}

    async def enter(self) -> None:
        """Show the token, keep the cookie."""
        async with self.http.post(
            f"{self.base}/api/enter", json={"token": self.token}, headers=self.origin
        ) as answer:
            assert answer.status == 200, await answer.text()

    def post(self, path: str, **more: Any) -> Any:
        """A request from the page itself."""
        return self.http.post(self.base + path, headers=self.origin, **more)

    def get(self, path: str) -> Any:
        """A request from the page itself."""
        return self.http.get(self.base + path)

    def live(self) -> Any:
        """The WebSocket, from the page itself."""
        return self.http.ws_connect(f"{self.base}/api/live", headers=self.origin)


@asynccontextmanager
async def client(styles: Sequence[str] = STYLES, **settings: Any) -> AsyncIterator[Client]:
    """Serve on a free port and come in, as far as that needs no token."""
    settings = {"port": 0, "live": IDENTITY, **settings}
    async with (
        serving(ServeSettings(**settings), list(styles)) as running,
        aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as http,
    ):
        port = running.server.guard.port
        yield Client(http, running.server, f"http://127.0.0.1:{port}", running.server.guard.token)


async def status(there: Client, path: str, **headers: str) -> int:
    """What a GET is answered with."""
    async with there.http.get(there.base + path, headers=headers) as answer:
        return int(answer.status)


async def answer_to(there: Client, sent: bytes) -> bytes:
    """All that comes back for these bytes on a connection of their own."""
    host, port = there.base.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(sent)
    answer = await reader.read()
    writer.close()
    await asyncio.gather(writer.wait_closed(), return_exceptions=True)
    return answer


def run(test: Callable[[], Awaitable[None]], timeout_s: float = 60) -> None:
    """Run a coroutine function to its end."""

    async def limited() -> None:
        async with asyncio.timeout(timeout_s):
            await test()

    asyncio.run(limited())


async def gone(condition: Callable[[], bool], timeout_s: float = 20) -> None:
    """Wait until a condition holds that nothing announces."""
    async with asyncio.timeout(timeout_s):
        while not condition():
            await asyncio.sleep(0.02)


def painter_threads() -> list[str]:
    """Threads of painters, tracks and decoders that are alive."""
    words = ("paint", "prepare", "decoder")
    return [t.name for t in threading.enumerate() if any(word in t.name for word in words)]
