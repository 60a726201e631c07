"""Real things to read from and to send to, on this machine: MPEG-TS over TCP."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from threading import Event, Thread
from typing import Any, Self

import av
import numpy as np
from av.error import FFmpegError
from av.video.frame import VideoFrame

PATIENCE_S = 20.0
FPS = 30


def wait_for(condition: Callable[[], object], what: str) -> None:
    """Poll until a condition holds; fail with ``what`` after a while."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s, f"waited in vain for {what}"
        time.sleep(0.01)


class _SocketFile:
    """What PyAV writes to."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def write(self, data: bytes) -> int:
        self._connection.sendall(data)
        return len(data)


class _Server:
    """Something that listens, on a thread of its own."""

    _thread: Thread
    _stop: Event
    _listener: socket.socket

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._listener.close()


class TsServer(_Server):
    """Sends moving pictures to whoever connects, as a camera on the network does."""

    def __init__(self, size_px: tuple[int, int] = (96, 64)) -> None:
        self.size_px = size_px
        """Change it in mid-stream: the pictures follow."""
        self.silent = Event()
        """While set, the connection stays and nothing is sent."""
        self.connections = 0
        self._hang_up, self._stop = Event(), Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(0.05)
        self.port = self._listener.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self._thread = Thread(target=self._serve, name="ts server")

    def hang_up(self) -> None:
        """Close the present connection."""
        self._hang_up.set()

    def _serve(self) -> None:
        while not self._stop.is_set():
            with suppress(TimeoutError):
                connection, _ = self._listener.accept()
                self.connections += 1
                self._hang_up.clear()
                with connection, suppress(OSError, FFmpegError):
                    self._send(connection)

    def _send(self, connection: socket.socket) -> None:
        connection.settimeout(1.0)
        number = 0
        while not self._left():
            size_px = self.size_px
            with av.open(_SocketFile(connection), "w", format="mpegts") as container:
                stream: Any = container.add_stream("mpeg2video", rate=FPS)
                stream.width, stream.height = size_px
                stream.pix_fmt, stream.gop_size = "yuv420p", 5
                while size_px == self.size_px and not self._left():
                    if not self.silent.wait(1 / FPS):
                        container.mux(stream.encode(_picture(number, size_px)))
                        number += 1
                    else:
                        time.sleep(0.01)

    def _left(self) -> bool:
        return self._hang_up.is_set() or self._stop.is_set()


def _picture(number: int, size_px: tuple[int, int]) -> VideoFrame:
    width, height = size_px
    x = np.arange(width)[None, :] + np.arange(height)[:, None] + 3 * number
    rgb = np.stack([x % 256, (2 * x) % 256, np.full_like(x, 90)], axis=2).astype(np.uint8)
    picture = VideoFrame.from_ndarray(rgb, format="rgb24").reformat(format="yuv420p")
    picture.pts, picture.time_base = number, Fraction(1, FPS)
    return picture


class Viewer(_Server):
    """Accepts one connection after the other and takes what comes, unless told not to read."""

    def __init__(self, *, reads: bool = True) -> None:
        self.received_bytes = self.connections = 0
        self._reads, self._stop = reads, Event()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1)
        self._listener.settimeout(0.05)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.address = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = Thread(target=self._run, name="viewer")

    def _run(self) -> None:
        while not self._stop.is_set():
            with suppress(TimeoutError):
                connection, _ = self._listener.accept()
                self.connections += 1
                with connection:
                    self._take(connection)

    def _take(self, connection: socket.socket) -> None:
        connection.settimeout(0.05)
        while not self._stop.is_set():
            if not self._reads:
                self._stop.wait(0.05)
                continue
            with suppress(TimeoutError):
                data = connection.recv(1 << 16)
                self.received_bytes += len(data)
                if not data:
                    return
