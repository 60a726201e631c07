"""From one way of painting to another without a jump."""

from __future__ import annotations

from dataclasses import replace

from sfumato.kernels.mix import mix
from sfumato.stream.frame import Frame

STEPS = 8
"""Frames that a cross-fade takes: about a quarter of a second."""


class Fade:
    """Lets the last picture of an old engine fade out over the first ones of a new engine."""

    def __init__(self, steps: int = STEPS) -> None:
        self._steps = steps
        self._left = 0
        self._last: Frame | None = None

    def begin(self) -> None:
        """The next picture is painted differently."""
        self._left = self._steps

    def __call__(self, frame: Frame) -> Frame:
        """The picture to show; ``frame`` itself is left as it is and must stay so."""
        if self._left == 0 or self._last is None or not alike(self._last, frame):
            self._left, self._last = 0, frame
            return frame
        planes = tuple(plane.copy() for plane in frame.planes)
        share = (self._steps + 1 - self._left) / (self._steps + 1)
        mix(self._last.planes, planes, share, planes)
        self._left -= 1
        return replace(frame, planes=planes)


def alike(one: Frame, other: Frame) -> bool:
    """Whether two frames have one size and format."""
    return one.pixels == other.pixels and one.planes[0].shape == other.planes[0].shape
