"""``python -m benchmarks``: measure everything or some parts, and write the figures of the docs."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from benchmarks.blocks import PART_NAMES, ROOT, write_block

PICTURE, PICTURE_S = ROOT / "docs" / "images" / "demo.jpg", 2.0

_parts = click.argument("parts", nargs=-1, type=click.Choice(PART_NAMES))


@click.group(invoke_without_command=True)
@click.pass_context
def main(context: click.Context) -> None:
    """Without a command: all parts, printed."""
    if context.invoked_subcommand is None:
        context.invoke(show, parts=())


@main.command()
@_parts
def show(parts: tuple[str, ...]) -> None:
    """Measure parts (all without one) and print them; memory draws its plot too."""
    for name in parts or PART_NAMES:
        click.echo(f"{_measured(name)}\n")


@main.command()
@_parts
def figures(parts: tuple[str, ...]) -> None:
    """Measure parts (all without one) and write them into README.md and docs/performance.md."""
    for name in parts or PART_NAMES:
        started_s = time.perf_counter()
        write_block(name, _measured(name))
        click.echo(f"{name}: {time.perf_counter() - started_s:.0f} s", err=True)


def _measured(name: str) -> str:
    try:
        from benchmarks.parts import PARTS
    except ModuleNotFoundError as exc:
        raise click.ClickException(
            f"measuring needs {exc.name}, which is not installed: pip install -e '.[dev]'"
        ) from None
    return PARTS[name]()


@main.command()
@click.option("--seconds", type=float, default=300.0, show_default=True, help="Of each run.")
@click.option("--style", default="toon", show_default=True)
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write the figures.")
def live(seconds: float, style: str, json_path: Path | None) -> None:
    """Live runs of a file, a test picture and a pipe; and one that loses a core on the way."""
    from benchmarks.harness import sample
    from benchmarks.live import core_figures, live_figures
    from sfumato.stream.bench.facts import machine_line
    from sfumato.stream.bench.table import markdown_table

    rows = live_figures(sample(), seconds, style)
    click.echo(markdown_table(rows) + "\n")
    phases = core_figures(sample(), seconds, style)
    click.echo(markdown_table(phases))
    if json_path is not None:
        found = {"machine": machine_line(), "live": rows, "one core": phases}
        json_path.write_text(json.dumps(found, indent=1) + "\n")


@main.command()
def picture() -> None:
    """Paint the sample clip and put one frame beside its painting, as the README shows it."""
    from benchmarks.harness import sample
    from sfumato.stream.api import stylize
    from sfumato.stream.beside import picture_at, write_beside

    clip = sample()
    with TemporaryDirectory() as folder:
        painted = f"{folder}/painted.mp4"
        stylize(clip, painted, start_s=PICTURE_S, duration_s=0.5)
        PICTURE.parent.mkdir(exist_ok=True)
        write_beside(picture_at(clip, PICTURE_S + 0.4), picture_at(painted, 0.4), PICTURE)


if __name__ == "__main__":
    sys.exit(main())
