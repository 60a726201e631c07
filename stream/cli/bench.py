"""``sfumato bench``: how fast is it here, with so much memory?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import click

from sfumato.stream.cli.stop import Stop, pass_stop
from sfumato.stream.settings import DEFAULT_STYLE

if TYPE_CHECKING:
    from sfumato.stream.bench.holder import Holder
    from sfumato.stream.bench.matrix import BenchSettings, Cell
    from sfumato.stream.bench.results import Results

SIZES = "720p,1080p,2160p"
LIMITS = "256M,512M,1G"

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument(
    "source",
    metavar="[INPUT]",
    required=False,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@click.option(
    "--memory-limits",
    "limits",
    default=LIMITS,
    show_default=True,
    metavar="SIZE,…",
    help="Memory that jobs are held to; none is no limit.",
)
@click.option(
    "--sizes",
    metavar="SIZE,…",
    help=f"720p, 640x360…; source leaves INPUT as it is.  [default: {SIZES}; source with INPUT]",
)
@click.option(
    "--styles",
    default=DEFAULT_STYLE,
    show_default=True,
    metavar="NAME,…",
    help="Shipped styles or ONNX files.",
)
@click.option(
    "--precisions", default="auto", show_default=True, metavar="NAME,…", help="auto, int8, fp32."
)
@click.option(
    "--frames",
    type=click.IntRange(min=8),
    default=48,
    show_default=True,
    help="Frames of each job.",
)
@click.option(
    "--runs",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Timed jobs of each cell; the table shows their medians.",
)
@click.option(
    "--cold/--no-cold",
    default=True,
    show_default=True,
    help="Time a first start without any cache too.",
)
@click.option(
    "--preset", default="superfast", show_default=True, metavar="NAME", help="Encoder preset."
)
@click.option(
    "--json",
    "json_path",
    type=_FILE,
    metavar="FILE",
    help="Keep results here; a bench that was interrupted goes on where it stopped.",
)
@click.option("--markdown", type=_FILE, metavar="FILE", help="Write the table here too.")
@click.option(
    "--plot",
    type=_FILE,
    metavar="FILE.png",
    help="Draw fps over memory limit (needs the extra sfumato[plot]).",
)
@click.option(
    "--compare",
    type=_FILE,
    metavar="OLD.json",
    help="Show what changed since, and exit 1 if something got worse.",
)
@click.option(
    "--overwrite",
    is_flag=True,
    help="Replace a --json file of another machine, version or setting.",
)
@pass_stop
def bench(
    stop: Stop,
    /,
    source: Path | None,
    limits: str,
    sizes: str | None,
    styles: str,
    precisions: str,
    json_path: Path | None,
    markdown: Path | None,
    plot: Path | None,
    compare: Path | None,
    overwrite: bool,
    **settings: Any,
) -> None:
    """Measure whole jobs under memory limits: fps, latency, CPU time, start, peak memory.

    Every combination of size, limit, style and precision is a cell, and each of its jobs a process
    in a memory group of its own, without swap. A cell that the kernel kills is shown as killed,
    one that the planner declines as refused. Without INPUT the sample clip of `sfumato demo` is
    painted. Times of another machine are shown by --compare, but are no regression. Exits 1 if a cell
    failed for another reason than memory.
    """  # fmt: skip
    with stop.job() as asked:
        from sfumato.stream.bench.clips import fingerprint
        from sfumato.stream.bench.holder import find_holder
        from sfumato.stream.bench.matrix import BenchSettings, make_cells
        from sfumato.stream.bench.plot import check_plot
        from sfumato.stream.bench.results import Results

        sizes = sizes or ("source" if source else SIZES)
        cells = make_cells(sizes, limits, styles, precisions)
        _check_choices(cells, settings["preset"])
        if plot is not None:
            check_plot(plot)
        _check_targets(source, json_path, markdown, plot)
        old = None if compare is None else Results.read(compare)
        clip, holder = source or _sample(), find_holder()
        chosen = BenchSettings(clip=fingerprint(clip), **settings)
        results = _results(chosen, holder, None if overwrite else json_path)
        _measure(clip, cells, results, holder, json_path, asked)
    results = results.only(cells)
    _show(results, markdown, plot)
    worse = old is not None and _changed_for_the_worse(old, results)
    if worse or any(result.status == "failed" for result in results.cells.values()):
        sys.exit(1)


def _check_choices(cells: list[Cell], preset: str) -> None:
    """Refuse at once what every job would refuse."""
    from sfumato.models.catalog import find_style
    from sfumato.stream.bench.cell import TARGET
    from sfumato.stream.media.encoders import choose_encoder
    from sfumato.stream.prepare import style_errors

    choose_encoder(Path(TARGET), None, None, preset)
    with style_errors():
        for style in dict.fromkeys(cell.style for cell in cells):
            find_style(style)


def _check_targets(source: Path | None, *paths: Path | None) -> None:
    """Refuse before the work what would fail after it."""
    from tempfile import NamedTemporaryFile

    from sfumato.stream.errors import SinkError
    from sfumato.stream.media.errors import writing
    from sfumato.stream.media.sink import check_target

    given = [path for path in paths if path is not None]
    for path in given:
        check_target(path, source, overwrite=True)
        with writing(str(path)), NamedTemporaryFile(prefix=f".{path.name}.", dir=path.parent):
            pass  # some folders take no file, whatever their access rights say
    if len({path.resolve() for path in given}) < len(given):
        raise SinkError(f"{given[-1]} is given twice; results, table and plot want a file each")


def _sample() -> Path:
    from platformdirs import user_cache_path

    from sfumato.stream.media.sample import sample_clip

    return sample_clip(user_cache_path("sfumato"))


def _results(settings: BenchSettings, holder: Holder, path: Path | None) -> Results:
    """What is in the file already, or a new start."""
    from sfumato.stream.bench.facts import machine_facts, version_facts
    from sfumato.stream.bench.results import Results

    fresh = Results(
        machine=machine_facts(), versions=version_facts(), settings=settings, held_by=holder.name
    )
    return fresh.resumed(path) if path is not None and path.exists() else fresh


def _measure(
    clip: Path,
    cells: list[Cell],
    results: Results,
    holder: Holder,
    path: Path | None,
    stop: Event,
) -> None:
    """Fill in the cells that are missing; each is kept as soon as it is done."""
    from platformdirs import user_cache_path

    from sfumato.stream.bench.cell import CellRunner

    missing = results.missing(cells)
    if holder.warning and any(cell.limit_bytes for cell in missing):
        click.echo(f"note: {holder.warning}", err=True)
    clips = user_cache_path("sfumato") / "bench"
    with (
        CellRunner(clip, results.settings, holder, clips, stop) as run,
        _progress(missing) as tell,
        _kept(results, path),
    ):
        for cell in missing:
            tell(cell)
            results.cells[cell] = run(cell)
            if path is not None:
                results.write(path)


@contextmanager
def _kept(results: Results, path: Path | None) -> Generator[None, None, None]:
    """Say on an interrupt what was not in vain."""
    from sfumato.stream.errors import Stopped

    try:
        yield
    except Stopped:
        if path is not None and results.cells:
            click.echo(f"{path} keeps what is done; the same command goes on from there", err=True)
        raise


@contextmanager
def _progress(cells: list[Cell]) -> Generator[Callable[[Cell], None], None, None]:
    """A bar on a terminal, else a line per cell, on stderr."""
    if not sys.stderr.isatty():
        yield lambda cell: click.echo(f"measuring {cell}", err=True)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    times = (TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, *times, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("measuring", total=len(cells))
        started = iter(range(len(cells)))
        yield lambda cell: bar.update(task, completed=next(started), description=str(cell))


def _show(results: Results, markdown: Path | None, plot: Path | None) -> None:
    from sfumato.stream.bench.facts import machine_line
    from sfumato.stream.bench.plot import write_plot
    from sfumato.stream.bench.table import reasons, results_table
    from sfumato.stream.media.errors import writing
    from sfumato.stream.report import write_text_whole

    table = results_table(results)
    with writing("standard output"):
        click.echo(table)
    for line in reasons(results.cells.values()):
        click.echo(line, err=True)
    if markdown is not None:
        with writing(str(markdown)):
            write_text_whole(
                markdown, f"{machine_line()}; limits held by {results.held_by}.\n\n{table}\n"
            )
    if plot is not None:
        write_plot(results, plot, machine_line())


def _changed_for_the_worse(old: Results, new: Results) -> bool:
    """Show what changed; whether something got worse."""
    from sfumato.stream.bench.compare import comparable_cells, compare, same_machine
    from sfumato.stream.bench.table import changes_table

    if not same_machine(old, new):
        click.echo(
            "note: measured on another machine: times are shown but count for nothing", err=True
        )
    cells = comparable_cells(old, new)
    if not cells:
        click.echo("note: nothing to compare: other cells, clip, frames or preset", err=True)
        return False
    changes = compare(old, new)
    click.echo("\n" + (changes_table(changes) if changes else f"No change in {len(cells)} cells."))
    return any(change.regression for change in changes)
