"""What holding still, temporal smoothing and cut detection cost per frame, on one core."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from sfumato.kernels.formats import PixelFormat
from sfumato.stream.frame import Frame
from sfumato.stream.temporal.hold import Hold
from sfumato.stream.temporal.shots import CutDetector
from sfumato.stream.temporal.smooth import Smoother

ROUNDS = 20


def smoothing_figures(width_px: int = 1280, height_px: int = 720) -> dict[str, float]:
    """Milliseconds per 4:2:0 frame, best of some rounds; ``copy`` is a copy of the same planes."""
    return {
        f"{name}_{bits}bit_ms": value
        for bits in (8, 10)
        for name, value in _figures(width_px, height_px, bits).items()
    }


def _figures(width_px: int, height_px: int, bits: int) -> dict[str, float]:
    sources = [_frame(width_px, height_px, bits, seed) for seed in range(2)]
    painted = _frame(width_px, height_px, bits, 9)
    copies = tuple(np.empty_like(plane) for plane in painted.planes)
    smoother, moving = Smoother(1.0), Hold(still=False)
    seen = [moving(source) for source in sources][-1]
    everywhere = np.ones_like(seen.changed)
    return {
        "copy": _best_ms(lambda frame: list(map(np.copyto, copies, frame.planes)), sources),
        "hold": _best_ms(Hold(), sources),
        "smooth": _best_ms(
            lambda _: smoother(painted, seen.change, everywhere, cut=False), sources
        ),
        "cut": _best_ms(CutDetector(), sources),
    }


def _best_ms(step: Callable[[Frame], object], frames: list[Frame]) -> float:
    """Frames in turn; the first ones compile and fill."""
    times = []
    for turn in range(ROUNDS + 2):
        started_s = time.perf_counter()
        step(frames[turn % len(frames)])
        times.append(time.perf_counter() - started_s)
    return min(times[2:]) * 1e3


def _frame(width_px: int, height_px: int, bits: int, seed: int) -> Frame:
    """A smooth picture with noise of its own."""
    rng = np.random.default_rng(seed)
    pixels = PixelFormat(bits=bits)
    planes = []
    for rows, columns in pixels.plane_shapes(width_px, height_px):
        y, x = np.mgrid[:rows, :columns]
        codes = 128 + 60 * np.sin(x / 71) * np.cos(y / 43) + rng.normal(0, 2, (rows, columns))
        planes.append((codes * 2 ** (bits - 8)).astype(np.uint8 if bits == 8 else np.uint16))
    return Frame(tuple(planes), pixels, 0, Fraction(1, 25))
