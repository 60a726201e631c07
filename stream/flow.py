"""Move frames between threads: bounded, in order, and never hanging on an error."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from queue import Empty, Full, Queue
from threading import Event, Thread
from time import perf_counter
from typing import Any, TypeVar

from sfumato.stream.errors import Stopped

T = TypeVar("T")

_POLL_S = 0.05
"""How soon a blocked producer notices that its consumer has left, and a consumer that it is to stop."""

_JOIN_S = 5.0
"""How long to wait for a producer on the way out: a read from a silent pipe may never return."""

_STOPPED_JOIN_S = 0.5
"""The same where somebody waits for the program to end."""


class _Done:
    """Last item on the queue: the producer ended, with or without an error."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


class Depth:
    """How many items of a :func:`prefetch` may wait; can be lowered while they flow."""

    def __init__(self, items: int) -> None:
        self.queue: Queue[Any] = Queue(max(1, items))  # 0 would mean "no limit"

    def shrink(self, items: int) -> None:
        """Let no more than so many wait from now on; those that do are still taken."""
        with self.queue.mutex:
            self.queue.maxsize = max(1, min(items, self.queue.maxsize))


def prefetch(
    items: Iterable[T], depth: int | Depth, name: str, stop: Event | None = None
) -> Generator[T, None, None]:
    """Yield ``items`` in order while one thread, called ``name``, works up to ``depth`` ahead.

    An error of the producer is raised here, after the items that came before it. Raises
    :class:`Stopped` soon after ``stop`` is set. Close the generator (``contextlib.closing``) to
    leave early: the thread is joined, unless it is stuck in a read that does not return.
    """
    queue: Queue[T | _Done] = (depth if isinstance(depth, Depth) else Depth(depth)).queue
    left = Event()

    def put(item: T | _Done) -> bool:
        while not left.is_set():
            with suppress(Full):
                queue.put(item, timeout=_POLL_S)
                return True
        return False

    def produce() -> None:
        error: BaseException | None = None
        try:
            for item in items:
                if not put(item):
                    return
        except BaseException as exc:  # noqa: BLE001 - handed to the consumer, which raises it
            error = exc
        put(_Done(error))

    def take() -> T | _Done:
        while stop is None or not stop.is_set():
            with suppress(Empty):
                return queue.get(timeout=_POLL_S)
        raise Stopped("stopped as asked")

    thread = Thread(target=produce, name=name, daemon=True)
    thread.start()
    try:
        while not isinstance(item := take(), _Done):
            yield item
        if item.error is not None:
            raise item.error
    finally:
        left.set()
        thread.join(_JOIN_S if stop is None or not stop.is_set() else _STOPPED_JOIN_S)


def heed(stop: Event | None) -> None:
    """Raise :class:`Stopped` if ``stop`` is set: to call between two things that take long."""
    if stop is not None and stop.is_set():
        raise Stopped("stopped as asked")


def timed(items: Iterable[T], add: Callable[[float], None]) -> Generator[T, None, None]:
    """Yield ``items`` and tell ``add`` how many seconds each took to come."""
    source = iter(items)
    while True:
        started = perf_counter()
        try:
            item = next(source)
        except StopIteration:
            return
        add(perf_counter() - started)
        yield item
