"""720p clips in which little moves, made of the real clips at hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, cycle, islice
from pathlib import Path

import av
import cv2
import numpy as np
from av.video.frame import VideoFrame
from av.video.stream import VideoStream
from numpy.typing import NDArray

from benchmarks.harness import sample

WIDTH_PX, HEIGHT_PX, RATE = 1280, 720, 30
HEAD_PX = (528, 432)
"""Width and height at which the talking head is shown: a person at a desk."""
SLIDE_FRAMES = 90
"""Each slide is shown for three seconds."""

Picture = NDArray[np.uint8]


def talking_head(path: Path, sigma: float, frames: int) -> Path:
    """A head talks before a still background; sensor noise of ``sigma`` codes is on everything.

    A path ending in ``.y4m`` gets the samples as they are, which costs nothing to decode.
    """
    width_px, height_px = HEAD_PX
    heads = [
        cv2.resize(picture, HEAD_PX, interpolation=cv2.INTER_CUBIC).astype(np.float32)
        for picture in pictures(sample().with_name("carphone_pristine.mp4"))
    ]
    scene = next(islice(pictures(sample()), 50, None)).astype(np.float32)
    left, top = (WIDTH_PX - width_px) // 2, HEIGHT_PX - height_px
    share, rng = _outline(width_px, height_px), np.random.default_rng(0)

    def draw() -> Iterator[Picture]:
        for head in islice(cycle(chain(heads, heads[::-1])), frames):
            shown = scene.copy()
            part = shown[top:, left : left + width_px]
            part += (head - part) * share
            noise = rng.standard_normal(shown.shape, np.float32)
            yield (shown + sigma * noise + 0.5).clip(0, 255).astype(np.uint8)

    if path.suffix == ".y4m":
        return _write(path, draw(), {}, "wrapped_avframe")
    return _write(path, draw(), {"crf": "12"})


def slide_show(path: Path, frames: int) -> Path:
    """Slides with words and a photo, recorded from the screen without loss."""
    photos = list(islice(pictures(sample()), 0, 125, 25))

    def draw() -> Iterator[Picture]:
        for number in range(frames):
            yield _slide(number // SLIDE_FRAMES, photos)

    return _write(path, draw(), {"qp": "0"})


def pictures(path: Path) -> Iterator[Picture]:
    """The frames of a clip as RGB."""
    with av.open(str(path)) as container:
        for frame in container.decode(video=0):
            yield frame.to_ndarray(format="rgb24").astype(np.uint8, copy=False)


def _outline(width_px: int, height_px: int) -> NDArray[np.float32]:
    """1 on head and shoulders, 0 beside them, soft between."""
    y, x = np.mgrid[:height_px, :width_px].astype(np.float32)
    x, y = x / width_px - 0.5, y / height_px
    head = (x / 0.2) ** 2 + ((y - 0.45) / 0.33) ** 2
    shoulders = (x / 0.36) ** 2 + ((y - 1.08) / 0.36) ** 2
    soft = ((1.08 - np.minimum(head, shoulders)) / 0.08).clip(0, 1)
    return np.asarray(soft[..., None], np.float32)


def _slide(number: int, photos: list[Picture]) -> Picture:
    slide = np.full((HEIGHT_PX, WIDTH_PX, 3), 245, np.uint8)
    slide[:90] = (40, 60, 110)
    font, dark = cv2.FONT_HERSHEY_SIMPLEX, (40, 40, 40)
    cv2.putText(slide, f"Slide {number + 1}", (40, 62), font, 1.6, (255, 255, 255), 3)
    for line in range(6):
        words = f"{line + 1}. Point {(number * 7 + line * 3) % 29} of the talk"
        cv2.putText(slide, words, (60, 180 + 80 * line), font, 1.0, dark, 2)
    slide[200:560, 660:1240] = cv2.resize(photos[number % len(photos)], (580, 360))
    return slide


def _write(
    path: Path, drawn: Iterable[Picture], options: dict[str, str], codec: str = "libx264"
) -> Path:
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=RATE)
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt = WIDTH_PX, HEIGHT_PX, "yuv420p"
        if codec == "libx264":
            stream.options = {"preset": "superfast", **options}
        for picture in drawn:
            container.mux(stream.encode(VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None))
    return path
