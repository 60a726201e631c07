"""Queues that stay short, an encoder that follows the network, and aiortc still being as it was."""

from __future__ import annotations

import asyncio
import time
from threading import Event
from typing import Any

import numpy as np
import pytest
from aiortc import RTCPeerConnection
from aiortc.codecs import get_decoder
from aiortc.codecs.h264 import h264_depayload
from aiortc.codecs.vpx import vp8_depayload
from aiortc.jitterbuffer import JitterFrame
from aiortc.mediastreams import MediaStreamError, VideoStreamTrack
from aiortc.rtcrtpparameters import RTCRtpCodecParameters
from aiortc.rtcrtpreceiver import RemoteStreamTrack
from aiortc.rtp import RtpPacket
from av.video.frame import VideoFrame

from sfumato.stream.live.painter import LivePainter
from sfumato.stream.live.server.bounds import (
    MOST_ENCODED,
    EncodedFrames,
    NewestFrame,
    PromptFrames,
    bound_receiver,
    is_whole,
    use_encoder,
)
from sfumato.stream.live.server.encode import (
    LEAST_BPS,
    MOST_BPS,
    SCALES,
    LiveEncoder,
    scale_for,
    sent_codec,
)
from sfumato.stream.live.server.messages import MessageError
from sfumato.stream.live.server.tracks import PaintedTrack, feed
from sfumato.stream.live.server.viewer import check_offer
from tests.serving import IDENTITY, gone, run

SIZE_PX = (320, 192)


def picture(number: int, size_px: tuple[int, int] = SIZE_PX) -> VideoFrame:
    rows, columns = np.mgrid[: size_px[1], : size_px[0]]
    luma = 60 + 40 * np.sin((columns + 3 * number) / 17) + 40 * np.cos(rows / 11)
    rgb = np.stack([luma, luma * 0.8, 200 - luma], -1).astype(np.uint8)
    frame = VideoFrame.from_ndarray(rgb, "rgb24").reformat(format="yuv420p")
    frame.pts = 3000 * number
    return frame


def test_newest_frame_replaces_older_ones_and_the_end_stays() -> None:
    async def test() -> None:
        queue = NewestFrame()
        for number in range(100):
            await queue.put(number)
        assert queue.qsize() == 1 and queue.dropped == 99
        assert await queue.get() == 99
        await queue.put(None)
        await queue.put(100)
        assert await queue.get() is None and queue.empty()

    run(test)


def test_encoded_frames_do_not_pile_up_and_a_whole_picture_mends_the_gap() -> None:
    asked = Event()
    queue = EncodedFrames(asked)
    vp8 = RTCRtpCodecParameters("video/VP8", 90000, payloadType=97)
    change, whole = JitterFrame(b"\x01", 0), JitterFrame(b"\x00", 0)
    for _ in range(MOST_ENCODED):
        queue.put((vp8, change))
    assert not asked.is_set() and queue.dropped == 0
    for _ in range(100):
        queue.put((vp8, change))
        assert queue.empty(), "nothing that builds on what is lost"
    assert asked.is_set() and queue.dropped == MOST_ENCODED + 100
    asked.clear()
    for _ in range(MOST_ENCODED):
        queue.put((vp8, change))
    assert asked.is_set(), "asked again: the first wish may be lost too"
    queue.put((vp8, whole))
    queue.put((vp8, change))
    assert [queue.get()[1] for _ in range(2)] == [whole, change]
    queue.put(None)
    assert queue.get() is None


def test_end_gets_in_while_a_whole_picture_is_waited_for() -> None:
    queue = EncodedFrames(Event())
    vp8 = RTCRtpCodecParameters("video/VP8", 90000, payloadType=97)
    for _ in range(2 * MOST_ENCODED):
        queue.put((vp8, JitterFrame(b"\x01", 0)))
    queue.put(None)
    assert queue.get() is None


@pytest.mark.parametrize("codec", ["H264", "VP8"])
def test_whole_pictures_are_known_from_changes(codec: str) -> None:
    depayload = h264_depayload if codec == "H264" else vp8_depayload
    encoder = LiveEncoder(codec)
    data = [
        b"".join(map(depayload, encoder.encode(picture(number), force_keyframe=number == 2)[0]))
        for number in range(4)
    ]
    assert [is_whole(codec, one) for one in data] == [True, False, True, False]


def packet(number: int, timestamp: int, last: bool) -> RtpPacket:
    made: Any = RtpPacket(sequence_number=number % 65536, timestamp=timestamp, marker=int(last))
    made._data = bytes([number % 256])
    return made  # type: ignore[no-any-return]


def test_frames_come_with_their_last_packet_whatever_the_order() -> None:
    frames = PromptFrames()
    got = []
    for number, timestamp, last in (
        (65534, 0, False), (65535, 0, True),              # across the end of the numbers
        (0, 3000, True),
        (2, 6000, True), (1, 6000, False),                # the last one first
        (4, 9000, False), (5, 9000, True), (3, 9000, False),
        (6, 12000, False), (8, 15000, True), (7, 12000, True),
        (9, 18000, True),
    ):  # fmt: skip
        _, frame = frames.add(packet(number, timestamp, last))
        if frame is not None:
            got.append((number, frame.timestamp, list(frame.data)))
    assert got[:4] == [
        (65535, 0, [254, 255]),
        (0, 3000, [0]),
        (1, 6000, [1, 2]),
        (3, 9000, [3, 4, 5]),
    ]
    assert [(stamp, data) for _, stamp, data in got[4:]] == [
        (12000, [6, 7]),
        (15000, [8]),
    ]


def test_aiortc_still_has_what_is_replaced() -> None:
    async def test() -> None:
        connection = RTCPeerConnection()
        transceiver = connection.addTransceiver("video")
        transceiver.receiver._track = RemoteStreamTrack("video")
        encoded, newest = bound_receiver(transceiver.receiver)
        assert vars(transceiver.receiver)["_RTCRtpReceiver__decoder_queue"] is encoded
        assert vars(transceiver.receiver.track)["_queue"] is newest
        encoder = LiveEncoder("H264")
        use_encoder(transceiver.sender, encoder)
        assert vars(transceiver.sender)["_RTCRtpSender__encoder"] is encoder
        await connection.close()

    run(test)


def test_another_aiortc_is_refused_in_words() -> None:
    with pytest.raises(RuntimeError, match="install the release"):
        use_encoder(object(), LiveEncoder("VP8"))  # type: ignore[arg-type]


def decoded(encoder: LiveEncoder, codec: str, frames: list[VideoFrame]) -> list[VideoFrame]:
    """What a receiver makes of the payloads."""
    depayload = h264_depayload if codec == "H264" else vp8_depayload
    decoder = get_decoder(RTCRtpCodecParameters(f"video/{codec}", 90000, payloadType=97))
    result: list[VideoFrame] = []
    for frame in frames:
        payloads, timestamp = encoder.encode(frame)
        assert max(map(len, payloads)) <= 1300
        data = b"".join(map(depayload, payloads))
        found = decoder.decode(JitterFrame(data, timestamp))
        result += [one for one in found if isinstance(one, VideoFrame)]
    return result


@pytest.mark.parametrize("codec", ["H264", "VP8"])
def test_encoder_loses_little_and_no_frame_waits_in_it(codec: str) -> None:
    frames = [picture(number) for number in range(6)]
    out = decoded(LiveEncoder(codec), codec, frames)
    assert [frame.pts for frame in out] == [frame.pts for frame in frames]
    for before, after in zip(frames, out, strict=True):
        error = before.to_ndarray().astype(float) - after.to_ndarray()
        assert np.abs(error).mean() < 3


def test_encoder_follows_the_network_down_and_up() -> None:
    encoder = LiveEncoder("H264")
    big = (1280, 720)
    encoder.encode(picture(0, big))
    assert encoder.sent_scale == 1
    encoder.target_bitrate = 1
    assert encoder.target_bitrate == LEAST_BPS, "less than is sent: the network is full"
    small = decoded(encoder, "H264", [picture(1, big)])
    assert encoder.sent_scale < 0.5 and small[0].width == round(1280 * encoder.sent_scale)
    encoder.target_bitrate = 10**12
    assert encoder.target_bitrate == MOST_BPS
    assert decoded(encoder, "H264", [picture(2, big)])[0].width == 1280


def test_easy_pictures_do_not_pass_for_a_slow_network() -> None:
    encoder = LiveEncoder("H264")
    still = VideoFrame.from_ndarray(np.full((1080, 1280), 90, np.uint8), "yuv420p")
    sent_bps = 0
    for number in range(60):
        still.pts = 3000 * number
        size = sum(map(len, encoder.encode(still)[0]))
        sent_bps = 8 * size + (sent_bps if number % 30 else 0)
        if number % 30 == 29:
            encoder.target_bitrate = sent_bps * 3 // 2 + 10_000  # what Chromium says then
    assert sent_bps < 400_000
    assert encoder.target_bitrate > 2_500_000 and encoder.sent_scale == 1


def test_a_wish_for_a_whole_picture_is_granted() -> None:
    encoder = LiveEncoder("H264")
    still = picture(0)

    def size_bytes(number: int, whole: bool) -> int:
        still.pts = 3000 * number
        return sum(map(len, encoder.encode(still, force_keyframe=whole)[0]))

    last = [size_bytes(number, False) for number in range(8)][-1]
    assert size_bytes(8, True) > 5 * last


@pytest.mark.parametrize("kbps", range(100, 3000, 100))
def test_size_of_sent_pictures_does_not_swing(kbps: int) -> None:
    pixels = 1280 * 720
    scale = 1.0
    for _ in range(3):
        scale = scale_for(1000 * kbps, pixels, scale)
    assert scale in SCALES
    assert scale_for(1000 * kbps * 105 // 100, pixels, scale) == scale or kbps > 300
    assert scale_for(1000 * kbps, pixels, scale_for(1000 * kbps * 9 // 10, pixels, scale)) <= scale


@pytest.mark.parametrize(
    ("codec", "line"), [("H264", "a=rtpmap:102 H264/90000"), ("VP8", "a=rtpmap:102 VP8/90000")]
)
def test_sent_codec_is_the_first_of_the_answer(codec: str, line: str) -> None:
    sdp = f"v=0\r\nm=video 9 UDP/TLS/RTP/SAVPF 102 97\r\na=rtpmap:97 VP8/90000\r\n{line}\r\n"
    assert sent_codec(sdp) == codec


def test_sent_codec_must_be_known() -> None:
    with pytest.raises(ValueError, match="no codec of H264, VP8"):
        sent_codec("m=video 9 UDP/TLS/RTP/SAVPF 97\r\na=rtpmap:97 AV1/90000\r\n")


@pytest.mark.parametrize(
    "sdp",
    [
        "",
        "v=0",
        "m=audio 9 x 0\r\n",
        "m=video 9 x 0\r\nm=video 9 x 0\r\n",
        "m=video 9 x 0\r\n" + "a=candidate:1\r\n" * 41,
        "m=video 9 x 0\r\n" + "x" * 40_000,
        "a=x m=video \r\nm=audio 9 x 0\r\n",
        *(f"m=video 9 x 0{end}m=video 9 x 0\r\n" for end in "\r\v\f\x1c\x85\u2028\u2029"),
    ],
)
def test_offers_of_anything_but_one_video_are_refused(sdp: str) -> None:
    with pytest.raises(MessageError):
        check_offer(sdp)


class Flood(VideoStreamTrack):
    """Frames as fast as they are taken, a number of them."""

    def __init__(self, frames: int) -> None:
        super().__init__()
        self.left = frames
        self._frame = picture(0)

    async def recv(self) -> VideoFrame:
        await asyncio.sleep(0)
        if self.left == 0:
            raise MediaStreamError
        self.left -= 1
        return self._frame


def test_feeding_never_waits_for_the_painter() -> None:
    async def test() -> None:
        with LivePainter(IDENTITY) as painter:
            await feed(Flood(2000), painter)
            await gone(lambda: sum(painter.stats().dropped.values()) > 1900)

    run(test)


def test_painted_track_gives_the_newest_and_ends_its_thread() -> None:
    async def test() -> None:
        with LivePainter(IDENTITY) as painter:
            track = PaintedTrack(painter)
            feeding = asyncio.create_task(feed(Flood(10**9), painter))
            first, second = await track.recv(), await track.recv()
            assert first.pts is not None and second.pts is not None and second.pts > first.pts
            assert (first.width, first.height) == SIZE_PX
            await asyncio.sleep(0)
            feeding.cancel()
            await asyncio.gather(feeding, return_exceptions=True)
            started_s = time.monotonic()
            await track.close()
            assert time.monotonic() - started_s < 5
            with pytest.raises(MediaStreamError):
                await track.recv()

    run(test)
