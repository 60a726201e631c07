"""Engines in the background: those that nobody waits for are not begun, and few are held."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from sfumato.kernels.formats import PixelFormat
from sfumato.stream.frame import Frame
from sfumato.stream.live.engine import EngineKey
from sfumato.stream.live.engines import KEPT, Engines
from sfumato.stream.report import StageTimes
from sfumato.stream.settings import PaintSettings
from tests.live import wait_for

PIXELS = PixelFormat()
FRAME = Frame(
    tuple(np.zeros(shape, np.uint8) for shape in PIXELS.plane_shapes(64, 48)),
    PIXELS,
    0,
    Fraction(1, 30),
)


def key(scale: float) -> EngineKey:
    return EngineKey(64, 48, PIXELS, PaintSettings(style="identity", smooth=0, scale=scale), 1)


def choose(engines: Engines, scale: float) -> bool:
    """Ask for an engine; whether it paints now."""
    engine = engines.choose(key(scale), FRAME, lambda: False)
    assert len(engines._engines) <= KEPT
    return engine is not None and engine.key == key(scale)


@pytest.fixture
def engines() -> Iterator[Engines]:
    engines = Engines(StageTimes())
    yield engines
    engines.close()


def test_engines_that_nobody_waits_for_are_not_made(engines: Engines) -> None:
    assert choose(engines, 1.0)
    go = threading.Event()
    engines._builder.submit(go.wait)
    for scale in (0.9, 0.8, 0.7):
        assert not choose(engines, scale)
    passed = [engines._engines.get(key(scale)) for scale in (0.9, 0.8)]
    go.set()
    wait_for(lambda: choose(engines, 0.7), "the last one asked for")
    assert passed == [None, None] and list(engines._engines) == [key(1.0), key(0.7)]


def test_few_engines_are_held_and_all_are_closed() -> None:
    before = threading.active_count()
    engines = Engines(StageTimes())
    for scale in (1.0, 0.9, 0.8, 0.7, 0.6):
        wait_for(lambda scale=scale: choose(engines, scale), "an engine")  # type: ignore[misc]
    go = threading.Event()
    engines._builder.submit(go.wait)
    assert not choose(engines, 0.5)  # one more is to be closed, behind what the thread does
    threading.Timer(0.1, go.set).start()
    engines.close()
    wait_for(lambda: threading.active_count() == before, "the workers of all engines to leave")
