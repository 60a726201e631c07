"""Engines for what is wanted now, made in the background while the present one goes on."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from threading import Event

from sfumato.stream.errors import SfumatoError
from sfumato.stream.frame import Frame
from sfumato.stream.live.engine import Engine, EngineKey
from sfumato.stream.report import StageTimes

KEPT = 3
"""Engines that stay: the one in use, the one before, and the next one."""

LOOK_S = 0.1
"""How often someone who waits for an engine looks whether it is still wanted."""


class Engines:
    """Makes engines on a thread of its own and keeps the :data:`KEPT` last wanted ones.

    Used from one thread; who opens it closes it.
    """

    def __init__(self, times: StageTimes, note: Callable[[str], None] = lambda _: None) -> None:
        self.present: Engine | None = None
        """What paints now."""
        self._times, self._note = times, note
        self._closing = Event()
        self._builder = ThreadPoolExecutor(1, thread_name_prefix="prepare")
        self._engines: OrderedDict[EngineKey, Future[Engine]] = OrderedDict()

    def choose(self, key: EngineKey, frame: Frame, given_up: Callable[[], bool]) -> Engine | None:
        """The engine for ``key`` once it is made, until then the present one.

        Where the present one cannot paint the frame this waits; None once ``given_up`` is true.
        Raises :class:`SfumatoError` where the engine cannot be made; asked again, it tries again.
        """
        present = self.present
        self._cancel_all_but(key)
        if present is not None and present.key == key:
            return present
        if key not in self._engines:
            note = self._note if present is None else lambda _: None  # nobody waits for others
            self._engines[key] = self._builder.submit(Engine, key, self._times, note, self._closing)
            self._let_go()
        made = self._engines[key]
        if not made.done() and present is not None and present.key.fits(frame):
            return present
        try:
            while not given_up():
                with suppress(NotYet):
                    return self._take(key, made.result(timeout=LOOK_S))
        except SfumatoError:
            del self._engines[key]
            raise
        return None

    def close(self) -> None:
        """Close all engines; one that is being made is given up."""
        self._closing.set()
        for made in self._engines.values():
            made.cancel()
        self._builder.shutdown()
        for made in self._engines.values():
            _close(made)
        self._engines.clear()

    def _take(self, key: EngineKey, engine: Engine) -> Engine:
        """Use an engine from now on."""
        self.present = engine
        self._engines.move_to_end(key)
        return engine

    def _cancel_all_but(self, key: EngineKey) -> None:
        """Engines that nobody waits for any more need not be begun."""
        for other in [*self._engines]:
            if other != key and self._engines[other].cancel():
                del self._engines[other]

    def _let_go(self) -> None:
        """Close what was wanted longest ago, but never what paints."""
        idle = [key for key in self._engines if self.present is None or key != self.present.key]
        for key in idle[: -(KEPT - 1)]:
            self._builder.submit(_close, self._engines.pop(key))


def _close(made: Future[Engine]) -> None:
    if not made.cancelled() and made.exception() is None:
        made.result().close()
