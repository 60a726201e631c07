"""The server: what may be asked for, and who answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from threading import Event

from aiohttp import web

from sfumato.stream.errors import SfumatoError
from sfumato.stream.live.server.guard import Guard, add_headers
from sfumato.stream.live.server.limits import (
    HANDSHAKE_S,
    LINGER_S,
    SILENT_S,
    SMALL_BODY_BYTES,
    Door,
    answering_expect,
    check_length,
)
from sfumato.stream.live.server.live import Viewers
from sfumato.stream.live.server.messages import MessageError, parse_object, parse_strength
from sfumato.stream.live.server.page import give, read_page
from sfumato.stream.live.server.settings import ServeSettings
from sfumato.stream.live.server.thumbs import Thumbs
from sfumato.stream.live.server.tls import Tls, open_tls, own_addresses
from sfumato.stream.live.server.uploads import Job, Jobs

log = logging.getLogger(__name__)

UPLOADS = "/api/jobs"
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


class Server:
    """Answers requests."""

    def __init__(self, settings: ServeSettings, styles: list[str]) -> None:
        """``styles``: names, or paths of ONNX files, in the order of the gallery."""
        self.settings = settings
        self.guard = Guard(settings)
        self.viewers = Viewers(settings, styles)
        self.jobs = Jobs(settings)
        self._styles = styles
        self._thumbs = Thumbs(styles)
        self._page = read_page()

    def app(self) -> web.Application:
        """The routes, each behind the same guard."""
        app = web.Application(middlewares=[self._guarded], client_max_size=SMALL_BODY_BYTES)
        app.on_response_prepare.append(add_headers)
        app.on_shutdown.append(self._hang_up)
        expect = answering_expect(self._most_bytes)
        for path in self._page:
            app.router.add_get(path, self._asset)
        app.router.add_get("/thumbs/{name}", self._thumb)
        app.router.add_get("/api/state", self._state)
        app.router.add_get("/api/live", self._live)
        app.router.add_post("/api/enter", self._enter, expect_handler=expect)
        app.router.add_post(UPLOADS, self._upload, expect_handler=expect)
        app.router.add_get(UPLOADS + "/{key}", self._job)
        app.router.add_delete(UPLOADS + "/{key}", self._drop)
        app.router.add_get(UPLOADS + "/{key}/file", self._file)
        return app

    async def _hang_up(self, _app: web.Application) -> None:
        await self.viewers.close()

    @web.middleware
    async def _guarded(
        self,
        request: web.Request,
        handler: Callable[[web.Request], Awaitable[web.StreamResponse]],
    ) -> web.StreamResponse:
        try:
            self.guard.check_source(request)
            check_length(request, self._most_bytes(request))
            return await handler(request)
        except web.HTTPException as exc:
            return _refusal(exc.status, exc.text or exc.reason, close=exc.status >= 400)
        except SfumatoError as exc:
            return _refusal(400, str(exc))
        except ConnectionError:
            return _refusal(400, "The connection was lost.")
        except Exception:
            log.exception("a request could not be answered")
            return _refusal(500, "Something went wrong here.")

    def _most_bytes(self, request: web.Request) -> int:
        upload = request.path == UPLOADS and request.method == "POST"
        return self.settings.max_upload_bytes if upload else SMALL_BODY_BYTES

    async def _asset(self, request: web.Request) -> web.StreamResponse:
        return give(request, self._page[request.path])

    async def _thumb(self, request: web.Request) -> web.StreamResponse:
        found = await self._thumbs.get(request.match_info["name"])
        if found is None:
            raise web.HTTPNotFound(text="There is no such style.")
        return give(request, found)

    async def _enter(self, request: web.Request) -> web.StreamResponse:
        said = parse_object((await request.read()).decode(errors="replace"))
        session = self.guard.enter(said.get("token"))
        if session is None:
            raise web.HTTPUnauthorized(text="Open the address that was printed at the start.")
        response = web.json_response({})
        self.guard.give_cookie(response, session)
        return response

    async def _state(self, request: web.Request) -> web.StreamResponse:
        paint = self.settings.live.paint
        names = [_shown(style) for style in self._styles]
        thumbs = Thumbs.names_of(self._styles)
        return web.json_response(
            {
                "entered": self.guard.find(request) is not None,
                "styles": [
                    {"style": style, "name": name, "thumb": f"/thumbs/{thumb}"}
                    for style, name, thumb in zip(self._styles, names, thumbs, strict=True)
                ],
                "style": paint.style,
                "strength": paint.strength,
                "max_upload_bytes": self.settings.max_upload_bytes,
                "max_clip_s": self.settings.max_clip_s,
            }
        )

    async def _live(self, request: web.Request) -> web.StreamResponse:
        self.guard.session(request)
        return await self.viewers.talk(request)

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        session = self.guard.session(request)
        style = request.query.get("style", self.settings.live.paint.style)
        if style not in self._styles:
            raise MessageError("there is no such style")
        strength = parse_strength(request.query.get("strength", "1")) or 0.0
        job = await self.jobs.receive(request, session, style, strength)
        return web.json_response(job.to_dict())

    def _own_job(self, request: web.Request) -> Job:
        return self.jobs.find(request.match_info["key"], self.guard.session(request))

    async def _job(self, request: web.Request) -> web.StreamResponse:
        return web.json_response(self._own_job(request).to_dict())

    async def _drop(self, request: web.Request) -> web.StreamResponse:
        await self.jobs.drop(self._own_job(request))
        return web.json_response({})

    async def _file(self, request: web.Request) -> web.StreamResponse:
        job = self._own_job(request)
        if job.result is None:
            raise web.HTTPNotFound(text="This painting is not there yet.")
        return web.FileResponse(job.result)


@asynccontextmanager
async def serving(settings: ServeSettings, styles: list[str]) -> AsyncGenerator[Running]:
    """Serve while the ``with`` block runs. Raises :class:`SfumatoError`."""
    names = {"localhost", "127.0.0.1", *own_addresses()}
    tls = open_tls(settings, names)
    async with AsyncExitStack() as stack:
        server = Server(settings, styles)
        await stack.enter_async_context(server.jobs)
        runner = web.AppRunner(
            server.app(),
            access_log=None,
            handle_signals=False,
            keepalive_timeout=SILENT_S,
            lingering_time=LINGER_S,
            shutdown_timeout=1.0,
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
    door = Door(runner.server, settings.max_connections)
    try:
        return await asyncio.get_running_loop().create_server(
            door,
            settings.host,
            settings.port,
            ssl=tls.context if tls else None,
            ssl_handshake_timeout=HANDSHAKE_S if tls else None,
        )
    except OSError as exc:
        raise SfumatoError(
            f"--host {settings.host} --port {settings.port}: cannot listen there "
            f"({exc.strerror or exc}); choose another port, or 0 for a free one"
        ) from exc


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


def _refusal(status: int, text: str, *, close: bool = False) -> web.Response:
    response = web.json_response({"error": text}, status=status)
    if close:
        response.force_close()
    return response


def _shown(style: str) -> str:
    """A style's name for people: that of its file, or its own."""
    from pathlib import PurePath

    name = PurePath(style).name.split(".")[0]
    return name.replace("-", " ").replace("_", " ").capitalize()
