"""Which kinds of job have had their kernels compiled on this machine, and compiling them."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Event

import numba
import numpy as np

import sfumato.kernels
from sfumato.kernels._jit import compiled
from sfumato.kernels.crisp import crisp
from sfumato.kernels.formats import PixelFormat
from sfumato.kernels.hold import blocks_shape, settle, survey
from sfumato.kernels.mix import mix
from sfumato.kernels.smooth import blend
from sfumato.models.cache import Measurements, measurement_key
from sfumato.models.spec import StyleSpec
from sfumato.stream.flow import heed
from sfumato.stream.settings import PaintSettings
from sfumato.stream.work import Work


class Kernels:
    """The kernels of one kind of job, as Numba compiles them: for types of arrays.

    Numba's cache says that a kernel was compiled once, not for which types. So every job that got
    past its first frames is remembered by what decides about types, with all that makes Numba
    compile anew: its version, and the kernels' files with the times they were written.
    """

    def __init__(
        self, work: Work, spec: StyleSpec, settings: PaintSettings, cache: Path | None = None
    ) -> None:
        files = sorted(Path(sfumato.kernels.__file__).parent.glob("*.py"))
        formats = [(pixels.bits, pixels.chroma) for pixels in (work.source, work.painted)]
        tensors = (spec.layout, spec.dtype, spec.cell, spec.grain_seed is None)
        steps = (work.still, work.scaled, work.mixed, work.smoothed, settings.hold)
        self._memory = Measurements("kernels.json", cache)
        self._key = measurement_key(
            files,
            numba.__version__,
            os.environ.get("NUMBA_CACHE_DIR"),
            [file.stat().st_mtime_ns for file in files],
            (formats, tensors, steps, settings.overlap_px is None),
        )

    @property
    def ready(self) -> bool:
        """They need only be loaded, as far as is known."""
        return compiled() and bool(self._memory.get(self._key))

    def remember(self) -> None:
        """A job of this kind has called them all."""
        if not self.ready:
            self._memory.put(self._key, {"compiled": True})


def load_rest(
    pixels: PixelFormat, stop: Event | None = None, *, scaled: bool = True, mixed: bool = True
) -> None:
    """Load the kernels that only some frames call, or compile them: holding, smoothing, and where
    asked for enlarging and mixing. In the midst of a job, to do so takes half a second and 40 MiB.

    Raises :class:`Stopped` before the next one once ``stop`` is set.
    """
    size_px = (16, 16)
    planes = tuple(
        np.zeros(shape, np.uint8 if pixels.bits == 8 else np.uint16)
        for shape in pixels.plane_shapes(*size_px)
    )
    blocks = blocks_shape(*size_px)
    maps, none = np.zeros((3, *blocks), np.float32), np.zeros(blocks, np.bool_)
    for plane in planes:
        heed(stop)
        survey(plane, plane.copy(), pixels.bits, maps)
        heed(stop)
        settle(plane, plane.copy(), none.view(np.uint8), maps[0], maps[1], plane.copy())
        heed(stop)
        state = np.zeros(plane.shape, np.uint16)
        blend(plane, pixels.bits, maps[0], state, none, plane.copy())
        heed(stop)
        if scaled:
            crisp(plane, pixels.bits, 2.0, plane.copy())
    heed(stop)
    if mixed:
        mix(planes, planes, 0.5, planes)
