"""Gather and scatter beside a plain copy and beside the obvious OpenCV and NumPy path; enlarging
beside bicubic interpolation.

Everything runs on one thread, in turns; ratios are of the best times of one run.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import time_in_turns
from sfumato.kernels.formats import PixelFormat, TensorFormat
from sfumato.kernels.gather import Gather
from sfumato.kernels.scatter import Scatter
from sfumato.stream.buffers import PlanePool
from sfumato.stream.convert import enlarge, resize
from sfumato.stream.frame import Frame

Array = NDArray[Any]
Call = Callable[[], object]

WIDTH_PX, HEIGHT_PX = 1920, 1080
VIDEO = PixelFormat()
CELLS = TensorFormat(cell=4)

FORMATS = [
    ("I420 ↔ uint8 NHWC, cells of 4", VIDEO, CELLS, False),
    ("I420 ↔ uint8 NCHW, cells of 4", VIDEO, TensorFormat("NCHW", cell=4), False),
    ("I420 ↔ the same with grain", VIDEO, TensorFormat(cell=4, grain=True), False),
    ("NV12 ↔ uint8 NHWC, cells of 4", VIDEO, CELLS, True),
    ("I420, 10 bit ↔ uint8 NHWC, cells of 4", PixelFormat(bits=10), CELLS, False),
    ("I420 ↔ uint8 NHWC, cells of 8", VIDEO, TensorFormat(cell=8), False),
    ("I420 ↔ uint8 NHWC", VIDEO, TensorFormat(), False),
    ("I420 ↔ float32 NCHW", VIDEO, TensorFormat("NCHW", "float32", white=1), False),
    ("I420 ↔ float32 NHWC, cells of 4", VIDEO, TensorFormat("NHWC", "float32", cell=4), False),
]
"""What is measured: name, pixel format, tensor format, whether chroma is interleaved."""


def kernel_figures(rounds: int = 15) -> list[dict[str, Any]]:
    """One row per format of a 1080p frame: milliseconds, and times a copy of the same bytes."""
    return [_figures(*formats, rounds=rounds) for formats in FORMATS]


def _figures(
    name: str, pixels: PixelFormat, tensor: TensorFormat, interleaved: bool, rounds: int
) -> dict[str, Any]:
    planes, painted = _planes(pixels, interleaved, 1), _planes(pixels, interleaved, 2)
    width_px, height_px = WIDTH_PX, HEIGHT_PX
    tile, answer = _tensor(tensor, 4 if tensor.grain else 3), _tensor(tensor, 3)
    grain = np.zeros((256, 256), np.uint8) if tensor.grain else None
    gather, scatter = Gather(pixels, tensor, grain), Scatter(pixels, tensor)
    timings = time_in_turns(
        {
            "copy": _copier([tile, *_planes(pixels, False, 1)]),
            "gather": lambda: gather(planes, 0, 0, tile),
            "copy back": _copier([answer, *_planes(pixels, False, 1)]),
            "scatter": lambda: scatter(answer, 0, 0, 0, 0, width_px, height_px, painted),
        },
        rounds,
    )
    return {
        "1080p": name,
        "gather ms": timings["gather"].best_ms,
        "× copy": timings["gather"].best_ms / timings["copy"].best_ms,
        "scatter ms": timings["scatter"].best_ms,
        "× copy back": timings["scatter"].best_ms / timings["copy back"].best_ms,
    }


def obvious_figures(rounds: int = 15) -> list[dict[str, Any]]:
    """The main formats beside OpenCV's conversion and NumPy's arithmetic, on one thread."""
    cv2.setNumThreads(1)
    return _beside_obvious("NHWC", rounds) + _beside_obvious("NCHW", rounds)


def _beside_obvious(layout: Literal["NHWC", "NCHW"], rounds: int) -> list[dict[str, Any]]:
    planes, painted = _planes(VIDEO, False, 1), _planes(VIDEO, False, 2)
    i420 = np.concatenate([plane.ravel() for plane in planes]).reshape(-1, WIDTH_PX)
    tensor = TensorFormat(layout, cell=4)
    tile, floats = _tensor(tensor, 3), to_cells(i420, layout)
    gather, scatter = Gather(VIDEO, tensor), Scatter(VIDEO, tensor)
    timings = time_in_turns(
        {
            "gather": lambda: gather(planes, 0, 0, tile),
            "obvious gather": lambda: to_cells(i420, layout),
            "scatter": lambda: scatter(tile, 0, 0, 0, 0, WIDTH_PX, HEIGHT_PX, painted),
            "obvious scatter": lambda: from_cells(floats, layout),
        },
        rounds,
    )
    rows = []
    for way in ("gather", "scatter"):
        ours, theirs = timings[way].best_ms, timings[f"obvious {way}"].best_ms
        row = {"1080p, cells of 4": f"{way} {layout}", "ms": ours, "obvious ms": theirs}
        rows.append(row | {"times as fast": theirs / ours})
    return rows


def enlarge_figures(rounds: int = 30) -> list[dict[str, Any]]:
    """A frame painted at a smaller scale, brought back to 720p on one thread: ours and bicubic."""
    cv2.setNumThreads(1)
    return [
        _beside_bicubic(name, scale, PixelFormat(bits=bits), rounds)
        for name, scale in (("½", 0.5), ("¾", 0.75))
        for bits in (8, 10)
    ]


def _beside_bicubic(name: str, scale: float, pixels: PixelFormat, rounds: int) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    small = PlanePool(round(1280 * scale), round(720 * scale), pixels).acquire()
    for plane in small:
        plane[...] = rng.integers(0, 1 << pixels.bits, plane.shape)
    frame, into = Frame(small, pixels, 0, Fraction(1)), PlanePool(1280, 720, pixels).acquire()
    timings = time_in_turns(
        {"ours": lambda: enlarge(frame, into), "bicubic": lambda: resize(small, into)}, rounds
    )
    ours, bicubic = timings["ours"].best_ms, timings["bicubic"].best_ms
    return {
        "720p from": f"{name}, {pixels.bits} bit",
        "enlarge ms": ours,
        "bicubic ms": bicubic,
        "× bicubic": ours / bicubic,
    }


def to_cells(i420: Array, layout: str) -> Array:
    """The obvious way in: convert, normalize, transpose, reshape. float32 (1, …)."""
    rgb = cv2.cvtColor(i420, cv2.COLOR_YUV2RGB_I420).astype(np.float32) / 255
    cells = rgb.transpose(2, 0, 1).reshape(3, HEIGHT_PX // 4, 4, WIDTH_PX // 4, 4)
    order = (1, 3, 0, 2, 4) if layout == "NHWC" else (0, 2, 4, 1, 3)
    cells = cells.transpose(order)
    shape = (HEIGHT_PX // 4, WIDTH_PX // 4, 48) if layout == "NHWC" else (48, HEIGHT_PX // 4, -1)
    return np.ascontiguousarray(cells.reshape(1, *shape))


def from_cells(cells: Array, layout: str) -> Array:
    """The obvious way out: reshape, transpose, clip, convert."""
    if layout == "NHWC":
        grid = cells.reshape(HEIGHT_PX // 4, WIDTH_PX // 4, 3, 4, 4).transpose(0, 3, 1, 4, 2)
    else:
        grid = cells.reshape(3, 4, 4, HEIGHT_PX // 4, WIDTH_PX // 4).transpose(3, 1, 4, 2, 0)
    rgb = np.clip(grid.reshape(HEIGHT_PX, WIDTH_PX, 3) * 255, 0, 255).astype(np.uint8)
    i420: Array = cv2.cvtColor(rgb, cv2.COLOR_RGB2YUV_I420)
    return i420


def _planes(pixels: PixelFormat, interleaved: bool, seed: int) -> list[Array]:
    rng = np.random.default_rng(seed)
    dtype = np.uint8 if pixels.bits == 8 else np.uint16
    shapes = pixels.plane_shapes(WIDTH_PX, HEIGHT_PX)
    luma, *chroma = [rng.integers(0, 1 << pixels.bits, shape, dtype) for shape in shapes]
    if interleaved:
        both = np.stack(chroma, axis=-1).reshape(shapes[1][0], -1)
        return [luma, both[:, 0::2], both[:, 1::2]]
    return [luma, *chroma]


def _tensor(tensor: TensorFormat, colours: int) -> Array:
    rows, columns, channels = HEIGHT_PX // tensor.cell, WIDTH_PX // tensor.cell, tensor.cell**2
    channels *= colours
    nhwc = tensor.layout == "NHWC"
    return np.zeros((1, rows, columns, channels) if nhwc else (1, channels, rows, columns),
                    tensor.dtype)  # fmt: skip


def _copier(arrays: list[Array]) -> Call:
    """A plain copy of all bytes of ``arrays``."""
    copies = [np.empty_like(array) for array in arrays]

    def copy() -> None:
        for target, source in zip(copies, arrays, strict=True):
            np.copyto(target, source)

    return copy
