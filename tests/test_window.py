"""The window, on SDL's driver without a screen."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import av
import numpy as np
import pytest

from sfumato.stream.errors import SinkError
from sfumato.stream.live.inputs import find_input
from sfumato.stream.live.run import LiveRun
from sfumato.stream.live.session import Session
from sfumato.stream.live.settings import LiveSettings
from sfumato.stream.live.sinks import NullLive
from sfumato.stream.live.window import SCREENS, Window, fitted
from sfumato.stream.settings import PaintSettings
from tests.test_live_sink import picture

pygame = pytest.importorskip("pygame")


@pytest.fixture
def window(monkeypatch: pytest.MonkeyPatch) -> Iterator[Window]:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    window = Window()
    yield window
    window.close()


def press(key: int) -> None:
    pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=key))


def screen() -> np.ndarray:
    pixels = pygame.surfarray.array3d(pygame.display.get_surface())
    return np.asarray(pixels).swapaxes(0, 1)


def test_pictures_of_any_size_are_shown(window: Window) -> None:
    for size in ((96, 64), (64, 96)):
        window.show(picture(size_px=size), [])
        assert screen().shape == (size[1], size[0], 3)
    assert window.ages.shown == 2


def test_a_resized_window_keeps_the_shape() -> None:
    assert fitted((1280, 720), (1280, 720)) == (0, 0, 1280, 720)
    assert fitted((1280, 720), (640, 720)) == (0, 180, 640, 360)
    assert fitted((100, 100), (300, 200)) == (50, 0, 200, 200)
    assert fitted((100, 100), (300, 200), grow=False) == (100, 50, 100, 100)


def test_source_and_result_side_by_side(window: Window) -> None:
    window.show(picture(), [])
    press(pygame.K_b)
    assert window.pressed() == []
    window.show(picture(), [])
    assert screen().shape == (64, 96, 3)
    press(pygame.K_b)
    assert window.pressed() == []
    window.show(picture(), [])
    assert screen().shape == (64, 192, 3)


def test_the_line_follows_the_mouse(window: Window) -> None:
    window.view = "split"
    window.show(picture(), [])
    down = {"button": 1, "pos": (24, 10)}
    pygame.event.post(pygame.event.Event(pygame.MOUSEBUTTONDOWN, down))
    window.pressed()
    assert window.split == pytest.approx(0.25)
    window.show(picture(), [])
    assert (screen()[:, 24] == 255).all()
    pygame.event.post(pygame.event.Event(pygame.MOUSEBUTTONUP, button=1, pos=(24, 10)))
    pygame.event.post(
        pygame.event.Event(pygame.MOUSEMOTION, pos=(80, 10), rel=(0, 0), buttons=(0, 0, 0))
    )
    window.pressed()
    assert window.split == pytest.approx(0.25)


def test_keys_and_the_close_button(window: Window) -> None:
    window.show(picture(), ["30 fps"])
    for key in (pygame.K_s, pygame.K_LEFT, pygame.K_h, pygame.K_o):
        press(key)
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    assert window.pressed() == ["s", "left", "q"]
    window.show(picture(size_px=(640, 360)), ["30 fps"])  # with help, without figures


def test_no_screen(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    for name in SCREENS:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SinkError, match=r"no window can be opened.*--sink"):
        Window()
    assert capfd.readouterr().err == ""


def test_a_session_by_keys(window: Window, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Record, end the recording, take a snapshot, quit: two files, both whole."""
    monkeypatch.chdir(tmp_path)
    keys = iter([pygame.K_r, pygame.K_r, pygame.K_c, pygame.K_b, pygame.K_RIGHT, pygame.K_q])
    said: list[str] = []
    settings = LiveSettings(paint=PaintSettings(style="identity"), max_age_ms=5000)
    source = find_input("lavfi:testsrc2=size=96x64:rate=30")

    def show(_: list[str]) -> None:
        if window.ages.shown and (key := next(keys, None)) is not None:
            press(key)

    with LiveRun(source, settings) as run:
        report = Session(run, [NullLive()], window, show=show, say=said.append).play("test")
    assert report.sink == "window null" and report.frames_out == window.ages.shown > 0
    assert [line.split()[0] for line in said[:2]] == ["recording", "finishing"]
    assert any(line.startswith("recorded") for line in said)
    (film,), (snapshot,) = tmp_path.glob("*.mp4"), tmp_path.glob("*.png")
    with av.open(str(film)) as container:
        assert sum(1 for _ in container.decode(video=0)) > 0
    with av.open(str(snapshot)) as container:
        assert next(container.decode(video=0)).width == 96


@pytest.mark.parametrize("stops", [[pygame.K_r, pygame.K_q], [pygame.K_q]])
def test_a_recording_of_nothing_ends_no_show(
    window: Window, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stops: list[int]
) -> None:
    """Ended before a picture came, by its key or with the run: that is said, and no more."""
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    settings = LiveSettings(paint=PaintSettings(style="identity"), max_age_ms=5000)

    def show(_: list[str]) -> None:
        if any("would be empty" in line for line in said):
            press(pygame.K_q)
        elif window.ages.shown and not said:
            for key in (pygame.K_r, *stops):
                press(key)

    with LiveRun(find_input("lavfi:testsrc2=size=96x64:rate=2"), settings) as run:
        Session(run, [], window, show=show, say=said.append).play("test")
    assert said[-1].endswith("would be empty: no picture came") and not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="the working folder goes away")
def test_a_recording_that_fails_ends_no_show(
    window: Window, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    settings = LiveSettings(paint=PaintSettings(style="identity"), max_age_ms=5000)

    def say(line: str) -> None:
        said.append(line)
        if line.startswith("recording"):
            tmp_path.rmdir()

    def show(_: list[str]) -> None:
        if len(said) > 1:
            press(pygame.K_q)
        elif window.ages.shown and not said:
            press(pygame.K_r)

    with LiveRun(find_input("lavfi:testsrc2=size=96x64:rate=30"), settings) as run:
        report = Session(run, [], window, show=show, say=say).play("test")
    assert "cannot write" in said[1] and report.frames_out == window.ages.shown > 0
