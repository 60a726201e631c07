"""``sfumato plan``: what ``run`` would do, and what it would take."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from sfumato.stream.cli.options import file_options, paint_options
from sfumato.stream.count import count

if TYPE_CHECKING:
    from sfumato.stream.changes import Changes
    from sfumato.stream.prepare import Prepared

_BAR_WIDTH = 32
_COLD = "not looked for: the first job of this kind compiles what that takes"


@click.command()
@click.argument("source", metavar="INPUT")
@click.option(
    "-o",
    "--output",
    "sink",
    metavar="OUTPUT",
    help="The file that would be written; its ending chooses the encoder. Nothing is written.  "
    "[default: some .mp4]",
)
@paint_options
@file_options
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def plan(source: str, sink: str | None, as_json: bool, **options: Any) -> None:
    """Show how INPUT would be painted: tiles, threads, what changes, predicted speed and memory."""
    from sfumato.stream.api import prepare_job
    from sfumato.stream.media.errors import writing

    with TemporaryDirectory() as folder:
        target = sink or str(Path(folder, "painted.mp4"))
        prepared = prepare_job(source, target, closely=True, **options)
    with writing("standard output"):
        if as_json:
            click.echo(json.dumps(prepared.to_dict(), indent=2))
        else:
            _show(prepared)
    prepared.checked()


def _show(prepared: Prepared) -> None:
    from rich.console import Console
    from rich.table import Table

    forecast, plan, changes = prepared.forecast, prepared.forecast.plan, prepared.changes
    width, height = plan.tile_px
    time = "" if forecast.seconds is None else f", {_duration(forecast.seconds)} in all"
    facts = Table.grid(padding=(0, 2))
    for name, value in {
        "style": f"{prepared.spec.name} at {prepared.choice.precision}",
        "tiles": f"{len(plan.tiles)} of {width}x{height} per frame",
        "workers": f"{plan.workers}, with {count(plan.intra_op, 'thread')} each",
        "queues": f"{count(plan.queue_frames, 'frame')} decoded ahead, "
        f"{plan.frames_in_flight} in flight",
        "encoding": _encoding(plan.encoder_threads, plan.lookahead_frames),
        "changes": _COLD if prepared.cold else "" if changes is None else _changes(changes),
        "speed": f"about {forecast.fps:.1f} fps{time}",
    }.items():
        if value:
            facts.add_row(name, value)
    console = Console(highlight=False)
    console.print(facts)
    console.print()
    console.print(_chart(prepared))


def _encoding(threads: int, lookahead: int | None) -> str:
    words = count(threads, "thread")
    return words if lookahead is None else f"{words}, {count(lookahead, 'frame')} of lookahead"


def _changes(changes: Changes) -> str:
    whole = f"; {changes.repeated:.0%} of frames are copied whole" if changes.repeated else ""
    frames = count(changes.frames, "frame")
    return f"of {frames} looked at, {changes.painted:.0%} of pixels are painted anew{whole}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    if minutes:
        return f"{minutes} min {rest} s"
    return f"{rest} s" if rest else "less than a second"


def _chart(prepared: Prepared) -> Any:
    """Memory by part as bars of one scale, then the sum beside the limit."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    forecast = prepared.forecast
    whole = max(forecast.peak_rss_bytes, forecast.limit_bytes or 0)
    chart = Table.grid(padding=(0, 2))
    chart.add_column()
    chart.add_column(justify="right")
    chart.add_column(width=_BAR_WIDTH)
    for part, size in forecast.memory_bytes.items():
        bar = ProgressBar(total=whole, completed=size, width=_BAR_WIDTH)
        chart.add_row(part, _size(size), bar)
    total = ProgressBar(total=whole, completed=forecast.peak_rss_bytes, width=_BAR_WIDTH)
    chart.add_row("peak", _size(forecast.peak_rss_bytes), total, style="bold")
    if forecast.limit_bytes is not None:
        chart.add_row("limit", _size(forecast.limit_bytes), "" if forecast.fits else "does not fit")
    return chart


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 2**20:.0f} MiB"
