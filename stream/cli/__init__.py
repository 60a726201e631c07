"""The ``sfumato`` command: a thin layer over the library, and the only place that prints."""

from __future__ import annotations

import gc
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy's would spin beside the start-up

import click

from sfumato.stream.cli.bench import bench
from sfumato.stream.cli.demo import demo
from sfumato.stream.cli.doctor import doctor
from sfumato.stream.cli.failure import fail, refuse
from sfumato.stream.cli.live import live
from sfumato.stream.cli.model import model
from sfumato.stream.cli.plan import plan
from sfumato.stream.cli.run import run
from sfumato.stream.cli.serve import serve
from sfumato.stream.cli.stop import Stop


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="sfumato")
def cli() -> None:
    """Paint video on an ordinary CPU, without seams and without flicker."""


for command in (demo, run, live, plan, model, doctor, bench, serve):
    cli.add_command(command)


def main() -> None:
    """Run the command line; exits 0 done and verified, 1 failed, 2 usage, 130 interrupted."""
    stop = Stop()
    stop.listen()
    _fill_standard_streams()
    try:
        cli.main(standalone_mode=False, obj=stop)
    except click.ClickException as exc:
        refuse(exc, cli)
    except (click.Abort, KeyboardInterrupt):
        stop.exit()
    except Exception as exc:  # noqa: BLE001 - sorted into one-line errors and real faults there
        if stop.asked:  # a library may wrap the interrupt in an error of its own
            stop.exit()
        fail(exc)
    finally:
        gc.freeze()  # the process ends: looking for garbage among its modules takes 0.3 s


def _fill_standard_streams() -> None:
    """Open what the caller closed of 0, 1 and 2, lest a video file gets that number and with it
    whatever a library prints."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
