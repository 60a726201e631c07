"""Who may come in: the token, the session cookie, and requests that other pages would forge."""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
import socket
import time
from collections import OrderedDict
from dataclasses import dataclass, field

from aiohttp import web

from sfumato.stream.live.server.settings import ServeSettings, is_loopback

SESSION_S = 12 * 3600.0
"""How long a browser need not show the token again."""

MOST_SESSIONS = 256

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(self), microphone=(), geolocation=(), fullscreen=(self)",
    "Server": "Sfumato",
}
"""On every response, errors included."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "media-src 'self' blob:; connect-src 'self' {sockets}; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)

_HOST = re.compile(r"(\[(?P<address>[0-9A-Fa-f:.]+)\]|(?P<name>[0-9A-Za-z._-]+))(:[0-9]{1,5})?")
"""A Host header (RFC 9110, 7.2) that a browser would send."""


@dataclass(slots=True)
class Session:
    """One browser that may come in."""

    key: str
    until_s: float
    """On the clock of ``time.monotonic``."""
    jobs: list[str] = field(default_factory=list)
    """Ids of its painting jobs, at most one."""


class Guard:
    """Lets in who shows the token, and requests only from the page itself.

    Where only this machine can connect the token is not asked for; where a request comes from is
    checked all the same, because any page that is open in a browser here could send one.
    """

    def __init__(self, settings: ServeSettings) -> None:
        self.token = None if settings.private else secrets.token_urlsafe(16)
        """128 random bits; None where none is needed."""
        self.port = settings.port
        self._settings = settings
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._names = _own_names(settings.host)

    def check_source(self, request: web.Request) -> None:
        """Refuse a Host that is not ours, and an Origin that is not the Host.

        The first stops a foreign name that was made to point here (DNS rebinding), the second
        another page that sends requests in its visitor's name. Raises 421 or 403.
        """
        host = request.headers.get("Host", "")  # request.host would make one up
        if not self._is_ours(host):
            raise web.HTTPMisdirectedRequest(text="This address is not served here.")
        origin = request.headers.get("Origin")
        changing = request.method not in ("GET", "HEAD") or "Upgrade" in request.headers
        if origin is None and not changing:
            return
        if origin != f"{request.scheme}://{host}":
            raise web.HTTPForbidden(text="Requests are taken from the page itself only.")

    def _is_ours(self, host: str) -> bool:
        name = _without_port(host)
        if name is None:
            return False
        if self._settings.private:
            return is_loopback(name)
        return _is_address(name) or name.rstrip(".").lower() in self._names

    def enter(self, token: object) -> Session | None:
        """A new session for who shows the token (compared in constant time); else None."""
        if self.token is not None:
            shown = token if isinstance(token, str) else ""
            if not hmac.compare_digest(shown.encode(errors="replace"), self.token.encode()):
                return None
        session = Session(secrets.token_urlsafe(24), time.monotonic() + SESSION_S)
        self._sessions[session.key] = session
        while len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return session

    def session(self, request: web.Request) -> Session:
        """The session of a request's cookie. Raises 401."""
        session = self.find(request)
        if session is None:
            raise web.HTTPUnauthorized(text="Open the address that was printed at the start.")
        return session

    def find(self, request: web.Request) -> Session | None:
        """The session of a request's cookie, if it is still good."""
        session = self._sessions.get(request.cookies.get(self.cookie, ""))
        if session is None or session.until_s < time.monotonic():
            return None
        self._sessions.move_to_end(session.key)
        return session

    @property
    def cookie(self) -> str:
        """The cookie's name; cookies are shared by all ports of a host, so that it has the port."""
        return f"sfumato-{self.port}"

    def give_cookie(self, response: web.StreamResponse, session: Session) -> None:
        """Scripts cannot read it, other sites cannot make browsers send it."""
        response.set_cookie(
            self.cookie,
            session.key,
            httponly=True,
            samesite="Strict",
            secure=self._settings.secure,
            path="/",
        )


async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
    """A signal for ``on_response_prepare``: what browsers are told about every response."""
    response.headers.update(HEADERS)
    host = request.headers.get("Host", "")
    sockets = f"{'wss' if request.secure else 'ws'}://{host}" if _HOST.fullmatch(host) else ""
    response.headers["Content-Security-Policy"] = POLICY.format(sockets=sockets)
    response.headers.setdefault("Cache-Control", "no-store")


def _without_port(host: str) -> str | None:
    """The name or address of a Host header; None for what is no such header."""
    parts = _HOST.fullmatch(host)
    return parts and (parts["address"] or parts["name"])


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _own_names(host: str) -> frozenset[str]:
    own = socket.gethostname().lower()
    return frozenset({"localhost", host.lower(), own, f"{own.split('.')[0]}.local"})
