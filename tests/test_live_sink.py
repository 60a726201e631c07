"""Live sinks: nobody waits for a slow one, times are real, and what is missing is said."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from threading import Event

import av
import numpy as np
import pytest

from sfumato.kernels.formats import PixelFormat
from sfumato.stream.errors import SinkError
from sfumato.stream.frame import Frame
from sfumato.stream.live.broadcast import Broadcast
from sfumato.stream.live.controls import Controls
from sfumato.stream.live.fit import Fit
from sfumato.stream.live.mark import held
from sfumato.stream.live.outlet import LiveSink, Outlet
from sfumato.stream.live.painter import LivePainter, Painted
from sfumato.stream.live.settings import LiveSettings
from sfumato.stream.live.sinks import FileLive, NullLive
from sfumato.stream.live.virtual import VirtualCamera
from sfumato.stream.settings import PaintSettings
from tests.live import Viewer, wait_for

PIXELS = PixelFormat()


def picture(
    number: int = 0, size_px: tuple[int, int] = (96, 64), pixels: PixelFormat = PIXELS
) -> Painted:
    shapes = pixels.plane_shapes(*size_px)
    rng = np.random.default_rng(number)
    planes = tuple(rng.integers(16, 235, shape).astype(np.uint8) for shape in shapes)
    frame = Frame(planes, pixels, number, Fraction(1, 30))
    return Painted(frame, frame, 100 + number / 30, 100 + number / 30)


def feed(outlet: Outlet, numbers: range, make: Callable[[int], Painted] = picture) -> None:
    """Show pictures one by one, each only when the one before has been taken."""
    for number in numbers:
        seen = outlet.ages.shown
        outlet.show(make(number))
        wait_for(lambda before=seen: outlet.ages.shown > before, "the sink")  # type: ignore[misc]


def test_a_recording_has_real_times(tmp_path: Path) -> None:
    target = tmp_path / "out.mp4"
    outlet = Outlet(FileLive(str(target)))
    feed(outlet, range(0, 20, 4))
    outlet.close()
    with av.open(str(target)) as container:
        video = container.streams.video[0]
        times = [float(f.time or 0) for f in container.decode(video)]
    assert times == pytest.approx([number / 30 for number in range(0, 20, 4)], abs=1e-4)
    assert outlet.dropped == 0


def test_a_recording_keeps_its_first_size(tmp_path: Path) -> None:
    target = tmp_path / "out.mkv"
    outlet = Outlet(FileLive(str(target)))
    feed(outlet, range(2))
    feed(outlet, range(2, 4), lambda number: picture(number, (130, 90)))
    feed(outlet, range(4, 6), lambda n: picture(n, (96, 64), PixelFormat("444", 8, "bt601", True)))
    outlet.close()
    with av.open(str(target)) as container:
        assert {(f.width, f.height) for f in container.decode(video=0)} == {(96, 64)}


def test_an_aborted_recording_keeps_what_there_is(tmp_path: Path) -> None:
    sink = FileLive(str(tmp_path / "out.mp4"))
    for number in range(2):
        sink.show(picture(number))
    sink.abort()
    (left,) = tmp_path.iterdir()
    assert left.name == f"out.recording-{os.getpid()}.mp4"
    with av.open(str(left)) as container:
        assert sum(1 for _ in container.decode(video=0)) == 2


def test_what_cannot_be_recorded_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "there.mp4").write_bytes(b"mine")
    with pytest.raises(SinkError, match="exists; use --overwrite"):
        FileLive(str(tmp_path / "there.mp4"))
    outlet = Outlet(FileLive(str(tmp_path / "never.mp4")))
    with pytest.raises(SinkError, match="no picture came"):
        outlet.close()


def test_nobody_waits_for_a_slow_sink() -> None:
    class Slow(NullLive):
        def __init__(self) -> None:
            self.go, self.seen = Event(), list[int]()

        def show(self, picture: Painted) -> None:
            self.go.wait()
            self.seen.append(picture.frame.pts)

    slow = Slow()
    outlet = Outlet(slow)
    started_s = time.monotonic()
    for number in range(200):
        outlet.show(picture(number))
    assert time.monotonic() - started_s < 5
    slow.go.set()
    outlet.close()
    assert slow.seen == sorted(slow.seen) and slow.seen[-1] == 199
    assert outlet.dropped == 200 - len(slow.seen)


def test_a_sink_that_fails_is_heard_of() -> None:
    class Broken(NullLive):
        def show(self, picture: Painted) -> None:
            raise SinkError("the cable is out")

    outlet = Outlet(Broken())
    outlet.show(picture())
    wait_for(lambda: outlet.ended, "the end")
    with pytest.raises(SinkError, match="cable"):
        outlet.show(picture())


def test_a_stream_arrives() -> None:
    with Viewer() as viewer:
        outlet = Outlet(Broadcast(viewer.address, fps=30))
        feed(outlet, range(10))
        wait_for(lambda: viewer.received_bytes > 1000, "the stream")
        outlet.close()
    assert viewer.connections == 1 and not outlet.warnings


def test_a_viewer_that_stops_reading() -> None:
    with Viewer(reads=False) as viewer:
        broadcast = Broadcast(viewer.address, fps=30, write_timeout_s=0.3)
        outlet = Outlet(broadcast)
        big = picture(1, (640, 480))
        started_s, number = time.monotonic(), 0
        while not broadcast.lost and time.monotonic() - started_s < 20:
            number += 1
            outlet.show(big)  # never waits
            time.sleep(0.005)
        outlet.close()
    assert broadcast.lost and outlet.dropped
    assert "broke off" in outlet.warnings[0]


def test_a_stream_into_a_folder(tmp_path: Path) -> None:
    outlet = Outlet(Broadcast(f"{tmp_path}/hls/", fps=30))
    feed(outlet, range(10))
    outlet.close()
    assert "#EXTM3U" in (tmp_path / "hls" / "live.m3u8").read_text()
    with pytest.raises(SinkError, match=r"live\.m3u8 exists; use --overwrite"):
        Broadcast(f"{tmp_path}/hls/", fps=30)


def test_late_viewers_wait_two_seconds_however_few_pictures_come(tmp_path: Path) -> None:
    outlet = Outlet(Broadcast(f"{tmp_path}/", fps=30))
    feed(outlet, range(0, 270, 15))  # two pictures a second, for nine
    outlet.close()
    lengths_s = [
        float(line.removeprefix("#EXTINF:").rstrip(","))
        for line in (tmp_path / "live.m3u8").read_text().splitlines()
        if line.startswith("#EXTINF")
    ]
    assert lengths_s[:4] == pytest.approx([2.0] * 4, abs=0.01) and sum(lengths_s) >= 8.5


def test_a_folder_on_a_full_disk_is_one_clear_line(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    sink = Broadcast(f"{tmp_path}/hls/", fps=30)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(SinkError, match=r"cannot write into .*/hls/: the file grew beyond"):
            for number in range(90):
                sink.show(picture(number, (320, 240)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_folder_that_vanishes_is_one_clear_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "hls"
    sink = Broadcast(f"{folder}/", fps=30)
    sink.show(picture())
    shutil.rmtree(folder)
    with pytest.raises(SinkError, match=r"cannot write into .*/hls/: .*"):
        for number in range(0, 300, 15):
            sink.show(picture(number))
    assert capfd.readouterr().err == ""


def test_streams_that_cannot_begin() -> None:
    with pytest.raises(SinkError, match="nope is not known; use rtmp"):
        Broadcast("nope://x", fps=30)
    outlet = Outlet(Broadcast("tcp://127.0.0.1:9", fps=30))
    outlet.show(picture())
    wait_for(lambda: outlet.ended, "the end")
    with pytest.raises(SinkError, match=r"cannot send to tcp://127.0.0.1:9: Connection refused"):
        outlet.close()


def test_no_driver_for_a_virtual_camera() -> None:
    pytest.importorskip("pyvirtualcam")
    if any(Path("/dev").glob("video*")):
        pytest.skip("this machine has video devices")
    sink: LiveSink = VirtualCamera(30)
    with pytest.raises(SinkError, match=r"modprobe v4l2loopback|OBS"):
        sink.show(picture())


def test_the_sign_of_a_held_picture() -> None:
    before = picture().frame
    after = held(before)
    changed = before.planes[0] != after.planes[0]
    assert 0 < changed.mean() < 0.05
    assert held(picture(size_px=(4, 4)).frame).planes[0].shape == (4, 4)


def test_fit_leaves_what_fits() -> None:
    given = picture().frame
    assert Fit((96, 64), PIXELS)(given) is given
    other = Fit((50, 40), PixelFormat("420", 8, "bt601", True))(given)
    assert other.planes[0].shape == (40, 50) and other.pixels.full_range


def test_keys(tmp_path: Path) -> None:
    said: list[str] = []
    settings = LiveSettings(paint=PaintSettings(style="scream"))
    with LivePainter(settings) as painter:
        controls = Controls(
            painter, record=lambda: "recording", leave=lambda: said.append("left"), folder=tmp_path
        )
        assert controls.press("right", None) == "style toon"
        assert controls.press("left", None) == "style scream"
        assert controls.press("down", None) == "strength 0.9"
        assert painter.settings.paint.strength == 0.9
        assert controls.press("s", None) == "scale 1"
        assert painter.settings.scale == 1.0
        assert controls.press("m", None) == "smoothing 0.5"
        assert controls.press("r", None) == "recording"
        assert controls.press("c", None) == "there is no picture yet"
        message = controls.press("c", picture())
        assert message is not None and len(list(tmp_path.glob("sfumato-*.png"))) == 1
        assert controls.press("x", None) is None
        controls.press("q", None)
        assert said == ["left"]
