"""What may be asked for, and who answers."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from aiohttp import web

from sfumato.stream.errors import SfumatoError
from sfumato.stream.live.server.gallery import Gallery
from sfumato.stream.live.server.guard import Guard, add_headers
from sfumato.stream.live.server.limits import (
    SMALL_BODY_BYTES,
    answering_expect,
    check_length,
)
from sfumato.stream.live.server.live import Viewers
from sfumato.stream.live.server.messages import parse_object, parse_strength
from sfumato.stream.live.server.page import give, read_page
from sfumato.stream.live.server.settings import ServeSettings
from sfumato.stream.live.server.uploads import Job, Jobs

log = logging.getLogger(__name__)

UPLOADS = "/api/jobs"


class Server:
    """Answers requests."""

    def __init__(self, settings: ServeSettings, gallery: Gallery) -> None:
        self.settings = settings
        self.guard = Guard(settings)
        self.viewers = Viewers(settings, gallery)
        self.jobs = Jobs(settings)
        self._gallery = gallery
        self._default = gallery.key_of(settings.live.paint.style)
        self._page = read_page()

    def app(self) -> web.Application:
        """The routes, each behind the same guard."""
        app = web.Application(middlewares=[self._guarded], client_max_size=SMALL_BODY_BYTES)
        app.on_response_prepare.append(add_headers)
        app.on_shutdown.append(self._hang_up)
        expect = answering_expect(self._most_bytes)
        for path in self._page:
            app.router.add_get(path, self._asset)
        app.router.add_get("/thumbs/{key}.jpg", self._thumb)
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
        except (ConnectionError, web.RequestPayloadError):
            return _refusal(400, "The connection was lost, or the body cannot be read.")
        except Exception:
            log.exception("a request could not be answered")
            return _refusal(500, "Something went wrong here.")

    def _most_bytes(self, request: web.Request) -> int:
        upload = request.path == UPLOADS and request.method == "POST"
        return self.settings.max_upload_bytes if upload else SMALL_BODY_BYTES

    async def _asset(self, request: web.Request) -> web.StreamResponse:
        return give(request, self._page[request.path])

    async def _thumb(self, request: web.Request) -> web.StreamResponse:
        key = request.match_info["key"]
        if key not in self._gallery.keys:
            raise web.HTTPNotFound(text="There is no such style.")
        return give(request, await self._gallery.thumb(key))

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
        return web.json_response(
            {
                "entered": self.guard.find(request) is not None,
                "styles": self._gallery.to_list(),
                "style": self._default,
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
        style = self._gallery.find(request.query.get("style", self._default))
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


def _refusal(status: int, text: str, *, close: bool = False) -> web.Response:
    response = web.json_response({"error": text}, status=status)
    if close:
        response.force_close()
    return response
