"""``sfumato run``: a video file goes in, a painted video file comes out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.stream.cli.options import file_options, paint_options, report_option
from sfumato.stream.cli.progress import progress_bar
from sfumato.stream.cli.stop import Stop, pass_stop

if TYPE_CHECKING:
    from sfumato.stream.report import Report


@click.command()
@click.argument("source", metavar="INPUT")
@click.option(
    "-o",
    "--output",
    "sink",
    required=True,
    metavar="OUTPUT",
    help="File to write; its ending chooses the container. '-' is y4m on stdout.",
)
@paint_options
@file_options
@report_option
@click.option("-q", "--quiet", is_flag=True, help="No progress and no summary.")
@pass_stop
def run(
    stop: Stop, /, source: str, sink: str, report_path: Path | None, quiet: bool, **options: Any
) -> None:
    """Paint INPUT (a file, URL, image, image pattern, or '-' for y4m on stdin)."""
    with stop.job() as asked:
        from sfumato.stream.api import stylize
        from sfumato.stream.media.errors import writing
        from sfumato.stream.report import write_text_whole

        if sink == "-":
            _check_uncoded(options)
        if report_path is not None:
            _check_report(report_path, source, sink)
        with progress_bar(quiet) as show:
            report = stylize(source, sink, on_progress=show, stop=asked, **options)
    if report_path is not None:
        with writing(str(report_path)):
            write_text_whole(report_path, report.to_json() + "\n")
    if not quiet:
        summarize(report)


def _check_uncoded(options: dict[str, Any]) -> None:
    """Refuse options of encoders where there is none."""
    from sfumato.stream.errors import SettingsError

    for name in ("codec", "crf", "preset"):
        if options[name] is not None:
            raise SettingsError(
                f"--{name} {options[name]}: '-' is y4m, which is not coded; leave out --{name}"
            )


def _check_report(path: Path, source: str, sink: str) -> None:
    """Refuse, before the work begins, what would fail or destroy a film after it."""
    from sfumato.stream.errors import SinkError
    from sfumato.stream.media.sink import check_target

    if path.resolve() == Path(sink).resolve():
        raise SinkError(f"--report {path} is the output itself; choose another name")
    check_target(path, Path(source) if Path(source).exists() else None, overwrite=True)


def summarize(report: Report) -> None:
    """A few lines on stderr: what was written, how fast, and what to know about it."""
    from sfumato.kernels._jit import cache_folder

    for warning in report.warnings:
        click.echo(f"note: {warning}", err=True)
    if cache_folder() is None:
        click.echo(
            "note: compiled kernels can be kept nowhere, so each start compiles them anew; "
            "set NUMBA_CACHE_DIR to a folder that can be written",
            err=True,
        )
    frames = "1 frame" if report.frames_out == 1 else f"{report.frames_out} frames"
    sink = "standard output" if report.sink == "-" else report.sink
    click.echo(
        f"{sink}: {frames} in {report.seconds:.1f} s, {report.fps:.1f} fps, {how_painted(report)}",
        err=True,
    )


def how_painted(report: Report) -> str:
    """The end of a summary: style, precision, what was assumed of the colours, and memory."""
    from sfumato.stream.advice import mebibytes

    matrix = report.color.get("matrix", "").replace("bt", "BT.")
    assumed = f"colours taken as {matrix}, " if report.color.get("guessed") else ""
    return (
        f"{report.style} at {report.precision}, {assumed}"
        f"peak memory {mebibytes(report.peak_rss_bytes)}"
    )
