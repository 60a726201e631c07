"""The engine of live runs: newest wins, order is kept, styles and sizes change without a gap."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from sfumato.kernels.formats import PixelFormat
from sfumato.models.spec import StyleSpec
from sfumato.stream.errors import SettingsError, StyleError
from sfumato.stream.frame import Frame
from sfumato.stream.live.beat import Beat
from sfumato.stream.live.levels import Level, levels_for
from sfumato.stream.live.painter import LivePainter, Painted
from sfumato.stream.live.settings import LiveSettings
from sfumato.stream.settings import PaintSettings
from tests.networks import save_cell_net
from tests.test_session import with_spec_text

PIXELS = PixelFormat()
PATIENCE_S = 20.0


def frame(number: int = 0, size_px: tuple[int, int] = (96, 64), luma: int = 90) -> Frame:
    shapes = PIXELS.plane_shapes(*size_px)
    planes = tuple(np.full(shape, luma, np.uint8) for shape in shapes)
    return Frame(planes, PIXELS, number, Fraction(1, 1000))


def settings(style: str = "identity", **changes: float) -> LiveSettings:
    return LiveSettings(paint=PaintSettings(style=style, smooth=0, **changes), max_age_ms=10_000)  # type: ignore[arg-type]


@pytest.fixture
def painter() -> Iterator[LivePainter]:
    with LivePainter(settings()) as painter:
        yield painter


CAPTURES_S = itertools.count(time.monotonic(), 0.05)
"""When frames are said to be taken: not so fast that some are over the frame rate."""


def paint(painter: LivePainter, given: Frame) -> Painted:
    painter.offer(given, next(CAPTURES_S))
    painted = painter.take(PATIENCE_S)
    assert painted is not None
    return painted


def test_a_frame_comes_back_painted_with_its_times(painter: LivePainter) -> None:
    captured_s = time.monotonic()
    given = frame(7)
    painter.offer(given, captured_s)
    painted = painter.take(PATIENCE_S)
    assert painted is not None
    assert painted.source is given and painted.frame.pts == 7
    assert painted.captured_s == captured_s <= painted.painted_s <= time.monotonic()
    for before, after in zip(given.planes, painted.frame.planes, strict=True):
        np.testing.assert_allclose(before, after, atol=1)


@pytest.mark.parametrize("source_fps", [10.0, 12.0, 24.0, 25.0, 30.0, 60.0, 240.0])
def test_the_beat_is_the_one_asked_for(source_fps: float) -> None:
    beat = Beat()
    admitted = [beat.admits(5 + n / source_fps, 0.1) for n in range(int(20 * source_fps))]
    assert abs(sum(admitted) - 200) <= 2


def test_nothing_offered_is_nothing_taken(painter: LivePainter) -> None:
    assert painter.take(0.01) is None
    stats = painter.stats()
    assert stats.shown == 0 and stats.fps == 0 and stats.age_ms.max == 0


def test_the_newest_wins_and_order_is_kept(painter: LivePainter) -> None:
    paint(painter, frame())
    for number in range(1, 101):
        painter.offer(frame(number), next(CAPTURES_S))
    taken = []
    while (painted := painter.take(1.0)) is not None:
        taken.append(painted.frame.pts)
        if painted.frame.pts == 100:
            break
    assert taken == sorted(taken) and taken[-1] == 100
    stats = painter.stats()
    assert stats.shown == 1 + len(taken)
    assert sum(stats.dropped.values()) == 101 - stats.shown
    assert set(stats.dropped) <= {"painter busy", "viewer busy", "preparing"}


def test_pictures_may_be_kept(painter: LivePainter) -> None:
    first = paint(painter, frame(1, luma=40))
    kept = first.frame.planes[0].copy()
    paint(painter, frame(2, luma=200))
    np.testing.assert_array_equal(first.frame.planes[0], kept)


def test_another_size_or_format_in_mid_stream(painter: LivePainter) -> None:
    paint(painter, frame(1))
    assert paint(painter, frame(2, (130, 90))).frame.width_px == 130
    grey = PixelFormat(chroma="grey", full_range=True)
    painted = paint(painter, Frame((np.zeros((50, 70), np.uint8),), grey, 3, Fraction(1)))
    assert painted.frame.pixels == replace(grey, chroma="420") and painted.frame.height_px == 50


def test_grey_is_painted_in_colours() -> None:
    """As files are; with less strength its own grey shows through."""
    pixels = PixelFormat(chroma="grey", bits=10)
    luma = np.random.default_rng(5).integers(64, 940, (64, 96)).astype(np.uint16)
    given = Frame((luma,), pixels, 0, Fraction(1))
    chroma = []
    with LivePainter(settings("oil")) as painter:
        for strength in (1.0, 0.5, 0.0):
            painter.switch(strength=strength)
            painted = paint(painter, given).frame
            assert painted.pixels == replace(pixels, chroma="420")
            chroma.append(np.abs(painted.planes[1].astype(int) - 512).max())
    np.testing.assert_array_equal(painted.planes[0], luma)
    assert chroma[0] > 50 and 0 < chroma[1] < chroma[0] and chroma[2] == 0


def test_strength_acts_at_once() -> None:
    with LivePainter(settings("toon")) as painter:
        noise = np.random.default_rng(3).integers(0, 256, (64, 96), dtype=np.uint8)
        given = Frame((noise, *frame().planes[1:]), PIXELS, 0, Fraction(1))
        assert (paint(painter, given).frame.planes[0] != noise).mean() > 0.5
        painter.switch(strength=0.0)
        np.testing.assert_array_equal(paint(painter, given).frame.planes[0], noise)


def test_styles_change_without_a_gap() -> None:
    with LivePainter(settings("identity")) as painter:
        grey = frame(luma=90)
        before = paint(painter, grey).frame.planes[0].mean()
        painter.switch(style="toon")
        means = [before] * 9
        while painter.stats().style != "toon" or means[-1] != means[-9]:
            means.append(paint(painter, grey).frame.planes[0].mean())  # every frame is answered
        after = means[-1]
        assert abs(after - before) > 1  # the style does something to grey
        steps = np.abs(np.diff(means))
        assert steps.max() < abs(after - before) * 0.5  # it fades, it does not jump


@pytest.fixture
def broken(tmp_path: Path) -> str:
    """A style that can be found, but not loaded."""
    save_cell_net(tmp_path / "broken.onnx")
    spec = StyleSpec(name="broken", dtype="float32", cell=4, multiple=4)
    return str(with_spec_text(tmp_path / "broken.onnx", spec.to_json()))


def test_a_style_that_fails_leaves_what_was_asked_for_before(broken: str) -> None:
    """The scale too, which the governor goes on to choose."""
    with LivePainter(settings("toon")) as painter:
        paint(painter, frame())
        painter.switch(style=broken, strength=0.5)
        painter.switch(smooth=1.0)
        while not painter.stats().changes:
            paint(painter, frame())
        (change,) = painter.stats().changes
        assert change.text.startswith("stays with toon: ")
        assert painter.settings == settings("toon", strength=0.5)
        assert painter._governor._levels == levels_for("toon")


def test_a_way_of_painting_that_fails_is_not_chosen_again(broken: str) -> None:
    with LivePainter(settings()) as painter:
        paint(painter, frame())
        good = levels_for("identity", 1.0)[:1]
        with painter._lock:
            painter._governor.use([Level(broken, 1.0, 9.0), *good])
        while not painter.stats().changes:
            paint(painter, frame())
        assert painter._governor._levels == good and painter.settings == settings()
        paint(painter, frame())
        assert len(painter.stats().changes) == 1


def test_a_style_that_is_not_there() -> None:
    with pytest.raises(StyleError, match=r"no style 'tune'.*toon"):
        LivePainter(settings("tune"))
    with LivePainter(settings()) as painter:
        with pytest.raises(StyleError, match="no style 'tune'"):
            painter.switch(style="tune")
        with pytest.raises(SettingsError, match="--strength 2"):
            painter.switch(strength=2)
        paint(painter, frame())


def test_closing_twice_and_taking_after() -> None:
    painter = LivePainter(settings())
    painter.offer(frame(), time.monotonic())
    painter.close()
    painter.close()
    painter.offer(frame(), time.monotonic())
    while painter.take(0.0) is not None:
        pass


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"max_age_ms": 1}, "--max-age 1"), ({"fps": 0.1}, "--fps 0.1"), ({"scale": 7}, "--scale 7")],
)
def test_settings_that_make_no_sense(changes: dict[str, float], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        LiveSettings(**changes)  # type: ignore[arg-type]
