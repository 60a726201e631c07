"""One small painted picture of each style for the gallery, made when it is first asked for."""

from __future__ import annotations

import asyncio

import numpy as np
from numpy.typing import NDArray

from sfumato.stream.live.server.page import Asset, asset

WIDTH_PX, HEIGHT_PX = 576, 384
QUALITY = 86


class Thumbs:
    """Pictures by style name. One is painted at a time; none twice."""

    def __init__(self, styles: list[str]) -> None:
        """``styles`` may be files: a name is what :attr:`names` says."""
        self._styles = dict(zip(self.names_of(styles), styles, strict=True))
        self._done: dict[str, Asset] = {}
        self._lock = asyncio.Lock()

    @staticmethod
    def names_of(styles: list[str]) -> list[str]:
        """What stands in an address for each style: its number."""
        return [f"{number}.jpg" for number in range(len(styles))]

    async def get(self, name: str) -> Asset | None:
        """The picture; None for a name that is not there. Raises what painting raises."""
        style = self._styles.get(name)
        if style is None:
            return None
        async with self._lock:
            if name not in self._done:
                self._done[name] = await asyncio.to_thread(paint_thumb, style)
        return self._done[name]


def paint_thumb(style: str) -> Asset:
    """The sample scene, painted, as JPEG."""
    import cv2

    from sfumato.stream.api import paint

    painted = next(paint([_scene()], style=style, workers=1))
    quality = [cv2.IMWRITE_JPEG_QUALITY, QUALITY]
    _, data = cv2.imencode(".jpg", painted[:, :, ::-1], quality)
    return asset(data.tobytes(), "image/jpeg")


def _scene() -> NDArray[np.uint8]:
    """The middle of the drawn sample clip's first picture, uint8 (384, 576, 3) RGB."""
    import cv2

    from sfumato.stream.media import sample

    picture = next(sample.scenes(1, (sample.WIDTH_PX, sample.HEIGHT_PX)))
    small: NDArray[np.uint8] = cv2.resize(
        picture[60:, 110:1100], (WIDTH_PX, HEIGHT_PX), interpolation=cv2.INTER_AREA
    ).astype(np.uint8)
    return small
