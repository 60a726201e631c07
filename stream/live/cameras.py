"""Cameras: which there are, how to ask one for pictures, and why it gives none."""

from __future__ import annotations

import errno
import sys
from dataclasses import dataclass

import av
from av.error import FFmpegError

from sfumato.stream.errors import SourceError
from sfumato.stream.media.errors import plain

SIZE_PX, FPS = (1280, 720), 30.0
"""What a camera is asked for where the user says nothing; it gives the nearest that it has."""

BACKENDS = {"linux": "v4l2", "darwin": "avfoundation", "win32": "dshow"}
"""FFmpeg's camera input by ``sys.platform``."""

INSTEAD = (
    "choose another source (--source): a file, an address, or lavfi:testsrc2, a moving test picture"
)


@dataclass(frozen=True, slots=True)
class Camera:
    """A camera of this machine."""

    address: str
    """What FFmpeg opens: ``/dev/video0``, or a number or name."""
    name: str
    """What people call it."""


def backend() -> str:
    """FFmpeg's camera input on this system. Raises :class:`SourceError` where it knows none."""
    try:
        return BACKENDS[sys.platform]
    except KeyError:
        raise SourceError(f"no cameras can be read on {sys.platform}; {INSTEAD}") from None


def list_cameras() -> list[Camera]:
    """The cameras that are plugged in, in the system's order."""
    try:
        found = av.enumerate_input_devices(backend())
    except (SourceError, FFmpegError, OSError, ValueError):
        return []
    videos = [device for device in found if not device.media_types or "video" in device.media_types]
    return [Camera(device.name, device.description or device.name) for device in videos]


def find_camera(wanted: str) -> Camera | None:
    """By number, by path, or by a part of its name; None for text that means no camera.

    Raises :class:`SourceError` for a number that no camera has.
    """
    cameras = list_cameras()
    if wanted.isdecimal():
        number = int(wanted)
        if (
            backend() == "v4l2"
        ):  # the system's own number: /dev/video2 is 2 though it be the only one
            path = f"/dev/video{number}"
            known = [camera for camera in cameras if camera.address == path]
            return known[0] if known else Camera(path, path)
        if number < len(cameras):
            return cameras[number]
        raise SourceError(f"there is no camera {number}: {described(cameras)}")
    if wanted.startswith("/dev/video"):
        return Camera(wanted, wanted)
    matches = [camera for camera in cameras if wanted and wanted.lower() in camera.name.lower()]
    return matches[0] if matches else None


def described(cameras: list[Camera]) -> str:
    """The cameras in a clause, and what else can be done."""
    if not cameras:
        return f"no camera is found; plug one in, or {INSTEAD}"
    names = ", ".join(f"{number} ({camera.name})" for number, camera in enumerate(cameras))
    return f"there is {names}"


def requests(size_px: tuple[int, int] | None, fps: float | None) -> list[dict[str, str]]:
    """FFmpeg options to try in turn: compressed first, which is what USB carries at full rate."""
    width, height = size_px or SIZE_PX
    wanted = {"video_size": f"{width}x{height}", "framerate": f"{fps or FPS:g}"}
    if backend() == "v4l2":
        compressed = {**wanted, "input_format": "mjpeg"}
    elif backend() == "dshow":
        compressed = {**wanted, "vcodec": "mjpeg", "rtbufsize": "64M"}
    else:
        compressed = {**wanted, "pixel_format": "nv12"}
    return [compressed, wanted, {"framerate": wanted["framerate"]}, {}]


def refused(camera: Camera, error: Exception) -> SourceError:
    """Why a camera gives no pictures, and what to do, in one line."""
    number = getattr(error, "errno", None)
    name = camera.name if camera.name == camera.address else f"{camera.name} ({camera.address})"
    if number in (errno.ENOENT, errno.ENODEV, errno.ENXIO):
        return SourceError(f"there is no camera {camera.address}: {described(list_cameras())}")
    if number in (errno.EBUSY, errno.EAGAIN):
        return SourceError(
            f"the camera {name} is in use by another program: close that, or choose another source"
        )
    if number in (errno.EACCES, errno.EPERM):
        return SourceError(
            f"the camera {name} may not be read: add yourself to its group with "
            "`sudo usermod -aG video $USER` and log in again"
        )
    if number in (errno.ENOTTY, errno.EINVAL, errno.ENOTSUP):
        return SourceError(f"{name} is no camera that gives pictures: {INSTEAD}")
    return SourceError(f"the camera {name} cannot be read: {plain(error)}")
