"""A camera by WebRTC, its painting back, in one process: what comes back, and what stays behind."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import numpy as np
import pytest
from aiortc import MediaStreamTrack, RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import VideoStreamTrack
from av.video.frame import VideoFrame

from sfumato.stream.live.server import tracks
from tests.serving import Client, client, gone, painter_threads, run

SIZE_PX = (320, 192)


class Camera(VideoStreamTrack):
    """A flat picture whose brightness says its number, in a size that may change."""

    def __init__(self) -> None:
        super().__init__()
        self.size_px: tuple[int, int] = SIZE_PX
        self.number = 0

    async def recv(self) -> VideoFrame:
        pts, time_base = await self.next_timestamp()
        width, height = self.size_px
        rgb = np.full((height, width, 3), 60 + self.number % 100, np.uint8)
        rgb[height // 4 : height // 2, width // 4 : width // 2] = (220, 40, 40)
        frame = VideoFrame.from_ndarray(rgb, "rgb24")
        frame.pts, frame.time_base = pts, time_base
        self.number += 1
        return frame


class Viewer:
    """What a page does."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.peer = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self.camera = Camera()
        self.painted: MediaStreamTrack | None = None

    async def offer(self, **wish: Any) -> dict[str, Any]:
        """Offer the camera; what the server answers."""
        self.peer.addTrack(self.camera)
        await self.peer.setLocalDescription(await self.peer.createOffer())
        sdp = self.peer.localDescription.sdp
        await self.socket.send_json({"type": "offer", "sdp": sdp, "style": "identity", **wish})
        return await self.hear()

    async def connect(self) -> None:
        """Camera on."""
        answer = await self.offer()
        assert answer["type"] == "answer", answer
        self.peer.on("track", self._take)
        await self.peer.setRemoteDescription(RTCSessionDescription(answer["sdp"], "answer"))

    def _take(self, track: MediaStreamTrack) -> None:
        self.painted = track

    async def hear(self) -> dict[str, Any]:
        """The next message."""
        said = await self.socket.receive(timeout=20)
        assert said.type is aiohttp.WSMsgType.TEXT, said
        message: dict[str, Any] = json.loads(said.data)
        return message

    async def see(self) -> VideoFrame:
        """The next painted frame."""
        assert self.painted is not None
        frame = await self.painted.recv()
        assert isinstance(frame, VideoFrame)
        return frame


@asynccontextmanager
async def viewer(there: Client) -> AsyncIterator[Viewer]:
    await there.enter()
    async with there.live() as socket:
        watching = Viewer(socket)
        try:
            yield watching
        finally:
            await watching.peer.close()


def test_painted_frames_come_back_and_leaving_frees_everything() -> None:
    async def test() -> None:
        async with client() as there:
            async with viewer(there) as one:
                await one.connect()
                frame = await one.see()
                assert (frame.width, frame.height) == SIZE_PX
                rgb = frame.to_ndarray(format="rgb24").astype(int)
                red = rgb[SIZE_PX[1] // 3, SIZE_PX[0] // 3]
                assert red[0] > 160 and red[1] < 110, "the identity style keeps colours"
                grey = rgb[-20:, -20:].mean((0, 1))
                assert np.ptp(grey) < 12
                stats = await one.hear()
                assert stats["type"] == "stats" and stats["style"] == "identity"
                assert there.server.viewers.count == 1
                assert painter_threads()
            await gone(lambda: there.server.viewers.count == 0)
            await gone(lambda: not painter_threads())

    run(test)


def test_server_listens_for_media_where_the_page_is() -> None:
    async def test() -> None:
        async with client() as there, viewer(there) as one:
            answer = await one.offer()
            candidates = [line for line in answer["sdp"].splitlines() if "candidate:" in line]
            assert candidates and all(" 127.0.0.1 " in line for line in candidates)

    run(test)


def test_style_and_strength_change_on_the_way() -> None:
    async def test() -> None:
        async with client() as there, viewer(there) as one:
            await one.connect()
            await one.see()
            await one.socket.send_json({"type": "paint", "style": "toon-fast", "strength": 0.5})
            stats = await one.hear()
            while (stats["style"], stats["strength"]) != ("toon-fast", 0.5):
                stats = await one.hear()
            await one.see()

    run(test)


def test_camera_changes_its_size() -> None:
    async def test() -> None:
        async with client() as there, viewer(there) as one:
            await one.connect()
            await one.see()
            one.camera.size_px = (256, 320)
            frame = await one.see()
            while (frame.width, frame.height) != (256, 320):
                frame = await one.see()

    run(test)


def test_viewers_are_few_and_a_place_is_free_again() -> None:
    async def test() -> None:
        async with client(max_viewers=1) as there:
            async with viewer(there) as one:
                await one.connect()
                with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                    await there.live()
                assert refused.value.status == 503
            await gone(lambda: there.server.viewers.count == 0)
            async with viewer(there) as two:
                await two.connect()
                await two.see()

    run(test)


def test_one_viewers_trouble_is_not_anothers() -> None:
    async def test() -> None:
        async with client() as there, viewer(there) as good:
            await good.connect()
            await good.see()
            async with there.live() as socket:
                await socket.send_json({"type": "offer", "sdp": "m=video 9 RTP/AVP 0\r\n"})
                assert (await socket.receive_json())["type"] == "error"
            async with viewer(there) as bad:
                await bad.connect()
                await bad.see()
                await bad.socket.send_str("junk")
                while (await bad.hear())["type"] != "error":
                    pass
                await gone(lambda: there.server.viewers.count == 1)
            await good.see()

    run(test)


@pytest.mark.parametrize(
    "said",
    [
        "junk",
        "[]",
        "[" * 50_000,
        '{"type": "offer"}',
        '{"type": "offer", "sdp": 5}',
        '{"type": "offer", "sdp": "junk"}',
        '{"type": "offer", "sdp": "v=0\\r\\nm=video 9 UDP/TLS/RTP/SAVPF 96\\r\\n"}',
        '{"type": "offer", "sdp": "m=video 9 x 0", "style": "../../x.onnx"}',
        '{"type": "offer", "sdp": "m=video 9 x 0", "strength": 1e999}',
        '{"type": "paint", "style": "identity"}',
    ],
)
def test_junk_is_answered_in_one_line_and_ends_the_viewer(said: str) -> None:
    async def test() -> None:
        async with client() as there:
            await there.enter()
            async with there.live() as socket:
                await socket.send_str(said)
                answer = await socket.receive_json()
                assert answer["type"] == "error" and answer["reason"]
                assert "\n" not in answer["reason"]
                assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE
            await gone(lambda: there.server.viewers.count == 0)
            assert not painter_threads()

    run(test)


@pytest.mark.parametrize(
    ("owner", "name"), [(tracks, "from_camera"), (tracks.PaintedTrack, "_next")]
)
def test_what_nobody_foresaw_ends_the_viewer_with_a_reason_and_frees_everything(
    owner: object, name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: object) -> None:
        raise ValueError("no such thing")

    async def test() -> None:
        async with client() as there, viewer(there) as one:
            monkeypatch.setattr(owner, name, fail)
            await one.connect()
            while (said := await one.hear())["type"] != "error":
                pass
            assert said["reason"] and "no such thing" not in said["reason"]
            await gone(lambda: there.server.viewers.count == 0)
        await gone(lambda: not painter_threads())

    run(test)
    assert not [one for one in caplog.records if one.name.startswith("sfumato")]


def test_message_that_is_too_long_ends_the_viewer() -> None:
    async def test() -> None:
        async with client() as there:
            await there.enter()
            async with there.live() as socket:
                await socket.send_str("x" * 100_000)
                assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE
            await gone(lambda: there.server.viewers.count == 0)

    run(test)


def test_bitrate_follows_what_the_viewer_can_take() -> None:
    from aiortc.rtp import RTCP_PSFB_APP, RtcpPsfbPacket, pack_remb_fci

    async def test() -> None:
        async with client() as there, viewer(there) as one:
            await one.connect()
            await one.see()
            receiver: Any = one.peer.getTransceivers()[0].receiver
            ssrc = next(iter(receiver.getSynchronizationSources())).source
            packet = RtcpPsfbPacket(
                fmt=RTCP_PSFB_APP, ssrc=1, media_ssrc=0, fci=pack_remb_fci(1000, [ssrc])
            )
            await receiver._send_rtcp(packet)
            stats = await one.hear()
            while stats["kbps"] != 150:
                stats = await one.hear()

    run(test)


def test_stopping_the_server_hangs_up_and_joins_everything() -> None:
    async def test() -> None:
        async with client() as there:
            await there.enter()
            socket = await there.live()
            one = Viewer(socket)
            await one.connect()
            await one.see()
        assert not painter_threads() or all("decoder" in name for name in painter_threads())
        await one.peer.close()
        await socket.close()
        await asyncio.sleep(0)

    run(test)


@pytest.mark.parametrize("after_s", [0.0, 0.01, 0.05, 0.2, 0.6])
def test_page_that_vanishes_at_any_moment_frees_everything(after_s: float) -> None:
    async def test() -> None:
        async with client() as there:
            await there.enter()
            async with aiohttp.ClientSession(cookie_jar=there.http.cookie_jar) as http:
                socket = await http.ws_connect(f"{there.base}/api/live", headers=there.origin)
                one = Viewer(socket)
                offering = asyncio.create_task(one.offer())
                await asyncio.sleep(after_s)
                await http.close()  # without a word of goodbye
                await asyncio.gather(offering, return_exceptions=True)
                await one.peer.close()
                await gone(lambda: there.server.viewers.count == 0 and not painter_threads())

    run(test)
