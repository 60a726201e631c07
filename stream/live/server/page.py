"""The page's files, read once: a request's path is looked up in a table, never on the disk."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.resources import files

from aiohttp import web

TYPES = {
    "index.html": "text/html",
    "style.css": "text/css",
    "app.js": "text/javascript",
    "live.js": "text/javascript",
    "compare.js": "text/javascript",
    "jobs.js": "text/javascript",
    "keep.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
"""Every file of the page."""


@dataclass(frozen=True, slots=True)
class Asset:
    """A file that anyone may have."""

    body: bytes
    kind: str
    tag: str


def asset(body: bytes, kind: str) -> Asset:
    """A body with a tag by which browsers know that theirs is still good."""
    return Asset(body, kind, hashlib.sha256(body).hexdigest()[:16])


def read_page() -> dict[str, Asset]:
    """Assets by request path."""
    folder = files(__name__.rpartition(".")[0]) / "page"
    found = {f"/{name}": asset((folder / name).read_bytes(), kind) for name, kind in TYPES.items()}
    found["/"] = found.pop("/index.html")
    return found


def give(request: web.Request, found: Asset) -> web.Response:
    """The asset, or word that the browser has it."""
    if found.tag in [tag.value for tag in request.if_none_match or ()]:
        response = web.Response(status=304)
    else:
        charset = "utf-8" if found.kind.startswith("text/") else None
        response = web.Response(body=found.body, content_type=found.kind, charset=charset)
    response.etag = found.tag
    response.headers["Cache-Control"] = "no-cache"
    return response
