"""A pipeline that paints one frame when told to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from queue import SimpleQueue
from threading import Event

import numpy as np

from sfumato.kernels.formats import PixelFormat
from sfumato.models.catalog import find_style
from sfumato.models.head import read_spec
from sfumato.stream.buffers import PlanePool
from sfumato.stream.convert import Recode
from sfumato.stream.flow import heed
from sfumato.stream.frame import Frame, VideoInfo
from sfumato.stream.live.fit import even_420
from sfumato.stream.media.sink import painted_pixels
from sfumato.stream.pipeline import Pipeline
from sfumato.stream.plan import best_tile
from sfumato.stream.prepare import Output, prepare, style_errors
from sfumato.stream.report import Report, StageTimes
from sfumato.stream.settings import PaintSettings
from sfumato.stream.tiles import align_up, even_multiple, whole_axis
from sfumato.stream.warm import load_rest


@dataclass(frozen=True, slots=True)
class EngineKey:
    """What an engine is made for."""

    width_px: int
    height_px: int
    pixels: PixelFormat
    settings: PaintSettings
    cores: int
    """Cores that may be used now: an engine's workers are as many, and this can change."""

    def fits(self, frame: Frame) -> bool:
        """Whether such an engine takes this frame."""
        size = (frame.width_px, frame.height_px)
        return size == (self.width_px, self.height_px) and frame.pixels == self.pixels


class Engine:
    """Paints one frame at a time: a call gives the painting before the next frame is there.

    All calls come from one thread.
    """

    def __init__(
        self,
        key: EngineKey,
        times: StageTimes,
        note: Callable[[str], None] = lambda _: None,
        stop: Event | None = None,
    ) -> None:
        """Loads the style and compiles what it needs; ``note`` is told where that takes seconds.
        Once ``stop`` is set nothing is painted any more. Raises what :class:`Pipeline` raises."""
        self.key = key
        self.report = Report(source="", sink="")
        self._frames: SimpleQueue[Frame | None] = SimpleQueue()
        info = VideoInfo(key.width_px, key.height_px, key.pixels)
        settings = replace(key.settings, tile_px=key.settings.tile_px or fresh_tile_px(key))
        painted = painted_pixels(key.pixels)
        prepared = prepare(info, Output(painted), settings)
        if prepared.kernels is not None and not prepared.kernels.ready:
            note(f"compiling kernels for {settings.style}, once per machine…")
        self._pipeline = Pipeline(
            info, painted, settings, self.report, times, stop, frames_in_flight=1, prepared=prepared
        )
        self._painted = self._pipeline.paint(iter(self._frames.get, None))
        self.workers = self._pipeline.plan.workers
        try:
            self._warm_up(painted, stop)
        except BaseException:
            self.close()
            raise

    def __call__(self, frame: Frame) -> Frame:
        """The painting, valid until the next call."""
        self._frames.put(frame)
        return next(self._painted)

    def _warm_up(self, painted: PixelFormat, stop: Event | None) -> None:
        """Load every kernel before a viewer waits for it. Noise is like no picture: the first real
        frame is a cut."""
        key, rng = self.key, np.random.default_rng(0)
        noise = PlanePool(key.width_px, key.height_px, key.pixels).acquire()
        for plane in noise:
            plane[...] = rng.integers(0, 1 << key.pixels.bits, plane.shape)
        load_rest(painted, stop)
        heed(stop)
        if painted != key.pixels:
            Recode(key.pixels, painted)(Frame(noise, key.pixels, 0, Fraction(1)))
        self(Frame(noise, key.pixels, 0, Fraction(1)))
        painting = self(Frame(noise, key.pixels, 1, Fraction(1)))
        _, streamed = even_420(painting)
        if streamed != painted:
            heed(stop)
            Recode(painted, streamed)(painting)

    def close(self) -> None:
        """Join the workers and free the session."""
        self._frames.put(None)
        self._painted.close()
        self._pipeline.close()


def fresh_tile_px(key: EngineKey) -> tuple[int, int]:
    """A tile that gives every core an equal part of one frame: only one is painted at a time.
    Networks that average over the frame get all of it."""
    with style_errors():
        spec = read_spec(find_style(key.settings.style).paths[0])
    size = (max(1, round(px * key.settings.scale)) for px in (key.width_px, key.height_px))
    width, height = (whole_axis(px, spec.radius_px, spec.multiple) for px in size)
    if spec.norm == "whole-frame":
        return width, height
    overlap = 2 * align_up(spec.radius_px, even_multiple(spec.multiple))
    share_px = width * height / (key.settings.workers or key.cores)
    return best_tile((width, height), overlap, int(1.3 * share_px))
