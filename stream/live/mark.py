"""The small sign on a picture that is held because no newer one comes."""

from __future__ import annotations

from dataclasses import replace

from sfumato.stream.frame import Frame

PART = 24
"""The sign is a twenty-fourth of the picture's height high."""


def held(frame: Frame) -> Frame:
    """A copy with two light bars on dark ground, the sign for pause, in the upper right corner."""
    luma = frame.planes[0].copy()
    rows, columns = luma.shape
    unit = max(1, rows // PART // 4)
    top, left = unit * 2, max(0, columns - unit * 8)
    white = (255 if frame.pixels.full_range else 235) << (frame.pixels.bits - 8)
    luma[top : top + unit * 6, left : left + unit * 6] //= 3
    for bar in (1, 4):
        x = left + unit * bar
        luma[top + unit : top + unit * 5, x : x + unit] = white
    return replace(frame, planes=(luma, *frame.planes[1:]), keep=None)
