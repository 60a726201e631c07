"""``sfumato model``: list, inspect and train styles."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import click

from sfumato.stream.cli.train import train


@click.group()
def model() -> None:
    """List, inspect and train styles."""


model.add_command(train)


@model.command("list")
@click.option("--json", "as_json", is_flag=True, help="Names, files and specs as JSON.")
def list_command(as_json: bool) -> None:
    """Show the styles that are there."""
    from sfumato.models.catalog import list_styles
    from sfumato.models.head import read_spec
    from sfumato.stream.prepare import style_errors

    with style_errors():
        styles = [(files, read_spec(files.paths[0])) for files in list_styles()]
    if as_json:
        rows = [
            {
                "name": files.name,
                "files": [str(path) for path in files.paths],
                "spec": asdict(spec),
            }
            for files, spec in styles
        ]
        click.echo(json.dumps(rows, indent=2))
        return
    for files, spec in styles:
        cost = f"{spec.kmac_per_pixel:.1f} kMAC/px" if spec.kmac_per_pixel else ""
        click.echo(f"{files.name:<12} {cost:>13}  {spec.summary}")


@model.command("inspect")
@click.argument("style", metavar="NAME|FILE.onnx")
@click.option("--json", "as_json", is_flag=True, help="Everything as JSON.")
def inspect_command(style: str, as_json: bool) -> None:
    """Show what a style's file says about itself."""
    from sfumato.models.catalog import find_style
    from sfumato.models.inspect import inspect
    from sfumato.stream.prepare import style_errors

    with style_errors():
        found = inspect(find_style(style).paths[0])
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        _print_tree(found)


def _print_tree(values: dict[str, Any], indent: str = "") -> None:
    for key, value in values.items():
        if isinstance(value, dict):
            click.echo(f"{indent}{key}:")
            _print_tree(value, indent + "  ")
        else:
            click.echo(f"{indent}{key}: {value}")
