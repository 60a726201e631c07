"""The ``sfumato`` command: a thin layer over the library, and the only place that prints."""

from __future__ import annotations

import os
import signal
import sys
import time
from types import FrameType
from typing import NoReturn

import click

from sfumato.stream.cli.demo import demo
from sfumato.stream.cli.doctor import doctor
from sfumato.stream.cli.model import model
from sfumato.stream.cli.run import run

INTERRUPTED = 130
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
CLEANUP_S = 5.0


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="sfumato")
def cli() -> None:
    """Paint video in real time, on an ordinary CPU, inside the memory you allow."""


for command in (demo, run, model, doctor):
    cli.add_command(command)


def main() -> None:
    """Run the command line; exits 0 done and verified, 1 failed, 2 usage, 130 interrupted."""
    stop = _Stop()
    _fill_standard_streams()
    try:
        cli.main(standalone_mode=False)
    except click.ClickException as exc:
        exc.show()
        sys.exit(exc.exit_code)
    except (click.Abort, KeyboardInterrupt):
        stop.exit()
    except Exception as exc:  # noqa: BLE001 - sorted into one-line errors and real faults there
        if stop.asked:  # a library may wrap the interrupt in an error of its own
            stop.exit()
        _fail(exc)


def _fill_standard_streams() -> None:
    """Open what the caller closed of 0, 1 and 2, lest a video file gets that number and with it
    whatever a library prints."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


class _Stop:
    """Turns SIGINT, SIGTERM and SIGHUP into one KeyboardInterrupt.

    Those that follow within :data:`CLEANUP_S` would only disturb the clean-up.
    """

    def __init__(self) -> None:
        self._asked_s: float | None = None
        for name in SIGNALS:
            number = getattr(signal, name, None)
            # Who ignores a signal on our behalf, as nohup does, means it.
            if number is not None and signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._interrupt)

    @property
    def asked(self) -> bool:
        return self._asked_s is not None

    def exit(self) -> NoReturn:
        for name in SIGNALS:
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), signal.SIG_IGN)
        click.echo("Interrupted; nothing half-written was left behind.", err=True)
        sys.exit(INTERRUPTED)

    def _interrupt(self, _signal: int, _frame: FrameType | None) -> None:
        now_s = time.monotonic()
        if self._asked_s is None or now_s - self._asked_s > CLEANUP_S:
            self._asked_s = now_s
            raise KeyboardInterrupt


def _fail(exc: Exception) -> None:
    from sfumato.stream.errors import SettingsError, SfumatoError

    if isinstance(exc, SfumatoError | OSError | MemoryError):
        reason = _reason(exc)
        click.echo(f"Error: {' '.join(reason.split())}", err=True)
        sys.exit(2 if isinstance(exc, SettingsError) else 1)
    raise exc


def _reason(exc: Exception) -> str:
    if isinstance(exc, FileNotFoundError) and exc.filename:
        return f"{exc.filename}: {exc.strerror or 'no such file'}; check the name"
    if isinstance(exc, OSError) and exc.filename and exc.strerror:
        return f"{exc.filename}: {exc.strerror}"
    if isinstance(exc, MemoryError):
        return "out of memory; use fewer --workers, a smaller --tile, or --scale"
    return str(exc) or type(exc).__name__
