"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from sfumato.stream.settings import (
    DEFAULT_STYLE,
    PRECISIONS,
    SWITCH,
    parse_count,
    parse_share,
    parse_size,
    parse_tile,
    parse_time,
)

F = TypeVar("F", bound=Callable[..., Any])


def _tile(_c: click.Context, _p: click.Parameter, value: str) -> tuple[int, int] | None:
    return parse_tile(value)


def _count(_c: click.Context, param: click.Parameter, value: str) -> int | None:
    return parse_count(param.opts[0], value)


def _share(_c: click.Context, param: click.Parameter, value: str) -> float | None:
    return parse_share(param.opts[0], value)


def _size(_c: click.Context, param: click.Parameter, value: str) -> int | None:
    return parse_size(param.opts[0], value)


_SCALE = click.option(
    "--scale", type=float, default=1.0, show_default=True, metavar="0.1..1",
    help="Paint at this fraction of the size, then bring it back: faster, coarser.",
)  # fmt: skip

_AUTO_SCALE = click.option(
    "--scale", default="auto", show_default=True, metavar="auto|0.1..1", callback=_share,
    help="Paint at this fraction of the size; auto goes from 1 down to ½ as time allows.",
)  # fmt: skip


def _time(_c: click.Context, param: click.Parameter, value: str | None) -> float | None:
    return None if value is None else parse_time(param.opts[0], value)


_PAINT = [
    click.option("--style", default=DEFAULT_STYLE, show_default=True, metavar="NAME|FILE.onnx",
                 help="A shipped style (see `sfumato model list`) or an ONNX file."),
    click.option("--strength", type=float, default=1.0, show_default=True, metavar="0..1",
                 help="0 gives the source back, 1 the painting."),
    click.option("--smooth", default="auto", show_default=True, metavar="auto|0..1",
                 callback=_share, help="Temporal smoothing; 0 is off, auto suits the style."),
    click.option("--hold", type=click.Choice(SWITCH), default="auto", show_default=True,
                 help="auto keeps still what only the sensor's noise changes."),
    click.option("--reuse", type=click.Choice(SWITCH), default="auto", show_default=True,
                 help="auto copies what cannot have changed; off paints all, with the same result."),
    click.option("--precision", type=click.Choice(PRECISIONS), default="auto",
                 show_default=True, help="auto takes INT8 only where it is faster here."),
    click.option("--tile", "tile_px", default="auto", show_default=True, metavar="auto|WxH",
                 callback=_tile, help="Tile size: multiples of 64, or what covers the frame."),
    click.option("--overlap", "overlap_px", default="auto", show_default=True, metavar="auto|N",
                 callback=_count, help="Pixels that tiles share; less than auto is feathered."),
    click.option("--workers", default="auto", show_default=True, metavar="auto|N",
                 callback=_count, help="Tiles painted at the same time."),
    click.option("--memory-limit", "memory_limit_bytes", default="auto", show_default=True,
                 metavar="auto|SIZE", callback=_size,
                 help="Stay below this much memory: 512M, 1.5G, 1GiB; auto: what the system sets."),
    click.option("--provider", default="cpu", show_default=True, metavar="NAME",
                 help="Execution provider: cpu, cuda, openvino… (see `sfumato doctor`)."),
]  # fmt: skip

_FILE = [
    click.option("--codec", metavar="NAME", help="Video encoder, such as libx265 or ffv1; libx264 unless OUTPUT wants another."),
    click.option("--crf", type=int, metavar="0..51", help="Constant quality, lower is better; 18 for libx264."),
    click.option("--preset", metavar="NAME", help="Encoder preset, from ultrafast to veryslow; veryfast if not given."),
    click.option("--start", "start_s", default="0", metavar="TIME", callback=_time,
                 help="Skip what comes before."),
    click.option("--duration", "duration_s", metavar="TIME", callback=_time,
                 help="Stop after this long."),
    click.option("--overwrite", is_flag=True, help="Replace the output if it exists."),
    click.option("--strict", is_flag=True, help="Fail on the first damaged packet."),
]  # fmt: skip


report_option = click.option(
    "--report",
    "report_path",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.json",
    help="Write what was done as JSON.",
)


def paint_options(function: F) -> F:
    """Options of everything that paints."""
    for option in reversed([*_PAINT, _SCALE]):
        function = option(function)
    return function


def live_options(function: F) -> F:
    """The same, with a scale that may change on the way."""
    for option in reversed([*_PAINT, _AUTO_SCALE]):
        function = option(function)
    return function


def file_options(function: F) -> F:
    """Options of everything that writes files."""
    for option in reversed(_FILE):
        function = option(function)
    return function
