"""One moment of a video as a picture, and two pictures beside each other."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.stream.convert import ToRgb
from sfumato.stream.errors import SinkError, SourceError
from sfumato.stream.media import open_source


def picture_at(video: str | PathLike[str], second: float) -> NDArray[np.uint8]:
    """The first frame at or after ``second``, uint8 (height, width, 3) RGB."""
    with open_source(video, start_s=second) as source:
        for frame in source.frames():
            return ToRgb(frame.pixels)(frame)
    raise SourceError(f"{video}: has no frame at {second} s")


def write_beside(left: NDArray[np.uint8], right: NDArray[np.uint8], target: Path) -> None:
    """Write two pictures of one size side by side, as PNG or JPEG by the target's ending."""
    import cv2

    pair = np.hstack([left, right])[:, :, ::-1]
    done, data = cv2.imencode(target.suffix, pair)
    if not done:
        raise SinkError(f"{target}: a picture of {pair.shape[1]}x{pair.shape[0]} cannot be written")
    target.write_bytes(data.tobytes())
