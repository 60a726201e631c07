"""What a caller may choose about the server, checked once when built."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

from sfumato.stream.errors import SettingsError
from sfumato.stream.live.settings import LiveSettings

MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """Where to listen, and how much any number of strangers may ask for.

    Raises :class:`SettingsError` for values that make no sense.
    """

    host: str = "127.0.0.1"
    """Address to listen at; anything but this machine's own loopback needs the token."""
    port: int = 8030
    """0 takes a free one."""
    tls: bool = False
    """Serve HTTPS: browsers give the camera of another machine only to secure pages."""
    cert: Path | None = None
    key: Path | None = None
    """Certificate chain and key in PEM; without them one is signed on the spot."""
    live: LiveSettings = field(default_factory=LiveSettings)
    """What a viewer starts with."""
    max_viewers: int = 4
    """Cameras painted at the same time."""
    max_connections: int = 64
    """TCP connections at the same time."""
    max_jobs: int = 2
    """Files painted at the same time, by all viewers together."""
    max_upload_bytes: int = 500 * MEGABYTE
    max_clip_s: float = 600.0
    """Longest clip that is painted, in seconds of video."""
    max_job_s: float = 3600.0
    """Longest time that a file may be painted for."""
    max_session_s: float = 4 * 3600.0
    """Longest time that one camera is painted for."""

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise SettingsError(f"--port {self.port}: should be from 0 to 65535")
        if not 1 <= self.max_viewers <= 64:
            raise SettingsError(f"--max-viewers {self.max_viewers}: should be from 1 to 64")
        if not MEGABYTE <= self.max_upload_bytes <= 100_000 * MEGABYTE:
            raise SettingsError(
                f"--max-upload {self.max_upload_bytes}: should be from 1 MB to 100 GB"
            )
        if (self.cert is None) != (self.key is None):
            raise SettingsError("--cert and --key belong together; give both, or --tls alone")

    @property
    def secure(self) -> bool:
        """HTTPS rather than HTTP."""
        return self.tls or self.cert is not None

    @property
    def private(self) -> bool:
        """Only this machine can connect."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine talking to itself."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.rstrip(".").lower() == "localhost"
