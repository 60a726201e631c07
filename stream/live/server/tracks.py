"""Between WebRTC and the painter: camera frames go in, painted ones come out."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event

from aiortc import MediaStreamTrack
from aiortc.mediastreams import VIDEO_CLOCK_RATE, VIDEO_TIME_BASE, MediaStreamError
from av.video.frame import VideoFrame

from sfumato.kernels.formats import PixelFormat
from sfumato.stream.errors import SfumatoError
from sfumato.stream.frame import Frame
from sfumato.stream.live.painter import LivePainter
from sfumato.stream.media.colour import is_full_range, matrix_of
from sfumato.stream.media.planes import frame_of, planes_of

MOST_PIXELS = 1920 * 1088
"""The page asks for 1280x720; whoever sends more gets it painted at half the size."""

LOOK_S = 0.25
"""How often a waiting thread looks whether it should end."""


async def feed(camera: MediaStreamTrack, painter: LivePainter) -> None:
    """Offer every frame of the camera until it ends. Never waits for the painter."""
    while True:
        try:
            picture = await camera.recv()
        except MediaStreamError:
            return
        if isinstance(picture, VideoFrame):
            painter.offer(from_camera(picture), time.monotonic())


def from_camera(picture: VideoFrame) -> Frame:
    """A decoded camera frame as ours, without a copy where it is 4:2:0 in 8 bit and no larger than
    :data:`MOST_PIXELS`."""
    width_px, height_px = picture.width, picture.height
    while width_px * height_px > MOST_PIXELS:
        width_px, height_px = max(2, width_px // 4 * 2), max(2, height_px // 4 * 2)
    if picture.format.name not in ("yuv420p", "yuvj420p") or width_px != picture.width:
        picture = picture.reformat(width_px, height_px, "yuv420p")
    matrix, _ = matrix_of(picture)
    pixels = PixelFormat("420", 8, matrix, is_full_range(picture))
    return Frame(planes_of(picture), pixels, picture.pts or 0, VIDEO_TIME_BASE, keep=picture)


class PaintedTrack(MediaStreamTrack):
    """The newest painting whenever the sender asks: whatever it has no time for is dropped."""

    kind = "video"

    def __init__(self, painter: LivePainter) -> None:
        super().__init__()
        self.reason = ""
        """What went wrong with painting."""
        self._painter = painter
        self._started_s = time.monotonic()
        self._closing = Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="painted")

    async def recv(self) -> VideoFrame:
        """The next painting. Raises :class:`MediaStreamError` at the end."""
        loop = asyncio.get_running_loop()
        picture = None
        while picture is None and not self._closing.is_set():
            try:
                picture = await loop.run_in_executor(self._thread, self._next)
            except Exception as exc:  # noqa: BLE001 - whatever it is, it ends this viewer alone
                known = isinstance(exc, SfumatoError | OSError)
                self.reason = str(exc) if known else "Painting failed."
                self._closing.set()
        if picture is None:
            raise MediaStreamError
        return picture

    def _next(self) -> VideoFrame | None:
        painted = self._painter.take(LOOK_S)
        if painted is None:
            return None
        frame = painted.frame
        picture = frame_of(frame.planes, frame.pixels, (frame.width_px, frame.height_px))
        picture.pts = round((painted.captured_s - self._started_s) * VIDEO_CLOCK_RATE)
        picture.time_base = VIDEO_TIME_BASE
        return picture

    async def close(self) -> None:
        """End, and join the thread."""
        self._closing.set()
        self.stop()
        await asyncio.to_thread(self._thread.shutdown)
