"""A virtual camera that other programs on this machine can choose (extra ``virtualcam``)."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from sfumato.stream.errors import SinkError
from sfumato.stream.live.fit import Fit, even_420
from sfumato.stream.live.outlet import LiveSink
from sfumato.stream.live.painter import Painted

INSTALL = "the virtual camera needs pyvirtualcam: pip install 'sfumato[virtualcam]'"

DRIVERS = {
    "linux": "sudo apt install v4l2loopback-dkms && sudo modprobe v4l2loopback devices=1 "
    "exclusive_caps=1 card_label=Sfumato",
    "darwin": "install OBS 30 or newer, open it, press Start Virtual Camera once, and close it",
    "win32": "install OBS (obsproject.com), which brings the driver",
}
"""What gives a machine a virtual camera (pyvirtualcam's README)."""


class VirtualCamera(LiveSink):
    """Sends pictures to the driver, which is opened with the first one."""

    name = "virtual camera"
    takes_held = True
    leave_s: float | None = 5.0

    def __init__(self, fps: float) -> None:
        """``fps``: what the camera says of itself. Raises :class:`SinkError` without the extra."""
        self._fps = fps
        self._camera: Any = None
        self._fit: Fit | None = None
        try:
            import pyvirtualcam
        except ImportError as exc:
            raise SinkError(INSTALL) from exc
        self._library = pyvirtualcam

    def show(self, picture: Painted) -> None:
        """See :class:`LiveSink`."""
        if self._camera is None or self._fit is None:
            size_px, pixels = even_420(picture.frame)
            self._camera, self._fit = self._open(size_px), Fit(size_px, pixels)
        planes = self._fit(picture.frame).planes
        self._camera.send(np.concatenate([plane.reshape(-1) for plane in planes]))

    def finish(self) -> list[str]:
        """See :class:`LiveSink`."""
        self.abort()
        return []

    def abort(self) -> None:
        """See :class:`LiveSink`."""
        if self._camera is not None:
            self._camera.close()

    def _open(self, size_px: tuple[int, int]) -> Any:
        try:
            return self._library.Camera(*size_px, self._fps, fmt=self._library.PixelFormat.I420)
        except (RuntimeError, OSError) as exc:
            driver = DRIVERS.get(sys.platform, "see pyvirtualcam's README for a driver")
            raise SinkError(f"there is no virtual camera on this machine: {driver}") from exc
