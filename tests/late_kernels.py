"""Print which kernels are compiled, or loaded, only once a live engine paints: none should be.

A program, because in the process of the tests others have called the kernels before:
``python -m tests.late_kernels grey 10``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import numpy as np

import sfumato.kernels
from sfumato.kernels.formats import PixelFormat
from sfumato.stream.buffers import PlanePool
from sfumato.stream.frame import Frame
from sfumato.stream.live.engine import Engine, EngineKey
from sfumato.stream.live.fit import Fit, even_420
from sfumato.stream.media.encoders import choose_encoder, choose_pixels
from sfumato.stream.report import StageTimes
from sfumato.stream.settings import PaintSettings

PATH = sfumato.kernels.__path__
RECORDING = choose_encoder(Path("film.mkv"), None, None, None)
SIZE_PX = (162, 98)


def known() -> set[tuple[str, Any]]:
    """Each kernel with the types it can be called with by now."""
    modules = [import_module(f"sfumato.kernels.{m.name}") for m in iter_modules(PATH)]
    named = [(f"{m.__name__}.{name}", value) for m in modules for name, value in vars(m).items()]
    return {(name, types) for name, value in named for types in getattr(value, "signatures", ())}


def frames(pixels: PixelFormat) -> Iterator[Frame]:
    """Noise, a light that rises slowly and a thing that moves; then the same without noise."""
    rng = np.random.default_rng(0)
    for number in range(16):
        planes = PlanePool(*SIZE_PX, pixels).acquire()
        for plane in planes:
            noise = rng.normal(0, 2 if number < 10 else 0, plane.shape)
            plane[...] = (100 + number / 2 + noise) * (1 << (pixels.bits - 8))
            plane[10:30, 4 * number : 4 * number + 12] = 0
        yield Frame(planes, pixels, number, Fraction(1, 25))


def main(pixels: PixelFormat) -> None:
    """Paint at full size, then at half of it, and hand the paintings to a recording and to a stream."""
    for scale in (1.0, 0.5):
        key = EngineKey(*SIZE_PX, pixels, PaintSettings(style="ukiyoe", scale=scale), 2)
        engine = Engine(key, StageTimes())
        before = known()
        for frame in frames(pixels):
            painting = engine(frame)
            kept, _, _ = choose_pixels(painting.pixels, RECORDING, rgb=False)
            Fit(SIZE_PX, kept)(painting)
            Fit(*even_420(painting))(painting)
        for name, types in sorted(known() - before, key=str):
            print(f"scale {scale}: {name} for {types}")
        engine.close()


if __name__ == "__main__":
    main(PixelFormat(sys.argv[1], int(sys.argv[2])))  # type: ignore[arg-type]
