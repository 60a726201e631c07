"""``sfumato serve``: the browser page; a camera goes in, the painted video comes back."""

from __future__ import annotations

import math
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.stream.cli.stop import Stop, pass_stop
from sfumato.stream.live.settings import MAX_AGE_MS
from sfumato.stream.settings import (
    DEFAULT_STYLE,
    PRECISIONS,
    PaintSettings,
    Precision,
    parse_count,
    parse_share,
)

if TYPE_CHECKING:
    from sfumato.stream.live.server.app import Address
    from sfumato.stream.live.server.settings import ServeSettings

NEEDED = ("aiohttp", "aiortc", "cryptography")
_PEM = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="0.0.0.0 lets others on the network in, with the token that is printed.",
)
@click.option("--port", type=int, default=8030, show_default=True, help="0 takes a free one.")
@click.option(
    "--tls",
    is_flag=True,
    help="HTTPS, which browsers want before they give a camera to another machine.",
)
@click.option("--cert", type=_PEM, metavar="FILE", help="Certificate chain in PEM, for HTTPS.")
@click.option("--key", type=_PEM, metavar="FILE", help="Its key in PEM.")
@click.option(
    "--style",
    default=DEFAULT_STYLE,
    show_default=True,
    metavar="NAME|FILE.onnx",
    help="What viewers begin with; they choose from all shipped styles.",
)
@click.option(
    "--strength",
    type=float,
    default=1.0,
    show_default=True,
    metavar="0..1",
    help="What viewers begin with.",
)
@click.option(
    "--scale",
    default="auto",
    show_default=True,
    metavar="auto|0.1..1",
    help="Paint at this fraction of the size; auto goes down to keep pace.",
)
@click.option(
    "--max-age",
    "max_age_ms",
    type=float,
    default=MAX_AGE_MS,
    show_default=True,
    metavar="MS",
    help="Oldest a picture should be when it leaves.",
)
@click.option(
    "--precision",
    type=click.Choice(PRECISIONS),
    default="auto",
    show_default=True,
    help="auto takes INT8 only where it is faster here.",
)
@click.option(
    "--workers",
    default="auto",
    show_default=True,
    metavar="auto|N",
    help="Tiles painted at the same time, for each viewer.",
)
@click.option(
    "--max-viewers",
    type=int,
    default=4,
    show_default=True,
    help="Cameras painted at the same time.",
)
@click.option(
    "--max-upload",
    "max_upload_mb",
    type=float,
    default=500.0,
    show_default=True,
    metavar="MB",
    help="Largest file that may be dropped on the page.",
)
@pass_stop
def serve(stop: Stop, /, **options: Any) -> None:
    """Serve a web page that paints the browser's camera, or a file that is dropped on it."""
    _check_extra()
    with stop.job() as asked:
        import asyncio
        import logging

        logging.getLogger("aiortc").setLevel(logging.ERROR)  # a lost packet is no news
        from sfumato.stream.live.server.app import serve as serve_until

        settings = _settings(**options)
        styles = _gallery(settings.live.paint.style)
        asyncio.run(serve_until(settings, styles, _announce, asked))


def _settings(
    *,
    style: str,
    strength: float,
    scale: str,
    max_age_ms: float,
    precision: Precision,
    workers: str,
    max_upload_mb: float,
    **listening: Any,
) -> ServeSettings:
    from sfumato.stream.live.server.settings import MEGABYTE, ServeSettings
    from sfumato.stream.live.settings import LiveSettings

    paint = PaintSettings(
        style=style,
        strength=strength,
        precision=precision,
        workers=parse_count("--workers", workers),
    )
    live = LiveSettings(paint=paint, scale=parse_share("--scale", scale), max_age_ms=max_age_ms)
    max_upload_bytes = max_upload_mb * MEGABYTE
    if not math.isfinite(max_upload_bytes):
        raise click.BadParameter("should be from 1 to 100000", param_hint="--max-upload")
    return ServeSettings(live=live, max_upload_bytes=round(max_upload_bytes), **listening)


def _check_extra() -> None:
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise click.ClickException(
            f"the page needs {', '.join(missing)}: pip install 'sfumato[serve]'"
        )


def _gallery(style: str) -> list[str]:
    """The shipped styles that paint, and the one asked for if it is another."""
    from sfumato.models.catalog import find_style, list_styles
    from sfumato.stream.prepare import style_errors

    with style_errors():
        find_style(style)
        names = [files.name for files in list_styles() if files.name != "identity"]
    return names if style in names else [style, *names]


def _announce(address: Address) -> None:
    """Where to go, on stderr: the token is a secret, and stdout may be kept in a file."""
    click.echo(f"Sfumato is at {address.url}", err=True)
    if not address.private:
        click.echo(
            "Who has this address may come in; the token in it is new at each start.", err=True
        )
        if not address.url.startswith("https"):
            click.echo("Browsers give no camera to this address; add --tls.", err=True)
    if address.fingerprint:
        click.echo(
            "The browser will warn of a certificate that it does not know. Its SHA-256 should be\n"
            f"  {address.fingerprint}",
            err=True,
        )
    click.echo("Ctrl-C stops.", err=True)
