"""``sfumato live``: a camera or stream goes in, the painted picture is shown while it is fresh."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from sfumato.stream.cli.options import live_options, report_option
from sfumato.stream.cli.run import how_painted
from sfumato.stream.cli.stop import Stop, pass_stop
from sfumato.stream.count import count

if TYPE_CHECKING:
    from sfumato.stream.live.outlet import LiveSink
    from sfumato.stream.live.report import LiveReport
    from sfumato.stream.live.run import LiveRun
    from sfumato.stream.live.settings import LiveSettings

Show: TypeAlias = Callable[[list[str]], None]
Say: TypeAlias = Callable[[str], None]

_SINK_RATE = 30.0


def _size(_c: click.Context, _p: click.Parameter, value: str | None) -> tuple[int, int] | None:
    width, _, height = (value or "").partition("x")
    if value is None:
        return None
    if not (width.isdecimal() and height.isdecimal() and int(width) and int(height)):
        raise click.BadParameter(f"{value!r}: write WIDTHxHEIGHT, such as 1280x720")
    return int(width), int(height)


@click.command()
@click.option(
    "--source",
    default="0",
    show_default=True,
    metavar="0|NAME|URL|FILE|lavfi:GRAPH|-",
    help="A camera by number, name or path; an address; a file, played at its own pace; "
    "a test picture such as lavfi:testsrc2=size=1280x720:rate=30; y4m on stdin.",
)
@click.option(
    "--sink",
    "sinks",
    multiple=True,
    metavar="window|virtualcam|URL|FILE|FOLDER/|-|null",
    help="Where pictures go; may be given several times. URL: rtmp, rtsp, udp, tcp. "
    "FOLDER/: an HLS playlist. '-': y4m on stdout.  [default: window]",
)
@click.option(
    "--realtime",
    is_flag=True,
    help="Play an address or stdin at the pace of its own times, as files are.",
)
@click.option(
    "--size",
    "size_px",
    metavar="WxH",
    callback=_size,
    help="What a camera is asked for; 1280x720 if not given.",
)
@click.option(
    "--max-age",
    "max_age_ms",
    type=float,
    default=120.0,
    show_default=True,
    metavar="MS",
    help="Oldest a picture should be when shown; quality gives way.",
)
@click.option(
    "--fps",
    type=float,
    metavar="F",
    help="Frames per second to hold, and the most to show.  [default: hold 24]",
)
@click.option(
    "--record",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the painted pictures to a file at the same time.",
)
@click.option("--overwrite", is_flag=True, help="Replace files that exist.")
@click.option(
    "--duration",
    "duration_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Stop after this long.",
)
@live_options
@report_option
@click.option("-q", "--quiet", is_flag=True, help="No figures and no summary.")
@pass_stop
def live(stop: Stop, /, source: str, report_path: Path | None, quiet: bool, **options: Any) -> None:
    """Paint a camera or a stream now: in a window, as a virtual camera, on a stream.

    Keys in the window: arrows for style and strength, s scale, m smoothing, r record, c snapshot,
    b source beside, o figures, f full screen, h help, q quit.
    """  # fmt: skip
    with stop.job() as asked:
        from sfumato.stream.media.errors import writing
        from sfumato.stream.media.sink import check_target
        from sfumato.stream.report import write_text_whole

        if report_path is not None:
            check_target(
                report_path, Path(source) if Path(source).is_file() else None, overwrite=True
            )
        with _terminal(quiet) as (show, say):
            report = _play(asked, source, report_path, show, say, options)
    if report_path is not None:
        with writing(str(report_path)):
            write_text_whole(report_path, report.to_json() + "\n")
    if not quiet:
        _summarize(report)


def _play(
    asked: Any,
    source: str,
    report_path: Path | None,
    show: Show,
    say: Say,
    options: dict[str, Any],
) -> LiveReport:
    from sfumato.stream.errors import SourceError
    from sfumato.stream.live.inputs import find_input
    from sfumato.stream.live.run import LiveRun
    from sfumato.stream.live.session import Session
    from sfumato.stream.live.window import Window
    from sfumato.stream.media.sink import lost_recordings

    chosen = {name: options.pop(name) for name in ("realtime", "size_px", "duration_s", "sinks")}
    record, overwrite = options.pop("record"), options.pop("overwrite")
    settings = _settings(options)
    names = list(chosen["sinks"]) or ["window"]
    if record is not None and record.is_dir():
        raise click.UsageError(f"--record {record}: this is a folder; name a file in it")
    targets = [*names, *([str(record)] if record else [])]
    _check_apart([*targets, *([str(report_path)] if report_path else [])])
    try:
        found = find_input(
            source, realtime=chosen["realtime"], size_px=chosen["size_px"], fps=settings.fps
        )
    except FileNotFoundError as exc:
        raise SourceError(
            f"--source {source}: no file or camera is called that; "
            "`sfumato doctor` lists the cameras"
        ) from exc
    window = Window() if "window" in names else None
    with LiveRun(found, settings, duration_s=chosen["duration_s"], stop=asked, note=say) as run:
        make = partial(_sink, run=run, settings=settings, source=found.path, overwrite=overwrite)
        sinks = [make(name) for name in targets if name != "window"]
        for lost in chain.from_iterable(lost_recordings(Path(name)) for name in targets):
            say(f"{lost} is what a run that was killed had recorded; rename it to keep it")
        return Session(run, sinks, window, show=show, say=say).play(source)


def _settings(options: dict[str, Any]) -> LiveSettings:
    from sfumato.stream.live.settings import LiveSettings
    from sfumato.stream.settings import PaintSettings

    limits = {name: options.pop(name) for name in ("max_age_ms", "fps")}
    scale = options.pop("scale")
    return LiveSettings(paint=PaintSettings(**options), scale=scale, **limits)


def _check_apart(targets: list[str]) -> None:
    """Raise SinkError where two targets are one place."""
    from sfumato.stream.errors import SinkError
    from sfumato.stream.live.broadcast import is_stream, playlist_in

    taken: dict[str, str] = {}
    for name in targets:
        if not name:
            raise SinkError("--sink '': has no name; give a file, a folder/, an address, or null")
        place = name
        if name not in ("-", "window", "virtualcam", "null") and "://" not in name:
            path = playlist_in(name) if is_stream(name) else Path(name)
            place = str(path.resolve())
        if place in taken and name != "null":
            first = "" if taken[place] == name else f" and {taken[place]}"
            raise SinkError(f"{name}{first}: given twice; let each sink have a place of its own")
        taken[place] = name


def _sink(
    name: str, *, run: LiveRun, settings: LiveSettings, source: Path | None, overwrite: bool
) -> LiveSink:
    from sfumato.stream.live.broadcast import Broadcast, is_stream
    from sfumato.stream.live.sinks import FileLive, NullLive
    from sfumato.stream.live.virtual import VirtualCamera

    fps = settings.fps or _SINK_RATE
    if name == "null":
        return NullLive()
    if name == "virtualcam":
        return VirtualCamera(fps)
    if is_stream(name):
        return Broadcast(name, fps=fps, source=source, overwrite=overwrite)
    tags, rate = lambda: run.reader.tags, lambda: settings.fps or run.reader.fps
    return FileLive(name, tags, source=source, fps=rate, overwrite=overwrite)


@contextmanager
def _terminal(quiet: bool) -> Generator[tuple[Show, Say], None, None]:
    """A panel on a terminal; plain lines elsewhere."""
    import sys

    if quiet or sys.stderr is None:
        yield (lambda _: None), (lambda _: None)
        return
    if not sys.stderr.isatty():
        yield (lambda _: None), (lambda line: click.echo(line, err=True))
        return
    from rich.console import Console
    from rich.live import Live
    from rich.panel import Panel

    console = Console(stderr=True)
    with Live(console=console, auto_refresh=False, transient=True) as panel:
        yield (
            lambda lines: panel.update(Panel("\n".join(lines), title="Sfumato"), refresh=True),
            lambda line: console.print(line, markup=False, highlight=False),
        )


def _summarize(report: LiveReport) -> None:
    for warning in report.warnings:
        click.echo(f"note: {warning}", err=True)
    ages = report.age_ms
    click.echo(
        f"{report.sink}: {count(report.frames_out, 'picture')} in {report.seconds:.1f} s, "
        f"{report.fps:.1f} fps, age {ages['p50']:.0f} ms, 95 % under {ages['p95']:.0f} ms, "
        f"at most {ages['max']:.0f} ms, {count(sum(report.dropped.values()), 'frame')} dropped, "
        f"{how_painted(report)}",
        err=True,
    )
