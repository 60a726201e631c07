"""256 colours for a GIF picture, chosen for each picture and dithered."""

from __future__ import annotations

from fractions import Fraction

from av.filter import Graph
from av.video.format import VideoFormat
from av.video.frame import VideoFrame


class Palette:
    """FFmpeg's palettegen and paletteuse filters, one picture in, one out."""

    def __init__(self, size_px: tuple[int, int]) -> None:
        graph = Graph()
        width, height = size_px
        feed = graph.add_buffer(
            width=width, height=height, format=VideoFormat("rgb24"), time_base=Fraction(1, 100)
        )
        split = graph.add("split")
        generate = graph.add("palettegen", "stats_mode=single:reserve_transparent=0")
        use = graph.add("paletteuse", "new=1:dither=sierra2_4a")
        sink = graph.add("buffersink")
        feed.link_to(split)
        split.link_to(use, 0, 0)
        split.link_to(generate, 1, 0)
        generate.link_to(use, 0, 1)
        use.link_to(sink)
        graph.configure()
        self._graph = graph
        self._count = 0

    def reduce(self, picture: VideoFrame) -> VideoFrame:
        """An rgb24 picture as pal8."""
        picture.pts, picture.time_base = self._count, Fraction(1, 100)
        self._count += 1
        self._graph.vpush(picture)
        return self._graph.vpull()
