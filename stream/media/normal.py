"""Every picture of a stream in the one layout that its first picture decided."""

from __future__ import annotations

from av.video.frame import VideoFrame

from sfumato.kernels.formats import PixelFormat
from sfumato.stream.frame import Plane
from sfumato.stream.media.colour import (
    HD_LINES,
    SMPTE_240M,
    is_doubtful,
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
        self._resized = self._transparent = False
        self._direct = self._layout.direct and first.colorspace != SMPTE_240M
        self._first = _properties(first)
        self._convert = Converter()

    def planes(self, picture: VideoFrame) -> tuple[tuple[Plane, ...], VideoFrame]:
        """The picture's planes in :attr:`pixels`, and the frame that owns them."""
        if self._direct and _properties(picture) == self._first:
            return planes_of(picture), picture
        if (picture.width, picture.height) != self.size_px:
            self._resized = True
        if is_rgb(picture) and has_alpha(picture):
            opaque = self._convert.over_black(picture)
            self._transparent |= opaque is not picture
            picture = opaque
        converted = self._convert.to_pixels(picture, self.pixels, self.size_px)
        return planes_of(converted), converted

    def warnings(self) -> list[str]:
        """What was done to some pictures on the way, one sentence each."""
        said = []
        if self._resized:
            size = "x".join(map(str, self.size_px))
            said.append(f"the picture changes size on the way; scaled to {size}")
        if self._transparent:
            said.append("transparent parts are painted over black")
        return said

    def _may_look_wrong(self) -> bool:
        if not self.guessed or self.pixels.chroma == "grey":
            return False
        return is_doubtful(self.pixels.matrix, self.size_px, full_range=self.pixels.full_range)

    def _notes(self, first: VideoFrame) -> list[str]:
        notes = []
        bits = max((part.bits for part in first.format.components), default=8)
        if bits > 10:
            notes.append(f"{bits} bit {first.format.name} is read at 10 bit")
        if self._may_look_wrong():
            hd = self.pixels.matrix == "bt709"
            lines = f"{HD_LINES} lines and more" if hd else f"fewer than {HD_LINES} lines"
            taken, other = ("BT.709", "BT.601") if hd else ("BT.601", "BT.709")
            notes.append(
                f"no colour matrix is tagged: {taken} taken, as usual for {lines}; "
                f"where reds and greens look wrong, tag the source as {other}"
            )
        if has_alpha(first) and not self.rgb:
            notes.append("transparency is left out")
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
