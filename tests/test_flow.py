"""Frames between threads: order, bounds, and every way to end early."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import count, islice

import pytest

from sfumato.stream.errors import Stopped
from sfumato.stream.flow import _JOIN_S, prefetch, timed


def failing_after(good: int) -> Iterator[int]:
    yield from range(good)
    raise RuntimeError("source died")


def test_items_come_in_order() -> None:
    assert list(prefetch(range(200), 3, "t")) == list(range(200))


def test_source_error_comes_after_the_items_before_it() -> None:
    seen: list[int] = []
    with pytest.raises(RuntimeError, match="source died"):
        for item in prefetch(failing_after(5), 2, "t"):
            seen += [item]
    assert seen == list(range(5))


def test_early_close_stops_an_endless_source_and_joins() -> None:
    before = threading.active_count()
    with closing(prefetch(count(), 2, "t")) as items:
        assert list(islice(items, 3)) == [0, 1, 2]
    assert threading.active_count() == before


def test_look_ahead_is_bounded() -> None:
    made: list[int] = []

    def source() -> Iterator[int]:
        for i in range(100):
            made.append(i)
            yield i

    with closing(prefetch(source(), 3, "t")) as items:
        next(items)
        time.sleep(0.1)
        assert len(made) <= 1 + 3 + 1  # taken, queued, and the one waiting to be queued


def test_never_started_leaves_no_thread() -> None:
    before = threading.active_count()
    prefetch(count(), 2, "t").close()
    assert threading.active_count() == before


def test_timed_adds_up_waiting() -> None:
    def slow() -> Iterator[int]:
        for i in range(3):
            time.sleep(0.01)
            yield i

    seconds: list[float] = []
    assert list(timed(slow(), seconds.append)) == [0, 1, 2]
    assert len(seconds) == 3 and min(seconds) >= 0.009


def test_stop_is_noticed_while_the_source_is_silent() -> None:
    stop, silent = threading.Event(), threading.Event()

    def source() -> Iterator[int]:
        yield 1
        silent.wait()

    items = prefetch(source(), 2, "t", stop)
    assert next(items) == 1
    threading.Timer(0.1, stop.set).start()
    threading.Timer(0.3, silent.set).start()  # lets the producer end, so that it can be joined
    with pytest.raises(Stopped):
        next(items)


def test_who_stops_does_not_wait_for_a_silent_source() -> None:
    stop, silent = threading.Event(), threading.Event()

    def source() -> Iterator[int]:
        yield 1
        silent.wait(_JOIN_S)

    items = prefetch(source(), 2, "silent", stop)
    assert next(items) == 1
    stop.set()
    with pytest.raises(Stopped):
        next(items)
    (left,) = [thread for thread in threading.enumerate() if thread.name == "silent"]
    silent.set()
    left.join()
