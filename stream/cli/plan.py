"""``sfumato plan``: what ``run`` would do, and what it would take."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from sfumato.stream.cli.options import file_options, paint_options

if TYPE_CHECKING:
    from sfumato.stream.prepare import Prepared

_BAR_WIDTH = 32


@click.command()
@click.argument("source", metavar="INPUT")
@click.option(
    "-o",
    "--output",
    "sink",
    default="painted.mp4",
    show_default=True,
    metavar="OUTPUT",
    help="The file that would be written; its ending chooses the encoder. Nothing is written.",
)
@paint_options
@file_options
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def plan(source: str, sink: str, as_json: bool, **options: Any) -> None:
    """Show how INPUT would be painted: tiles, threads, predicted speed, time and memory."""
    from sfumato.stream.api import prepare_job

    prepared = prepare_job(source, sink, **options)
    if as_json:
        click.echo(json.dumps(prepared.to_dict(), indent=2))
    else:
        _show(prepared)
    prepared.checked()


def _show(prepared: Prepared) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    forecast, plan = prepared.forecast, prepared.forecast.plan
    tiles = len(plan.tiles)
    console.print(
        f"{prepared.spec.name} at {prepared.choice.precision}: "
        f"{tiles} tile{'s' * (tiles > 1)} of {plan.tile_px[0]}x{plan.tile_px[1]} per frame, "
        f"{plan.workers} worker{'s' * (plan.workers > 1)} x {plan.intra_op} thread{'s' * (plan.intra_op > 1)}, "
        f"{plan.queue_frames} frames decoded ahead, {plan.frames_in_flight} in flight, "
        f"encoder: {_encoder(plan.encoder_threads, plan.lookahead_frames)}"
    )
    time = "" if forecast.seconds is None else f", {_duration(forecast.seconds)} in all"
    console.print(f"about {forecast.fps:.1f} fps{time}")
    console.print(_chart(prepared))


def _encoder(threads: int, lookahead: int | None) -> str:
    words = f"{threads} thread{'s' * (threads > 1)}"
    return words if lookahead is None else f"{words}, {lookahead} frames of lookahead"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02} h" if hours else f"{minutes}:{rest:02} min"


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
