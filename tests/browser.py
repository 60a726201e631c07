"""A real Chromium for tests, driven by its DevTools protocol.

Its camera is a y4m file that is played in a loop.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-background-timer-throttling",
    "--disable-renderer-backgrounding",
    "--disable-backgrounding-occluded-windows",
    "--autoplay-policy=no-user-gesture-required",
    "--use-fake-ui-for-media-stream",
    "--use-fake-device-for-media-stream",
    "--remote-debugging-port=0",
)
START_S = 30
ANSWER_S = 60


def find_chromium() -> str | None:
    """The browser's command, if it is installed."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


class Tab:
    """One page."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, key: str) -> None:
        self.key = key
        self._socket = socket
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.said: list[str] = []
        """What the page wrote to its console, and exceptions that nobody caught."""
        self._reading = asyncio.create_task(self._read())

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the DevTools protocol."""
        number = next(self._numbers)
        self._waiting[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        async with asyncio.timeout(ANSWER_S):
            return await self._waiting[number]

    async def run(self, script: str) -> Any:
        """The value of a JavaScript expression; a promise is waited for."""
        answer = await self.call(
            "Runtime.evaluate",
            expression=script,
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description"))
        return answer["result"].get("value")

    async def until(self, condition: str, timeout_s: float = 30) -> None:
        """Wait until a JavaScript expression is true."""
        await self.run(
            "new Promise((done, failed) => {"
            f"const end = performance.now() + {1000 * timeout_s};"
            f"const look = () => ({condition}) ? done() : performance.now() > end"
            f" ? failed(new Error({condition!r})) : setTimeout(look, 50); look(); }})"
        )

    async def screenshot(self, path: Path) -> None:
        """Keep what is seen as PNG."""
        answer = await self.call("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(answer["data"]))

    async def look_like(self, width: int, height: int, *, dark: bool, phone: bool) -> None:
        """Size and taste of a device."""
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=2 if phone else 1, mobile=phone,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", features=[scheme])

    async def close(self) -> None:
        """Stop listening; the page itself stays."""
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        await self._socket.close()

    async def _read(self) -> None:
        async for message in self._socket:
            said = message.json()
            if (waiting := self._waiting.pop(said.get("id", 0), None)) is not None:
                if waiting.done():
                    continue
                if "error" in said:
                    waiting.set_exception(RuntimeError(said["error"]["message"]))
                else:
                    waiting.set_result(said["result"])
            elif said.get("method") == "Runtime.exceptionThrown":
                self.said.append(str(said["params"]["exceptionDetails"]))
            elif said.get("method") == "Log.entryAdded":
                entry = said["params"]["entry"]
                self.said.append(f"{entry['text']} {entry.get('url', '')}")


class Browser:
    """A running Chromium."""

    def __init__(self, session: aiohttp.ClientSession, address: str) -> None:
        self._session = session
        self._address = address
        self._tabs: list[Tab] = []

    async def open(self, url: str) -> Tab:
        """A new page."""
        async with self._session.put(f"http://{self._address}/json/new?about:blank") as answer:
            target = await answer.json()
        socket = await self._session.ws_connect(
            target["webSocketDebuggerUrl"], max_msg_size=0, heartbeat=None
        )
        tab = Tab(socket, target["id"])
        self._tabs.append(tab)
        for domain in ("Page", "Runtime", "Log"):
            await tab.call(f"{domain}.enable")
        await tab.call("Page.navigate", url=url)
        return tab

    async def shut(self, tab: Tab) -> None:
        """Close a page as a person would: without a word to it."""
        await self._session.get(f"http://{self._address}/json/close/{tab.key}")
        await tab.close()
        self._tabs.remove(tab)

    async def close(self) -> None:
        """Let go of all pages."""
        for tab in self._tabs:
            await tab.close()


@asynccontextmanager
async def chromium(folder: Path, camera: Path, *flags: str) -> AsyncIterator[Browser]:
    """Start Chromium with a new profile in ``folder`` and ``camera`` (y4m) before it."""
    command = find_chromium()
    assert command is not None, "install Debian's chromium, or Chrome"
    process = await asyncio.create_subprocess_exec(
        command, *FLAGS, *flags, f"--user-data-dir={folder}",
        f"--use-file-for-fake-video-capture={camera}", "about:blank",
        stderr=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stderr is not None
    try:
        async with aiohttp.ClientSession() as session, asyncio.timeout(None):
            browser = Browser(session, await _address(process.stderr))
            drain = asyncio.create_task(_drain(process.stderr))
            try:
                yield browser
            finally:
                await browser.close()
                drain.cancel()
                await asyncio.gather(drain, return_exceptions=True)
    finally:
        process.terminate()
        await process.wait()


async def _address(output: asyncio.StreamReader) -> str:
    async with asyncio.timeout(START_S):
        async for line in output:
            if b"DevTools listening on ws://" in line:
                return line.decode().split("ws://")[1].split("/")[0]
    raise RuntimeError("Chromium ended")


async def _drain(output: asyncio.StreamReader) -> None:
    while await output.readline():
        pass
