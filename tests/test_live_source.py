"""Live sources: they stall, go away, come back, change size, and never take the run with them."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import av
import pytest
from av.container import InputContainer

from sfumato.stream.errors import SourceError, Stopped
from sfumato.stream.frame import Frame
from sfumato.stream.live.cameras import Camera, refused
from sfumato.stream.live.clock import ArrivalClock, PacedClock
from sfumato.stream.live.inputs import Input, find_input
from sfumato.stream.live.reader import LiveReader, Patience
from sfumato.stream.live.run import LiveRun
from sfumato.stream.live.settings import LiveSettings
from sfumato.stream.settings import PaintSettings
from tests.live import TsServer, wait_for
from tests.media import make_clip

SHORT = Patience(stall_s=0.4, give_up_s=1.5, first_wait_s=0.05, longest_wait_s=0.2)


class Taken:
    """Remembers what a reader hands over."""

    def __init__(self) -> None:
        self.frames: list[tuple[Frame, float]] = []
        self.notes: list[str] = []

    def __call__(self, frame: Frame, captured_s: float) -> None:
        self.frames.append((frame, captured_s))

    @property
    def sizes(self) -> list[tuple[int, int]]:
        return [(frame.width_px, frame.height_px) for frame, _ in self.frames]


@pytest.fixture
def server() -> Iterator[TsServer]:
    with TsServer() as server:
        yield server


def reader(source: str, taken: Taken, patience: Patience = SHORT) -> LiveReader:
    return LiveReader(find_input(source), taken, patience, note=taken.notes.append)


def test_a_server_stalls_and_resumes(server: TsServer) -> None:
    taken = Taken()
    with reader(server.address, taken, Patience(stall_s=0.3, give_up_s=10)) as reading:
        reading.start()
        wait_for(lambda: len(taken.frames) > 5, "frames")
        server.silent.set()
        wait_for(lambda: reading.state == "stalled", "the stall to be noticed")
        server.silent.clear()
        wait_for(lambda: reading.state == "playing", "frames after the stall")
        assert reading.reconnects == 0 and server.connections == 1
        server.hang_up()


def test_a_silent_server_is_left_and_called_again(server: TsServer) -> None:
    taken = Taken()
    with reader(server.address, taken) as reading:
        reading.start()
        server.silent.set()
        wait_for(lambda: reading.state == "reconnecting", "the reader to give up")
        server.hang_up()
        server.silent.clear()
        wait_for(lambda: reading.reconnects == 1 or reading.state == "playing", "a reconnection")
        before = len(taken.frames)
        wait_for(lambda: len(taken.frames) > before, "frames of the new connection")
        assert server.connections >= 2
        server.hang_up()
    assert any("anew" in note for note in taken.notes)


def test_a_server_closes_and_comes_back(server: TsServer) -> None:
    taken = Taken()
    with reader(server.address, taken) as reading:
        reading.start()
        for connections in (2, 3):
            server.hang_up()
            wait_for(lambda n=connections: server.connections >= n, "another connection")  # type: ignore[misc]
            before = len(taken.frames)
            wait_for(lambda n=before: len(taken.frames) > n + 2, "frames after it")  # type: ignore[misc]
        server.hang_up()
    assert reading.reconnects >= 2 and "opened anew" in reading.warnings()[0]


def test_another_resolution_in_mid_stream(server: TsServer) -> None:
    settings = LiveSettings(paint=PaintSettings(style="identity", smooth=0), max_age_ms=10_000)
    widths = []
    with LiveRun(find_input(server.address), settings, patience=SHORT) as run:
        for picture in run.pictures():
            if picture is not None and not picture.held:
                widths.append(picture.frame.width_px)
                server.size_px = (128, 80)
            if widths[-1:] == [128]:
                break
        server.hang_up()
    assert widths[0] == 96 and widths[-1] == 128


def test_the_last_picture_is_held_with_a_mark(server: TsServer) -> None:
    settings = LiveSettings(paint=PaintSettings(style="identity", smooth=0), max_age_ms=10_000)
    with LiveRun(find_input(server.address), settings, patience=SHORT) as run:
        shown = []
        for picture in run.pictures():
            if picture is not None:
                shown.append(picture)
                server.silent.set()
                if picture.held:
                    break
        last, picture = shown[-2:]
        assert picture.frame.planes[0].shape == last.frame.planes[0].shape
        changed = picture.frame.planes[0] != last.frame.planes[0]
        assert 0 < changed.mean() < 0.05
        server.hang_up()


def test_what_is_not_there_is_said_at_once(tmp_path: Path) -> None:
    for source, words in [
        ("tcp://127.0.0.1:9", "Connection refused"),
        ("lavfi:nosuchfilter", "lavfi:nosuchfilter"),
        ("/dev/video77", "there is no camera /dev/video77: .*--source"),
        ("77", "there is no camera .*77"),
        (str(tmp_path), "is a folder"),
        ("/dev/null", "no file, address or camera"),
    ]:
        with pytest.raises(SourceError, match=words), reader(source, Taken()) as reading:
            reading.start()
    with pytest.raises(FileNotFoundError):
        find_input(str(tmp_path / "nothing.mp4"))


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EBUSY, "in use by another program"),
        (errno.EACCES, "usermod -aG video"),
        (errno.ENODEV, "there is no camera"),
        (errno.ENOTTY, "is no camera"),
        (errno.EIO, "cannot be read"),
    ],
)
def test_why_a_camera_gives_nothing(number: int, words: str) -> None:
    error = refused(Camera("/dev/video0", "Studio Cam"), OSError(number, "as the driver says"))
    assert words in str(error) and "/dev/video0" in str(error) and "\n" not in str(error)


def test_a_file_plays_at_its_own_pace_and_ends(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4", frames=8)
    taken = Taken()
    with reader(str(clip), taken) as reading:
        started_s = time.monotonic()
        reading.start()
        wait_for(lambda: reading.state == "ended", "the end")
        reading.check()
    assert len(taken.frames) == 8
    assert taken.frames[-1][1] - taken.frames[0][1] == pytest.approx(7 / 25, abs=0.001)
    assert time.monotonic() - started_s >= 7 / 25


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes")
@pytest.mark.parametrize("realtime", [False, True])
def test_a_recording_in_a_pipe_is_noticed(tmp_path: Path, realtime: bool) -> None:
    pipe, taken = tmp_path / "pipe", Taken()
    os.mkfifo(pipe)
    film = b"YUV4MPEG2 W16 H16 F30:1 Ip A1:1 C420jpeg\n" + (b"FRAME\n" + bytes(384)) * 45
    writing = Thread(target=pipe.write_bytes, args=(film,))
    writing.start()
    with LiveReader(find_input(str(pipe), realtime=realtime), taken, SHORT) as reading:
        reading.start()
        wait_for(lambda: reading.state == "ended", "the end")
        reading.check()
    writing.join()
    assert len(taken.frames) == 45
    assert any("for a recording use --realtime" in said for said in reading.warnings()) != realtime


class Pipe:
    """What FFmpeg reads and cannot seek in."""

    def __init__(self, data: bytes) -> None:
        self.read = io.BytesIO(data).read


def test_damage_is_counted_over_all_connections(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.ts", frames=40, options={"g": "8"})
    data = bytearray(clip.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 600] = bytes(600)
    counts = []
    for connections in (1, 2):
        pipes = [Pipe(bytes(data)) for _ in range(connections)]

        def connect(_: float, pipes: list[Pipe] = pipes) -> InputContainer:
            if not pipes:
                raise SourceError("the camera is away")
            return av.open(pipes.pop(), "r", format="mpegts")

        taken = Taken()
        camera = Input("camera", "address", connect)
        with LiveReader(camera, taken, SHORT, note=taken.notes.append) as reading:
            reading.start()
            wait_for(lambda: len(taken.notes) >= connections, "the last connection's end")  # noqa: B023
            (said,) = [line for line in reading.warnings() if "damaged" in line]
        counts.append(int(said.split()[0]))
    assert counts[1] == 2 * counts[0] > 0


def test_an_address_with_an_end_ends(tmp_path: Path) -> None:
    """A film on a web server is played whole, once."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    make_clip(tmp_path / "clip.mkv", frames=8)
    taken = Taken()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path))) as web:
        serving = Thread(target=web.serve_forever)
        serving.start()
        address = f"http://127.0.0.1:{web.server_address[1]}/clip.mkv"
        with LiveReader(find_input(address, realtime=True), taken, SHORT) as reading:
            reading.start()
            wait_for(lambda: reading.state == "ended", "the end")
            reading.check()
        web.shutdown()
        serving.join()
    assert len(taken.frames) == 8 and reading.reconnects == 0


@pytest.mark.parametrize(("rate", "frames"), [(1, 2), (120, 60)])
def test_slow_and_fast_sources(rate: int, frames: int) -> None:
    taken = Taken()
    with reader(f"lavfi:testsrc2=size=64x48:rate={rate}", taken) as reading:
        reading.start()
        wait_for(lambda: len(taken.frames) >= frames, "frames")
    times = [captured_s for _, captured_s in taken.frames]
    assert times == sorted(times)


def test_stopping_while_nothing_comes(server: TsServer) -> None:
    server.silent.set()
    stop = Event()
    with LiveReader(find_input(server.address), Taken(), SHORT) as reading:
        stop.set()
        with pytest.raises(Stopped):
            reading.start(stop)
        server.hang_up()


def test_y4m_on_stdin() -> None:
    """A process that reads a pipe: frames of a known number arrive, then it ends."""
    code = (
        "from sfumato.stream.live.inputs import find_input\n"
        "from sfumato.stream.live.reader import LiveReader\n"
        "got = []\n"
        "with LiveReader(find_input('-'), lambda f, t: got.append(f.width_px)) as r:\n"
        "    r.start(); r._thread.join(); r.check()\n"
        "print(len(got), set(got))\n"
    )
    stream = io.BytesIO(b"YUV4MPEG2 W16 H16 F30:1 Ip A1:1 C420jpeg\n")
    stream.seek(0, io.SEEK_END)
    for value in range(5):
        stream.write(b"FRAME\n" + bytes([value * 20]) * 384)
    done = subprocess.run(
        [sys.executable, "-c", code], input=stream.getvalue(), capture_output=True, check=True
    )
    assert done.stdout.split() == [b"5", b"{16}"]


def test_arrival_clock_counts_what_waits_here() -> None:
    clock = ArrivalClock()
    ages = []
    for number in range(60):
        waits_s = 0.2 if 20 <= number < 30 else 0.0
        now_s = 100 + number / 30 + waits_s
        ages.append(now_s - clock.captured_s(5 + number / 30, now_s))
    assert max(ages[:20]) < 1e-6 and min(ages[20:30]) == pytest.approx(0.2)
    later_s = 300.0  # a pause, or another recording
    assert clock.captured_s(7.0, later_s) == pytest.approx(later_s)


def test_arrival_clock_forgets_a_slow_drift() -> None:
    clock = ArrivalClock()
    for number in range(3000):  # the source's clock loses 1 ms in each second
        now_s = number / 30 * 1.001
        age_s = now_s - clock.captured_s(number / 30, now_s)
        assert 0 <= age_s < 0.02


def test_paced_clock_is_put_back_when_reading_is_too_slow() -> None:
    clock = PacedClock()
    assert clock.due_s(10.0, 50.0) == 50.0
    assert clock.due_s(10.5, 50.1) == 50.5
    assert clock.due_s(11.0, 52.0) == 52.0 and clock.moved == 1
    assert clock.due_s(11.5, 52.0) == 52.5


def test_a_recording_waits_for_who_is_not_ready() -> None:
    clock = PacedClock()
    assert clock.due_s(0.0, 100.0) == 100.0
    clock.pause(0.3)  # an engine whose kernels are there takes no longer
    assert clock.due_s(0.04, 100.3) == pytest.approx(100.34)
    clock.pause(8.0)
    assert clock.due_s(0.08, 108.3) == pytest.approx(108.38) and clock.moved == 0


def test_a_file_goes_on_from_its_first_picture_once_that_can_be_painted(tmp_path: Path) -> None:
    clip, taken = make_clip(tmp_path / "clip.mp4", frames=4), Taken()

    def prepare(frame: Frame, captured_s: float) -> None:
        if not taken.frames:
            time.sleep(0.2)  # as an engine takes whose kernels are there
            captured_s = time.monotonic()
        taken(frame, captured_s)

    with LiveReader(find_input(str(clip)), prepare, SHORT) as reading:
        reading.start()
        wait_for(lambda: reading.state == "ended", "the end")
    (_, first_s), *later = taken.frames
    for number, (_, captured_s) in enumerate(later, 1):  # as far apart as in the file, or farther
        assert captured_s - first_s >= number / 25 - 1e-6
