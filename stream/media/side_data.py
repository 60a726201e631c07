"""What decoders attach to a picture beside its samples."""

from __future__ import annotations

import struct
from typing import Literal

from av.buffer import Buffer
from av.video.frame import VideoFrame

from sfumato.stream.media.turn import ONE

TINY_PX = 16


def display_matrix(picture: VideoFrame) -> tuple[int, ...]:
    """How to turn a picture before showing it: nine numbers in 16.16 and 2.30 fixed point, as
    FFmpeg's display matrix has them; () for an upright picture."""
    try:
        data = _side_data(picture, "DISPLAYMATRIX")
    except ValueError:
        # PyAV trips over kinds that it does not know, such as Exif; the angle can still be had.
        return _quarter_turns(round(picture.rotation / 90))
    if data is None:
        return ()
    matrix = struct.unpack("9i", data[:36])
    upright = matrix[:2] == (ONE, 0) and matrix[3:5] == (0, ONE)
    return () if upright else matrix


def has_captions(picture: VideoFrame) -> bool:
    """Whether closed captions (ATSC A/53) are coded with the picture."""
    try:
        return _side_data(picture, "A53_CC") is not None
    except ValueError:
        return False


def _side_data(picture: VideoFrame, kind: Literal["DISPLAYMATRIX", "A53_CC"]) -> bytes | None:
    """Side data by way of a tiny copy of the picture.

    PyAV ties a frame whose side data is looked at into a reference cycle: a full frame would keep
    its memory until the next garbage collection.
    """
    tiny = picture.reformat(width=TINY_PX, height=TINY_PX, format="gray", threads=1)
    data = tiny.side_data.get(kind)
    return bytes(data) if isinstance(data, Buffer) else None


def _quarter_turns(count: int) -> tuple[int, ...]:
    """The display matrix of so many quarter turns counterclockwise."""
    cosine = (ONE, 0, -ONE, 0)[count % 4]
    sine = (0, ONE, 0, -ONE)[count % 4]
    return () if cosine == ONE else (cosine, -sine, 0, sine, cosine, 0, 0, 0, 1 << 30)
