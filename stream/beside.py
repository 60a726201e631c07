"""One moment of a video beside its painting, as a picture."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.stream.convert import ToRgb
from sfumato.stream.errors import SourceError
from sfumato.stream.media import open_source


def picture_at(video: str | PathLike[str], second: float) -> NDArray[np.uint8]:
    """The first frame at or after ``second``, uint8 (height, width, 3) RGB."""
    with open_source(video, start_s=second) as source:
        for frame in source.frames():
            return ToRgb(frame.pixels)(frame)
    raise SourceError(f"{video}: has no frame at {second} s")


def write_beside(
    source: str | PathLike[str], painted: str | PathLike[str], second: float, target: Path
) -> None:
    """Write both videos' frame at ``second``, source left, painting right, as PNG or JPEG."""
    import cv2

    pair = np.hstack([picture_at(source, second), picture_at(painted, second)])
    done, data = cv2.imencode(target.suffix, pair[:, :, ::-1])
    assert done, target.suffix
    target.write_bytes(data.tobytes())
