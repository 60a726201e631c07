"""An orderly end on SIGINT, SIGTERM and SIGHUP."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from threading import Event
from types import FrameType
from typing import NoReturn

import click

INTERRUPTED = 130
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
CLEANUP_S = 5.0


class Stop:
    """Turns the first signal into a stop, and does not let others disturb the clean-up.

    While a job runs the signal sets an event that the job looks at between frames: an exception
    raised wherever the interpreter happens to be can leave a lock of the thread pool held for
    ever. Without a job, or :data:`CLEANUP_S` later, it is a KeyboardInterrupt.
    """

    def __init__(self) -> None:
        self._event = Event()
        self._job = False
        self._asked_s: float | None = None

    def listen(self) -> None:
        """Take the signals over."""
        for name in SIGNALS:
            number = getattr(signal, name, None)
            # Who ignores a signal on our behalf, as nohup does, means it.
            if number is not None and signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._interrupt)

    @property
    def asked(self) -> bool:
        """A signal came."""
        return self._asked_s is not None

    @contextmanager
    def job(self) -> Generator[Event, None, None]:
        """Give the event that the job in the ``with`` block should look at."""
        self._job = True
        try:
            yield self._event
        finally:
            self._job = False

    def exit(self) -> NoReturn:
        """Say so and exit with 130."""
        for name in SIGNALS:
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), signal.SIG_IGN)
        click.echo("Interrupted; nothing half-written was left behind.", err=True)
        sys.exit(INTERRUPTED)

    def _interrupt(self, _signal: int, _frame: FrameType | None) -> None:
        now_s = time.monotonic()
        first = self._asked_s is None
        if self._asked_s is not None and now_s - self._asked_s < CLEANUP_S:
            return
        self._asked_s = now_s
        self._event.set()
        if not (first and self._job):
            raise KeyboardInterrupt


pass_stop = click.make_pass_decorator(Stop, ensure=True)
"""Hands the running command its :class:`Stop`."""
