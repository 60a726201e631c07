"""``sfumato model train``: make a style from a recipe or from a painting."""

from __future__ import annotations

from pathlib import Path

import click

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command("train")
@click.argument("recipe", required=False)
@click.option("--painting", type=_FILE, help="Learn this painting instead.")
@click.option("--content", type=_FOLDER, required=True, help="Folder of photos.")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder.")
@click.option("--steps", type=click.IntRange(min=1), help="Fewer is faster and worse.")
@click.option("--seed", type=int, help="Another seed gives another network.")
def train(
    recipe: str | None,
    painting: Path | None,
    content: Path,
    output: Path,
    steps: int | None,
    seed: int | None,
) -> None:
    """Train a style: RECIPE is toon, toon-fast, oil or ukiyoe, or give --painting FILE.

    Writes NAME.int8.onnx and NAME.fp32.onnx. An interrupted training goes on where it stopped.
    """
    if (recipe is None) == (painting is None):
        raise click.UsageError("give either the name of a recipe or --painting FILE")
    from sfumato.models.train.extras import require
    from sfumato.models.train.names import check_name
    from sfumato.stream.prepare import style_errors

    with style_errors():
        if recipe is not None:
            check_name(recipe)
        require("train")
        if painting is not None:
            require("perceptual")
        from sfumato.models.train import recipes, styles

        chosen = recipes.find(recipe) if recipe else recipes.of_painting(painting or Path())
        made = styles.train(chosen, content, output, steps=steps, seed=seed, progress=_show)
    for key, value in made.spec.acceptance.items():
        click.echo(f"{key}: {value}")
    click.echo(
        f"Written: {made.int8} and {made.fp32}\nTry:  sfumato run VIDEO -o OUT.mp4 --style {made.int8}"
    )


def _show(line: str) -> None:
    click.echo(line, err=True)
