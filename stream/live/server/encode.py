"""Encoders for aiortc that cost half of its own, follow the network and send smaller pictures
before they send bad ones."""

from __future__ import annotations

import re
from collections import deque
from fractions import Fraction
from typing import Any

import av
from aiortc.codecs.base import Encoder
from aiortc.codecs.h264 import H264Encoder
from aiortc.codecs.vpx import Vp8Encoder
from aiortc.mediastreams import VIDEO_CLOCK_RATE, VIDEO_TIME_BASE
from av.frame import Frame
from av.packet import Packet
from av.video.codeccontext import VideoCodecContext
from av.video.frame import PictureType, VideoFrame

FIRST_BPS, LEAST_BPS, MOST_BPS = 2_500_000, 150_000, 4_000_000
FRAME_RATE = 30

SCALES = (1.0, 0.75, 0.5, 0.375)
LEAST_BITS_PER_PIXEL = 0.03
"""Below it x264 smears a painting; at 720p30 that is 830 kbit/s."""

STEADY = 1.25
"""How far the bitrate may be from the encoder's before a new one, with its whole picture, pays."""

CROWDED = 1.1
"""An estimate of less than this much of what is sent means that the network is full."""

GROWTH = 1.08
"""A second, as WebRTC's own control grows."""

CODECS: dict[str, tuple[str, dict[str, str]]] = {
    # One core encodes 1280x720 in 6 ms, with 42 dB at 2.5 Mbit/s; ultrafast 5 ms and 36 dB.
    "H264": ("libx264", {"preset": "superfast", "tune": "zerolatency", "level": "3.1"}),
    # 11 ms and 42 dB: for browsers without H.264.
    "VP8": (
        "libvpx",
        {
            "deadline": "realtime",
            "cpu-used": "-8",
            "lag-in-frames": "0",
            "static-thresh": "1",
            "undershoot-pct": "100",
            "overshoot-pct": "15",
        },
    ),
}
"""FFmpeg's encoder and its options, by the codec's name in WebRTC."""


class LiveEncoder(Encoder):
    """Encodes frames of any size for one viewer."""

    def __init__(self, codec: str) -> None:
        """``codec`` is a key of :data:`CODECS`."""
        self.sent_scale = 1.0
        """Size of the pictures that are sent, 1 or less."""
        self._name, self._options = CODECS[codec]
        self._packer: H264Encoder | Vp8Encoder = H264Encoder() if codec == "H264" else Vp8Encoder()
        self._target_bps = FIRST_BPS
        self._sent = _Sent()
        self._context: VideoCodecContext | None = None

    @property
    def target_bitrate(self) -> int:
        """Bits per second to make at most; aiortc sets what the other end can take (REMB).

        Browsers allow no more than half as much again as they get, so that an easy picture seems
        to have a slow network. An estimate is believed when it is below what is sent, or above
        the target; any other only lets the target grow.
        """
        return self._target_bps

    @target_bitrate.setter
    def target_bitrate(self, bits_per_second: int) -> None:
        crowded = bits_per_second < CROWDED * self._sent.bits_per_second
        wanted = bits_per_second if crowded else max(bits_per_second, GROWTH * self._target_bps)
        self._target_bps = max(LEAST_BPS, min(int(wanted), MOST_BPS))

    def encode(self, frame: Frame, force_keyframe: bool = False) -> tuple[list[bytes], int]:
        """(RTP payloads, timestamp at 90 kHz)."""
        assert isinstance(frame, VideoFrame) and frame.pts is not None
        self.sent_scale = scale_for(self._target_bps, frame.width * frame.height, self.sent_scale)
        small = self._sized(frame)
        if self._context is None or not self._fits(self._context, small):
            self._context = self._open(small.width, small.height)
        small.pict_type = PictureType.I if force_keyframe else PictureType.NONE
        data = b"".join(bytes(packet) for packet in self._context.encode(small))
        if not data:
            return [], frame.pts
        whole = Packet(data)
        whole.pts, whole.time_base = frame.pts, VIDEO_TIME_BASE
        self._sent.add(frame.pts, len(data))
        return self.pack(whole)

    def pack(self, packet: Packet[Any]) -> tuple[list[bytes], int]:
        """See :class:`aiortc.codecs.base.Encoder`."""
        return self._packer.pack(packet)

    def _sized(self, frame: VideoFrame) -> VideoFrame:
        width, height = (max(2, round(side * self.sent_scale / 2) * 2) for side in
                         (frame.width, frame.height))  # fmt: skip
        if (width, height) == (frame.width, frame.height) and frame.format.name == "yuv420p":
            return frame
        small = frame.reformat(width, height, "yuv420p", interpolation="AREA")
        small.pts, small.time_base = frame.pts, VIDEO_TIME_BASE
        return small

    def _fits(self, context: VideoCodecContext, frame: VideoFrame) -> bool:
        rate = self._target_bps / (context.bit_rate or 1)
        same_size = (context.width, context.height) == (frame.width, frame.height)
        return same_size and 1 / STEADY < rate < STEADY

    def _open(self, width_px: int, height_px: int) -> VideoCodecContext:
        context: Any = av.CodecContext.create(self._name, "w")
        context.width, context.height, context.pix_fmt = width_px, height_px, "yuv420p"
        context.bit_rate = self._target_bps
        context.time_base, context.framerate = VIDEO_TIME_BASE, Fraction(FRAME_RATE)
        context.gop_size = 3000
        context.max_b_frames = 0
        context.thread_count = 1
        rate = str(self._target_bps)
        context.options = {**self._options, "maxrate": rate, "bufsize": str(self._target_bps // 2)}
        if self._name == "libx264":
            context.profile = "Baseline"
        opened: VideoCodecContext = context
        return opened


class _Sent:
    """What was encoded in the last second of pictures; one thread adds, another reads."""

    def __init__(self) -> None:
        self.bits_per_second = 0
        self._sizes: deque[tuple[int, int]] = deque()

    def add(self, pts: int, size_bytes: int) -> None:
        """``pts`` at 90 kHz."""
        self._sizes.append((pts, size_bytes))
        while pts - self._sizes[0][0] > VIDEO_CLOCK_RATE:
            self._sizes.popleft()
        self.bits_per_second = 8 * sum(size for _, size in self._sizes)


def scale_for(bits_per_second: int, pixels: int, now: float) -> float:
    """The largest of :data:`SCALES` that leaves enough bits for each pixel.

    Growing again takes a third more than staying, so that the size does not swing.
    """
    for scale in SCALES:
        needed = LEAST_BITS_PER_PIXEL * pixels * scale * scale * FRAME_RATE
        if bits_per_second >= needed * (4 / 3 if scale > now else 1):
            return scale
    return SCALES[-1]


def sent_codec(answer_sdp: str) -> str:
    """The codec in which video will be sent: the first one of the answer's video section."""
    section = answer_sdp[answer_sdp.index("m=video") :]
    first = re.match(r"m=video \d+ \S+ (\d+)", section)
    found = first and re.search(rf"a=rtpmap:{first[1]} (\w+)/90000", section)
    if not found or found[1] not in CODECS:
        raise ValueError(f"no codec of {', '.join(CODECS)} in the answer")
    return found[1]
