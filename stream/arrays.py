"""Frames that come from Python: RGB arrays as a source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.formats import PixelFormat
from sfumato.stream.convert import FromRgb
from sfumato.stream.errors import SourceError
from sfumato.stream.frame import Frame, VideoInfo

ARRAY_PIXELS = PixelFormat(chroma="444", matrix="bt709", full_range=True)
"""Full resolution and range, so that RGB survives the way into planes and back."""


class ArraySource:
    """A source over uint8 (height, width, 3) RGB arrays of one size; PTS count from 0."""

    def __init__(self, arrays: Iterable[NDArray[np.uint8]]) -> None:
        """Takes the first array to learn the size. Raises :class:`SourceError`."""
        self._arrays = iter(arrays)
        first = next(self._arrays, None)
        if first is None:
            raise SourceError("the iterable of frames is empty: give at least one array")
        self._first = _checked(first, None)
        height_px, width_px, _ = first.shape
        self.info = VideoInfo(width_px, height_px, ARRAY_PIXELS, time_base=Fraction(1, 1))

    def frames(self) -> Iterator[Frame]:
        """Each array as a frame. Raises :class:`SourceError` for one of another size or type."""
        convert = FromRgb(ARRAY_PIXELS)
        for pts, array in enumerate(chain([self._first], self._arrays)):
            planes = convert(_checked(array, self._first.shape))
            yield Frame(planes, ARRAY_PIXELS, pts, self.info.time_base)


def _checked(array: Any, shape: tuple[int, ...] | None) -> NDArray[np.uint8]:
    if not isinstance(array, np.ndarray) or array.dtype != np.uint8 or array.ndim != 3:
        raise SourceError(f"a frame is {_named(array)}: give uint8 arrays (height, width, 3)")
    if array.shape[2] != 3 or 0 in array.shape:
        raise SourceError(f"a frame has shape {array.shape}: give (height, width, 3)")
    if shape is not None and array.shape != shape:
        raise SourceError(f"a frame has shape {array.shape} after one of {shape}: sizes must agree")
    return array


def _named(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"a {value.dtype} array of shape {value.shape}"
    return f"a {type(value).__name__}"
