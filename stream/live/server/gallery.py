"""The styles that viewers choose from, each with a small painted picture."""

from __future__ import annotations

import asyncio
from collections.abc import Container
from itertools import chain, count
from pathlib import PurePath
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from sfumato.stream.live.server.messages import MessageError
from sfumato.stream.live.server.page import Asset, asset

WIDTH_PX, HEIGHT_PX = 576, 384
QUALITY = 86


class Gallery:
    """Styles by the names that pages know them by; a style's path stays here.

    A thumbnail is painted when it is first asked for, one at a time, none twice.
    """

    def __init__(self, styles: list[str]) -> None:
        """``styles``: names of shipped ones, or paths of ONNX files, in the order shown."""
        self._styles: dict[str, str] = {}
        for style in styles:
            self._styles[_free(_key(style), self._styles)] = style
        self._keys = {style: key for key, style in self._styles.items()}
        self._done: dict[str, Asset] = {}
        self._lock = asyncio.Lock()

    @property
    def keys(self) -> list[str]:
        """Names in the order shown."""
        return list(self._styles)

    def find(self, key: object) -> str:
        """The style that a page means. Raises :class:`MessageError` for all but :attr:`keys`."""
        if not isinstance(key, str) or key not in self._styles:
            raise MessageError("there is no such style")
        return self._styles[key]

    def key_of(self, style: str) -> str:
        """The name that pages know a style by."""
        return self._keys.get(style) or _key(style)

    async def thumb(self, key: str) -> Asset:
        """A small painted picture. Raises :class:`MessageError`, and what painting raises."""
        style = self.find(key)
        async with self._lock:
            if key not in self._done:
                self._done[key] = await asyncio.to_thread(paint_thumb, style)
        return self._done[key]

    def to_list(self) -> list[dict[str, str]]:
        """What the page shows."""
        return [
            {"style": key, "name": _shown(key), "thumb": f"/thumbs/{quote(key)}.jpg"}
            for key in self._styles
        ]


def _key(style: str) -> str:
    """``toon`` of ``toon`` and of ``/somewhere/toon.int8.onnx``."""
    return PurePath(style).name.split(".")[0]


def _free(key: str, taken: Container[str]) -> str:
    """``toon``, or ``toon-2`` where that is taken, and so on."""
    others = (f"{key}-{number}" for number in count(2))
    return next(name for name in chain([key], others) if name not in taken)


def _shown(key: str) -> str:
    """A name for people."""
    return key.replace("-", " ").replace("_", " ").capitalize()


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
