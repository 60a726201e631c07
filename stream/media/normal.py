"""Every picture of a stream in the one layout that its first picture decided."""

from __future__ import annotations

from av.video.frame import VideoFrame

from sfumato.kernels.formats import PixelFormat
from sfumato.stream.frame import Plane
from sfumato.stream.media.colour import (
    SMPTE_240M,
    guess_matrix,
    is_full_range,
    is_rgb,
    matrix_of,
    tags_of,
)
from sfumato.stream.media.planes import Converter, has_alpha, layout_of, planes_of


class Normalizer:
    """Chooses our pixel format from a stream's first picture and brings all pictures into it."""

    def __init__(self, first: VideoFrame) -> None:
        matrix, guessed = matrix_of(first)
        self.rgb = is_rgb(first)
        self.guessed = guessed
        self._layout = layout_of(first)
        full_range = self.rgb or is_full_range(first)
        self.pixels = PixelFormat(self._layout.chroma, self._layout.bits, matrix, full_range)
        self.tags = tags_of(first, matrix, full_range=full_range)
        self.size_px = (first.width, first.height)
        self.notes = tuple(self._notes(first))
        self.resized = False
        """A later picture had another size and was scaled to the first one's."""
        self._direct = self._layout.direct and first.colorspace != SMPTE_240M
        self._first = _properties(first)
        self._convert = Converter()

    def planes(self, picture: VideoFrame) -> tuple[tuple[Plane, ...], VideoFrame]:
        """The picture's planes in :attr:`pixels`, and the frame that owns them."""
        if self._direct and _properties(picture) == self._first:
            return planes_of(picture), picture
        if (picture.width, picture.height) != self.size_px:
            self.resized = True
        if is_rgb(picture) and has_alpha(picture):
            picture = self._convert.over_black(picture)
        converted = self._convert.to_pixels(picture, self.pixels, self.size_px)
        return planes_of(converted), converted

    def _notes(self, first: VideoFrame) -> list[str]:
        notes = []
        bits = max((part.bits for part in first.format.components), default=8)
        if bits > 10:
            notes.append(f"{bits} bit {first.format.name} is read at 10 bit")
        if self.guessed and self.pixels.chroma != "grey":
            name = self.pixels.matrix.replace("bt", "BT.")
            lines = "720 lines or more" if guess_matrix(first.height) == "bt709" else "few lines"
            notes.append(f"no colour matrix is tagged: {name} taken, as for {lines}")
        if first.interlaced_frame:
            notes.append("the video is interlaced and is painted as it is")
        return notes


def _properties(picture: VideoFrame) -> tuple[str, int, int, str, bool]:
    """What has to stay the same for planes to be used without conversion."""
    return (
        picture.format.name,
        picture.width,
        picture.height,
        matrix_of(picture)[0],
        is_full_range(picture),
    )
