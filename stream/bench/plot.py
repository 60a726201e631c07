"""Frames per second over the memory limit, one line per size."""

from __future__ import annotations

from importlib.util import find_spec
from math import ceil, floor, log2
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.stream.bench.cell import Result
from sfumato.stream.bench.results import Results, figures
from sfumato.stream.errors import SettingsError
from sfumato.stream.media.errors import writing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INCHES = (7.2, 4.2)
_DOTS_PER_INCH = 120
_MARKS = {"refused": "o", "killed": "x", "failed": "+"}
"""What stands at the foot of the plot for cells without a figure."""
_FOOT, _STEP, _STRIP = 0.04, 0.05, 0.25  # shares of the height

_NO_FPS = (1, 32)  # an axis for nothing

Lines = dict[str, list[Result]]


def check_plot(path: Path) -> None:
    """Raises :class:`SettingsError` where no plot can be drawn: before the work, not after it."""
    if find_spec("matplotlib") is None:
        raise SettingsError(
            "--plot needs matplotlib: pip install 'sfumato[plot]', or leave --plot out"
        )
    from matplotlib.backend_bases import FigureCanvasBase

    if path.suffix[1:].lower() not in FigureCanvasBase.get_supported_filetypes():
        raise SettingsError(f"--plot {path}: its ending names no kind of picture; try .png or .svg")


def write_plot(results: Results, path: Path, title: str) -> None:
    """Draw the results into an image file whose ending says of which kind.

    Cells without a limit have no place on the axis and are left out. Raises :class:`SinkError`.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=_INCHES, layout="constrained")
    axes = figure.add_subplot()
    for number, (name, line) in enumerate(_lines(results).items()):
        _draw(axes, name, line, _FOOT + _STEP * number)
    _dress(axes, results, title)
    figure.legend(loc="outside right upper", frameon=False)
    with writing(str(path)):
        figure.savefig(path, dpi=_DOTS_PER_INCH)


def _lines(results: Results) -> Lines:
    """Cells by what tells their lines apart, limits rising."""
    cells = results.cells
    styles, precisions = {c.style for c in cells}, {c.precision for c in cells}
    lines: Lines = {}
    for result in sorted(results.cells.values(), key=lambda r: r.cell.limit_bytes or 0):
        cell = result.cell
        words = [cell.size, *([cell.style] if len(styles) > 1 else []),
                 *([cell.precision] if len(precisions) > 1 else [])]  # fmt: skip
        if cell.limit_bytes is not None:
            lines.setdefault(" ".join(words), []).append(result)
    order = [cell.size for cell in cells]
    return dict(sorted(lines.items(), key=lambda item: order.index(item[1][0].cell.size)))


def _draw(axes: Axes, name: str, line: list[Result], foot: float) -> None:
    """The line itself with the span of its runs, and marks where there is none."""
    done = [(_mib(result), figures(result)["fps"]) for result in line if result.status == "ok"]
    fps = [spread.median for _, spread in done]
    spans = [
        [spread.median - spread.low for _, spread in done],
        [spread.high - spread.median for _, spread in done],
    ]
    [drawn, *_] = axes.errorbar([limit for limit, _ in done], fps, spans, marker="o", label=name)
    colour = drawn.get_color()
    for status, mark in _MARKS.items():
        limits = [_mib(result) for result in line if result.status == status]
        at_foot = {"transform": axes.get_xaxis_transform(), "color": colour, "fillstyle": "none"}
        axes.plot(limits, [foot] * len(limits), mark, **at_foot)


def _dress(axes: Axes, results: Results, title: str) -> None:
    """Axes that double from step to step, and the names."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    limits = sorted({_mib(r) for r in results.cells.values() if r.cell.limit_bytes})
    axes.set_xticks(limits, [f"{limit:g}" for limit in limits])
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda fps, _: f"{fps:g}"))
    axes.set(xlabel="memory limit, MiB", ylabel="frames per second")
    axes.set_title(title, fontsize="small")
    axes.grid(alpha=0.3)
    found = {result.status for result in results.cells.values()}
    for status, mark in _MARKS.items():
        if status in found:
            axes.plot([], [], mark, color="grey", fillstyle="none", label=status)
    if "ok" not in found:
        axes.set_ylim(*_NO_FPS)
        return
    low, high = (step(log2(fps)) for step, fps in zip((floor, ceil), axes.get_ylim(), strict=True))
    foot = _STRIP * (high - low) if len(found) > 1 else 0  # a strip below the lowest line
    axes.set_ylim(2 ** (low - foot), 2**high)  # so that two marks of the axis show at least


def _mib(result: Result) -> float:
    return (result.cell.limit_bytes or 0) / 2**20
