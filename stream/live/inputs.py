"""What ``--source`` may name, and how FFmpeg is asked for it."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import av
import av.error
from av.container import InputContainer
from av.error import FFmpegError

from sfumato.stream.errors import SettingsError, SourceError
from sfumato.stream.live.cameras import Camera, backend, find_camera, refused, requests
from sfumato.stream.media.errors import reading
from sfumato.stream.media.intake import StandardInput
from sfumato.stream.media.source import check_readable, local

OPEN_TIMEOUT_S = 10.0

PROBE = {"probesize": "1000000", "analyzeduration": "500000"}
"""Look at little before the first picture: FFmpeg's default is up to five seconds of a stream."""

RTSP = {"rtsp_transport": "tcp"}
"""UDP loses packets without a word, and most firewalls drop it."""

Kind = Literal["camera", "address", "file", "test", "pipe"]


@dataclass(frozen=True, slots=True)
class Input:
    """A source that can be opened, and opened again."""

    name: str
    """What to call it in messages."""
    kind: Kind
    open: Callable[[float], InputContainer] = field(repr=False)
    """Takes the seconds after which silence is an error; raises :class:`SourceError`."""
    paced: bool = False
    """It can be read faster than it should be shown: its own times say when a picture is due."""
    read_bytes: Callable[[], int] | None = field(default=None, repr=False)
    """How much has come through a pipe, where that is known."""

    @property
    def path(self) -> Path | None:
        """The file that is read, where it is one."""
        return Path(self.name) if self.kind == "file" else None

    @property
    def comes_back(self) -> bool:
        """Worth another try when it ends or fails in mid-run."""
        return self.kind in ("camera", "address")


def find_input(
    source: str,
    *,
    realtime: bool = False,
    size_px: tuple[int, int] | None = None,
    fps: float | None = None,
) -> Input:
    """What ``source`` means: a camera's number, name or path, an address, ``lavfi:GRAPH``, ``-``, a
    file.

    Args:
        source: As the user wrote it.
        realtime: Show an address or a pipe at the pace of its own times too, as files are.
        size_px: (width, height) that a camera is asked for.
        fps: Frames per second that a camera is asked for.

    Raises:
        FileNotFoundError: It looks like a file and is not there.
        SettingsError: The size is none.
        SourceError: There is no such camera.
    """
    if size_px is not None and min(size_px) < 1:
        raise SettingsError(f"--size {size_px[0]}x{size_px[1]}: should be 1x1 or more")
    if source.startswith("lavfi:"):
        graph = source.removeprefix("lavfi:")
        return Input(source, "test", lambda _: _open(source, graph, "lavfi"), paced=True)
    if "://" in source:
        paced = realtime or source.partition("?")[0].endswith(".m3u8")  # HLS comes in pieces
        return Input(source, "address", lambda wait_s: _open_url(source, wait_s), paced=paced)
    if source == "-":
        check_readable(source)
        name, piped = "standard input", StandardInput()
        return Input(
            name,
            "pipe",
            lambda _: _open(name, piped),
            paced=realtime,
            read_bytes=lambda: piped.size_bytes,
        )
    if Path(source).is_fifo():
        return Input(source, "pipe", lambda _: _open(source, local(source)), paced=realtime)
    if Path(source).is_file():
        address = local(check_readable(source))
        return Input(source, "file", lambda _: _open(source, address), paced=True)
    camera = find_camera(source)
    if camera is None:
        check_readable(source)  # a folder, an empty name or a missing file: it says what is wrong
        raise SourceError(f"{source} is no file, address or camera; see `sfumato doctor`")
    return Input(camera.name, "camera", lambda wait_s: _open_camera(camera, size_px, fps, wait_s))


def _open(name: str, place: str | StandardInput, format_name: str | None = None) -> InputContainer:
    with reading(name):
        return av.open(place, "r", format=format_name, metadata_errors="replace")


def _open_url(address: str, wait_s: float) -> InputContainer:
    options = {**PROBE, **(RTSP if address.startswith("rtsp") else {})}
    with reading(address):
        try:
            return av.open(
                address,
                "r",
                options=options,
                metadata_errors="replace",
                timeout=(OPEN_TIMEOUT_S, wait_s),
            )
        except (av.error.ExitError, TimeoutError) as exc:
            raise SourceError(
                f"{address} sends nothing within {OPEN_TIMEOUT_S:.0f} s; "
                "check the address and the network"
            ) from exc


def _open_camera(
    camera: Camera, size_px: tuple[int, int] | None, fps: float | None, wait_s: float
) -> InputContainer:
    address = f"video={camera.address}" if backend() == "dshow" else camera.address
    error: Exception | None = None
    for options in requests(size_px, fps):
        try:
            return av.open(
                address, "r", format=backend(), options=options, timeout=(OPEN_TIMEOUT_S, wait_s)
            )
        except (FFmpegError, OSError, ValueError) as exc:
            error = error or exc
            if not _may_take_another(exc):
                break
    assert error is not None
    raise refused(camera, error) from error


def _may_take_another(error: Exception) -> bool:
    """The camera answered, but has no such format, size or rate."""
    return getattr(error, "errno", None) in (errno.EINVAL, errno.EIO, None)
