"""Files that are dropped on the page: painted, refused, and gone afterwards."""

from __future__ import annotations

import asyncio
import errno
import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from av.stream import Disposition

from sfumato.stream.errors import SinkError, SourceError
from sfumato.stream.live.server import kept, worker
from sfumato.stream.report import Progress
from tests.media import make_clip, times
from tests.serving import Client, client, gone, run


async def settled(there: Client, key: str) -> dict[str, Any]:
    """The job once it has ended."""
    while True:
        async with there.get(f"/api/jobs/{key}") as answer:
            assert answer.status == 200
            job: dict[str, Any] = await answer.json()
        if job["state"] in ("done", "failed"):
            return job
        await asyncio.sleep(0.05)


async def send(there: Client, body: bytes, query: str = "style=identity") -> dict[str, Any]:
    async with there.post(f"/api/jobs?{query}", data=io.BytesIO(body)) as answer:
        assert answer.status == 200, await answer.text()
        job: dict[str, Any] = await answer.json()
        return job


@pytest.fixture
def own_temp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the server keeps its files."""
    folder = tmp_path / "temp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_clip_comes_back_painted_with_its_frames_and_sound(tmp_path: Path, own_temp: Path) -> None:
    clip = make_clip(tmp_path / "in.mp4", frames=12, audio_tracks=1)
    result = tmp_path / "out.mp4"

    async def test() -> None:
        async with client() as there:
            await there.enter()
            job = await settled(there, (await send(there, clip.read_bytes()))["id"])
            assert job["state"] == "done", job
            assert job["frames"] == job["of"] == 12 and job["kind"] == ".mp4"
            async with there.get(f"/api/jobs/{job['id']}/file") as answer:
                assert answer.content_type == "video/mp4"
                result.write_bytes(await answer.read())
            left = [path.name for path in own_temp.rglob("*") if path.is_file()]
            assert left == ["painted.mp4"], "the source goes when it is painted"
        assert not list(own_temp.iterdir())

    run(test)
    assert times(result) == times(clip)
    assert times(result, "audio")


def test_picture_comes_back_as_picture(tmp_path: Path) -> None:
    import cv2

    path = tmp_path / "in.jpg"
    cv2.imwrite(str(path), np.full((48, 64, 3), 90, np.uint8))

    async def test() -> None:
        async with client() as there:
            await there.enter()
            job = await settled(there, (await send(there, path.read_bytes()))["id"])
            assert (job["state"], job["kind"]) == ("done", ".png"), job

    run(test)


@pytest.mark.parametrize(
    "junk",
    [
        b"junk",
        b"#EXTM3U\n#EXTINF:1,\nfile:///etc/hostname\n",
        b"ffconcat version 1.0\nfile /etc/hostname\n",
        b'<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:full:2011">',
        b"v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\nm=video 5004 RTP/AVP 96\r\n",
        b"\x00\x00\x00\x18ftypisom" + b"\x00" * 100,
    ],
)
def test_junk_and_playlists_are_refused(junk: bytes, tmp_path: Path) -> None:
    path = tmp_path / "source"
    path.write_bytes(junk)
    with pytest.raises(SourceError, match="no video or picture"):
        worker.check_file(str(path), 10)


def test_refusal_names_no_path_of_the_server() -> None:
    async def test() -> None:
        async with client() as there:
            await there.enter()
            job = await settled(there, (await send(there, b"junk"))["id"])
            assert job["state"] == "failed"
            assert job["reason"] == "this is no video or picture that can be read here"

    run(test)


def test_playlist_formats_do_not_pass_the_check(tmp_path: Path) -> None:
    inner = make_clip(tmp_path / "inner.mp4", frames=2)
    outer = tmp_path / "source"
    outer.write_text(f"ffconcat version 1.0\nfile {inner}\n")
    with av.open(str(outer), options={"safe": "0"}) as opened:
        assert opened.format.name == "concat", "FFmpeg by itself would open it"
    with pytest.raises(SourceError):
        worker.check_file(str(outer), 10)


def test_limits_of_a_clip(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "long.mp4", frames=50)
    with pytest.raises(SourceError, match="2 s are too long; 1 s at most"):
        worker.check_file(str(clip), 1)
    assert worker.check_file(str(clip), 10) is False
    sound = tmp_path / "sound.wav"
    with av.open(str(sound), "w") as container:
        stream = container.add_stream("pcm_s16le", rate=8000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 800), np.int16), "s16", "mono")
        frame.sample_rate = 8000
        container.mux(stream.encode(frame))
    with pytest.raises(SourceError):
        worker.check_file(str(sound), 10)


def test_limits_are_those_of_the_stream_that_would_be_painted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "MOST_PIXELS", 64 * 64)
    path = tmp_path / "two.mkv"
    with av.open(str(path), "w") as container:
        for size_px in (64, 80):  # the second is the default one
            stream: Any = container.add_stream("mpeg4", rate=5)
            stream.width = stream.height = size_px
            stream.pix_fmt = "yuv420p"
            stream.disposition = Disposition.default if size_px == 80 else Disposition(0)
        for stream in container.streams.video:
            frame = av.VideoFrame(stream.width, stream.height, "yuv420p")
            container.mux([*stream.encode(frame), *stream.encode(None)])
    with pytest.raises(SourceError, match="80x80 is too large"):
        worker.check_file(str(path), 10)


def test_one_file_at_a_time_for_each_viewer_and_few_in_all(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "in.mp4", frames=60, size_px=(160, 120)).read_bytes()

    async def test() -> None:
        async with client(max_jobs=1) as there:
            await there.enter()
            first = await send(there, clip, "style=toon-fast")
            async with there.post("/api/jobs", data=clip) as answer:
                assert answer.status == 429 and "One file at a time" in await answer.text()
            there.http.cookie_jar.clear()
            await there.enter()
            async with there.post("/api/jobs", data=clip) as answer:
                assert answer.status == 429 and "Others" in await answer.text()
            async with there.get(f"/api/jobs/{first['id']}") as answer:
                assert answer.status == 404, "what others paint is nobody's business"

    run(test)


def test_leaving_a_painting_frees_its_worker_and_files(tmp_path: Path, own_temp: Path) -> None:
    import psutil

    clip = make_clip(tmp_path / "in.mp4", frames=60, size_px=(160, 120)).read_bytes()

    def workers() -> int:
        return len(psutil.Process().children(recursive=True))

    async def test() -> None:
        async with client() as there:
            await there.enter()
            job = await send(there, clip, "style=toon-fast")
            await gone(lambda: workers() == 1)
            async with there.http.delete(
                f"{there.base}/api/jobs/{job['id']}", headers=there.origin
            ) as answer:
                assert answer.status == 200
            assert workers() == 0
            assert not [path for path in own_temp.rglob("*") if path.is_file()]
            again = await send(there, clip, "style=toon-fast")
            assert again["state"] == "painting"
        assert workers() == 0
        assert not list(own_temp.iterdir())

    run(test)


def test_a_painter_that_crashes_is_a_failed_job_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clip = make_clip(tmp_path / "in.mp4", frames=2).read_bytes()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "sitecustomize.py").write_text("import os\nos.abort()\n")

    async def test() -> None:
        async with client() as there:
            await there.enter()
            job = await settled(there, (await send(there, clip))["id"])
            assert job["state"] == "failed" and "damaged" in job["reason"]

    run(test)


def test_a_painter_that_is_killed_is_not_called_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_temp: Path
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "sitecustomize.py").write_text(
        "import os\nopen('half', 'w').close()\nos.kill(os.getpid(), 9)\n"
    )

    async def test() -> None:
        async with client() as there:
            await there.enter()
            job = await settled(there, (await send(there, b"x"))["id"])
            assert job["state"] == "failed" and "short of memory" in job["reason"]
            await gone(lambda: not list(own_temp.glob("*/*")))

    run(test)


def test_painted_files_go_after_a_while_and_when_they_are_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_temp: Path
) -> None:
    clip = make_clip(tmp_path / "in.mp4", frames=2).read_bytes()
    monkeypatch.setattr(kept, "MOST_KEPT", 1)

    async def test() -> None:
        async with client() as there:
            for _ in range(2):
                there.http.cookie_jar.clear()
                await there.enter()
                await settled(there, (await send(there, clip))["id"])
            await gone(lambda: len(list(own_temp.rglob("painted.mp4"))) == 1)
            monkeypatch.setattr(kept, "KEPT_S", 0.0)
            monkeypatch.setattr(kept, "SWEEP_S", 0.01)
            there.server.jobs._fuller.set()
            await gone(lambda: not list(own_temp.rglob("painted.mp4")))

    run(test)


def test_as_many_files_as_fit_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_KEPT", 3)
    monkeypatch.setattr(kept, "MOST_KEPT_BYTES", 10)
    sizes: tuple[list[int], ...] = ([], [1, 1, 1], [1, 1, 1, 1], [9, 1, 1], [1, 9, 9], [11])
    assert [kept.too_many(each) for each in sizes] == [0, 0, 1, 1, 2, 1]


def test_what_a_killed_server_left_goes_at_the_next_start(own_temp: Path) -> None:
    import psutil

    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert not psutil.pid_exists(process.pid)
    left = own_temp / f"sfumato-serve-{process.pid}-abc"
    others = [own_temp / f"sfumato-serve-{os.getpid()}-abc", own_temp / "sfumato-serve-mine"]
    for folder in (left, *others):
        (folder / "job").mkdir(parents=True)

    async def test() -> None:
        async with client():
            assert not left.exists() and all(folder.exists() for folder in others)

    run(test)


def test_full_disk_is_told_as_what_it_is(monkeypatch: pytest.MonkeyPatch, own_temp: Path) -> None:
    def store(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    async def test() -> None:
        async with client() as there:
            await there.enter()
            monkeypatch.setattr(Path, "open", store)
            async with there.post("/api/jobs?style=identity", data=b"x") as answer:
                assert answer.status == 507
                assert "disk is full" in (await answer.json())["error"]
            assert not list(own_temp.glob("*/*"))

    run(test)
    wrapped = SinkError("out.mp4: the disk is full; free some space or choose another folder")
    wrapped.__cause__ = OSError(errno.ENOSPC, "No space left on device")
    assert worker._reason(wrapped, {"source": "a", "folder": "b"}) == kept.FULL


@pytest.mark.parametrize(
    ("frames", "estimate", "told"), [(3, 45, 45), (45, 45, 45), (77, 45, None), (1, None, None)]
)
def test_progress_is_never_more_than_all(
    frames: int, estimate: int | None, told: int | None
) -> None:
    assert worker._total(Progress(frames, estimate, 1.0, None)) == told


@pytest.mark.parametrize(
    ("query", "body", "status"),
    [
        ("style=../../etc/passwd", b"x", 400),
        ("style=identity&strength=2", b"x", 400),
        ("style=identity&strength=nan", b"x", 400),
        ("style=identity&strength=" + "9" * 400, b"x", 400),
        ("style=identity", b"", 400),
    ],
)
def test_wishes_that_make_no_sense(query: str, body: bytes, status: int) -> None:
    async def test() -> None:
        async with client() as there:
            await there.enter()
            async with there.post(f"/api/jobs?{query}", data=body) as answer:
                assert answer.status == status
                assert (await answer.json())["error"]

    run(test)


def test_an_upload_that_is_broken_off_leaves_nothing(own_temp: Path) -> None:
    async def test() -> None:
        async with client() as there:
            await there.enter()
            host = there.base.removeprefix("http://")
            cookie = next(iter(there.http.cookie_jar))
            _, writer = await asyncio.open_connection(*host.split(":"))
            writer.write(
                f"POST /api/jobs?style=identity HTTP/1.1\r\nHost: {host}\r\n"
                f"Origin: {there.base}\r\nCookie: {cookie.key}={cookie.value}\r\n"
                "Content-Length: 100000\r\n\r\nfew bytes".encode()
            )
            await gone(lambda: bool(list(own_temp.rglob("source"))))
            writer.close()
            await gone(lambda: not list(own_temp.rglob("source")))

    run(test)
