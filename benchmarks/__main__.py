"""``python -m benchmarks``: measure everything, or one part, and write the README's figures."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
from platformdirs import user_cache_path

from benchmarks.harness import machine_facts, markdown_table, write_json
from benchmarks.job import job_figures, start_up_s
from benchmarks.kernels import kernel_figures, obvious_figures
from benchmarks.network import TILE_PX, network_figures
from benchmarks.smoothing import smoothing_figures
from sfumato.models.cores import has_vnni
from sfumato.stream.api import stylize
from sfumato.stream.beside import picture_at, write_beside
from sfumato.stream.media.sample import sample_clip

README = Path(__file__).parent.parent / "README.md"
PICTURE, PICTURE_S = README.parent / "docs" / "images" / "demo.jpg", 2.0
BEGIN, END = "<!-- figures: python -m benchmarks figures -->\n", "<!-- end of figures -->"


@click.group(invoke_without_command=True)
@click.pass_context
def main(context: click.Context) -> None:
    """Without a command: all parts, printed."""
    if context.invoked_subcommand is None:
        for part in (kernels, network, smoothing, job):
            context.invoke(part)


@main.command()
def kernels() -> None:
    """Gather and scatter beside a plain copy, and beside OpenCV with NumPy."""
    click.echo(markdown_table(kernel_figures()) + "\n\n" + markdown_table(obvious_figures()) + "\n")


@main.command()
def network() -> None:
    """INT8 beside FP32, on one thread."""
    click.echo(markdown_table(network_figures()) + "\n")


@main.command()
def smoothing() -> None:
    """Temporal smoothing and cut detection per 720p frame."""
    click.echo(markdown_table([smoothing_figures()]) + "\n")


@main.command()
@click.option("--clip", type=click.Path(exists=True, path_type=Path), help="Default: the sample.")
@click.option("--style", default="toon", show_default=True)
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write the figures.")
def job(clip: Path | None, style: str, json_path: Path | None) -> None:
    """A whole file job beside the obvious script."""
    figures = job_figures(clip or sample_clip(user_cache_path("sfumato")), style)
    stages = figures.pop("stage_ms")
    click.echo(markdown_table([figures]) + "\n\n" + markdown_table([stages]) + "\n")
    if json_path is not None:
        write_json(json_path, {**figures, "stage_ms": stages})


@main.command()
def figures() -> None:
    """Measure what the README shows, and write it there."""
    text = README.read_text()
    head, rest = text.split(BEGIN)
    _, tail = rest.split(END)
    README.write_text(f"{head}{BEGIN}\n{readme_figures()}\n{END}{tail}")


@main.command()
def picture() -> None:
    """Paint the sample clip and put one frame beside its painting, as the README shows it."""
    clip = sample_clip(user_cache_path("sfumato"))
    with TemporaryDirectory() as folder:
        painted = Path(folder) / "painted.mp4"
        stylize(clip, painted, start_s=PICTURE_S, duration_s=0.5)
        PICTURE.parent.mkdir(exist_ok=True)
        write_beside(picture_at(clip, PICTURE_S + 0.4), picture_at(painted, 0.4), PICTURE)


def readme_figures() -> str:
    """The README's tables, with the machine they were measured on."""
    facts = machine_facts()
    clip = sample_clip(user_cache_path("sfumato"))
    jobs = [_job_row(job_figures(clip, style)) for style in ("toon", "toon-fast", "oil", "ukiyoe")]
    nets = [
        {
            "style": row["style"],
            "kMAC per pixel": row["kMAC/pixel"],
            "INT8 ms": row["INT8 ms"],
            "FP32 ms": row["FP32 ms"],
            "times as fast": row["ratio"],
        }
        for row in network_figures()
    ]
    started = start_up_s(clip)
    begin = (
        f"`sfumato --help` takes {started['help']:.2f} s; a job of one frame, from the command to "
        f"the verified file, {started['one frame']:.1f} s."
    )
    where = (
        f"Measured on {facts['processor']}, {facts['cores']} cores, ONNX Runtime "
        f"{facts['onnxruntime']}, Python {facts['python']}"
        + ("." if has_vnni() else ", without the VNNI instructions that INT8 gains most from.")
    )
    return "\n".join(
        [
            where,
            "A 720p H.264 clip, file to file, `--preset superfast`; the obvious script reads with",
            "OpenCV, resizes with Pillow, runs the same network at FP32 and writes with OpenCV:",
            "",
            markdown_table(jobs),
            "",
            f"The networks alone, one {TILE_PX[0]} × {TILE_PX[1]} tile on one core:",
            "",
            markdown_table(nets),
            "",
            begin,
            "",
        ]
    )


def _job_row(figures: dict[str, Any]) -> dict[str, Any]:
    return {
        "style": figures["style"],
        "fps": figures["fps"],
        "obvious script fps": figures["obvious_fps"],
        "times as fast": figures["ratio"],
        "cores busy %": figures["busy_percent"],
        "peak memory MB": figures["peak_rss_mb"],
    }


if __name__ == "__main__":
    sys.exit(main())
