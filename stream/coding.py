"""What encoders are known to cost: memory and time for each pixel, as measured."""

from __future__ import annotations

from dataclasses import dataclass, field

MOST_BFRAMES = 3
"""Beyond this many, frames of lookahead wait as they came and take less."""

CLOSE, ROUGH, UNSURE = 8.0, 12.0, 16.0
"""Percent by which predictions of jobs with an encoder are wrong at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderCost:
    """Bytes are per pixel of a 4:2:0 8-bit frame. Found by coding an animation and a talking head
    at 720p and 2160p (x264), and a noisy picture that moves from 360p to 2160p (all others), with
    PyAV 18 on two cores. What checking the finished file takes is in it."""

    fixed_bytes: int = 12 << 20
    bytes_per_px: float
    """With one thread, no lookahead and no B-frame."""
    bytes_per_bframe: float = 0.0
    bytes_per_lookahead: float = 0.0
    """What each frame of lookahead adds, beyond those that become B-frames."""
    bytes_per_thread: float = 0.0
    """What each thread but the first adds…"""
    bytes_per_thread_bframe: float = 0.0
    """…and once more for each B-frame."""
    own_fixed_bytes: int = 0
    own_bytes_per_px: float = 0.0
    """What the encoder's own lookahead adds where it is not counted in frames: a bounded one takes
    nothing."""
    bytes_beside: float = 0.0
    """What a lookahead in a thread of its own adds: with several threads and the preset's own
    lookahead."""
    lookahead: dict[str, int] = field(default_factory=dict)
    """Frames that each preset looks ahead by itself; "" for all others."""
    more_bytes: dict[str, float] = field(default_factory=dict)
    """What a preset adds by other means: pictures for reference, filtered copies."""
    ns_per_px: dict[str, float] = field(default_factory=dict)
    """CPU time by preset; "" for all others."""
    still_share: dict[str, float] = field(default_factory=lambda: {"": 1.0})
    """What of that a picture equal to the one before takes, by preset; what changes in part lies
    between. Found by coding a painted animation and one picture of it for two seconds at 720p."""
    deep: float = 2.0
    """How many times the bytes of 8 bit 10 bit takes."""
    error_percent: float = ROUGH

    def held_bytes(self, lookahead_frames: int | None) -> float:
        """Bytes whatever the size; None: the preset's own lookahead."""
        return self.fixed_bytes + (self.own_fixed_bytes if lookahead_frames is None else 0)

    def held_bytes_per_px(self, preset: str, threads: int, lookahead_frames: int | None) -> float:
        """Bytes per pixel; None: the preset's own lookahead."""
        frames = lookahead_frames
        if frames is None:
            frames = self.lookahead.get(preset, self.lookahead.get("", 0))
        bframes = min(frames, MOST_BFRAMES)
        own = self.own_bytes_per_px if lookahead_frames is None else 0.0
        beside = self.bytes_beside if lookahead_frames is None and threads > 1 else 0.0
        return (
            self.bytes_per_px
            + self.more_bytes.get(preset, self.more_bytes.get("", 0.0))
            + self.bytes_per_bframe * bframes
            + self.bytes_per_lookahead * (frames - bframes)
            + (self.bytes_per_thread + self.bytes_per_thread_bframe * bframes) * (threads - 1)
            + own
            + beside
        )


ENCODER_COSTS: dict[str, EncoderCost] = {
    "libx264": EncoderCost(
        bytes_per_px=20.4,
        bytes_per_bframe=8.9,
        bytes_per_lookahead=3.2,
        bytes_per_thread=6,
        bytes_per_thread_bframe=1.3,
        bytes_beside=13,
        lookahead={"ultrafast": 0, "superfast": 3, "veryfast": 10, "faster": 20, "fast": 30,
                   "medium": 40, "slow": 50, "": 60},
        more_bytes={"ultrafast": -6, "superfast": 0, "veryfast": 0, "slow": 24, "slower": 52,
                    "veryslow": 185, "placebo": 527, "": 12},
        ns_per_px={"ultrafast": 9.1, "superfast": 14.7, "veryfast": 22.7, "faster": 34.7,
                   "fast": 49.1, "medium": 60.0, "slower": 165, "veryslow": 330, "placebo": 1080,
                   "": 86.7},
        still_share={"ultrafast": 0.64, "superfast": 0.47, "": 0.28},
        error_percent=CLOSE,
    ),
    "libx265": EncoderCost(
        fixed_bytes=24 << 20,
        bytes_per_px=53.5,
        bytes_per_bframe=19,
        bytes_per_lookahead=5,
        bytes_per_thread=14.7,
        lookahead={"ultrafast": 5, "superfast": 10, "veryfast": 15, "faster": 15, "fast": 15,
                   "medium": 20, "slow": 25, "": 40},
        more_bytes={"ultrafast": 0, "superfast": 0, "veryfast": 18, "slower": 87, "veryslow": 87,
                    "placebo": 87, "": 30},
        ns_per_px={"ultrafast": 42, "superfast": 75, "veryfast": 105, "faster": 110, "fast": 125,
                   "medium": 150, "slow": 370, "": 1750},
        still_share={"": 0.53},
        deep=1.75,
    ),
    "libsvtav1": EncoderCost(
        fixed_bytes=24 << 20, bytes_per_px=60, own_fixed_bytes=150 << 20, own_bytes_per_px=115,
        lookahead={"": 32}, ns_per_px={"": 33.3}, still_share={"": 0.6}, deep=1.6,
        error_percent=UNSURE,
    ),
    "libvpx-vp9": EncoderCost(
        fixed_bytes=30 << 20, bytes_per_px=76, bytes_per_bframe=1.75, bytes_per_lookahead=1.75,
        bytes_per_thread=6, lookahead={"": 25}, ns_per_px={"": 29.1}, still_share={"": 0.32},
    ),
    "libvpx": EncoderCost(
        fixed_bytes=15 << 20, bytes_per_px=36.5, ns_per_px={"": 8.7}, still_share={"": 0.76}
    ),
    "mpeg4": EncoderCost(
        fixed_bytes=6 << 20, bytes_per_px=10.5, bytes_per_thread=14.3, ns_per_px={"": 4.8}
    ),
    "mpeg2video": EncoderCost(
        fixed_bytes=6 << 20, bytes_per_px=10.5, bytes_per_thread=14.8, ns_per_px={"": 4.5}
    ),
    "mjpeg": EncoderCost(
        fixed_bytes=6 << 20, bytes_per_px=10, bytes_per_thread=19, ns_per_px={"": 6.9}
    ),
    "ffv1": EncoderCost(
        fixed_bytes=4 << 20, bytes_per_px=39.5, ns_per_px={"": 21.7}, deep=1.25,
        error_percent=CLOSE,
    ),
    "prores_ks": EncoderCost(
        fixed_bytes=6 << 20, bytes_per_px=3.5, bytes_per_thread=4, ns_per_px={"": 94.7}
    ),
    "rawvideo": EncoderCost(fixed_bytes=1 << 20, bytes_per_px=4.5, ns_per_px={"": 3.2}),
    "gif": EncoderCost(fixed_bytes=10 << 20, bytes_per_px=6, ns_per_px={"": 23.5}),
    ".png": EncoderCost(fixed_bytes=8 << 20, bytes_per_px=6.3, ns_per_px={"": 104.0}),
    ".tif": EncoderCost(fixed_bytes=5 << 20, bytes_per_px=10.9, ns_per_px={"": 18.5}),
    ".bmp": EncoderCost(fixed_bytes=8 << 20, bytes_per_px=4.6, ns_per_px={"": 5.2}),
    ".jpg": EncoderCost(fixed_bytes=10 << 20, bytes_per_px=8.2, ns_per_px={"": 3.2}),
    ".webp": EncoderCost(fixed_bytes=9 << 20, bytes_per_px=2.6, ns_per_px={"": 52.2}),
}  # fmt: skip

SPELLINGS = {".tiff": ".tif", ".jpeg": ".jpg"}

UNKNOWN = EncoderCost(bytes_per_px=60, ns_per_px={"": 50.0}, error_percent=UNSURE)
"""Any other encoder: between those that are known."""


def encoder_cost(codec: str) -> EncoderCost:
    """Costs of an encoder by FFmpeg's name, or of pictures by their ending."""
    return ENCODER_COSTS.get(SPELLINGS.get(codec, codec), UNKNOWN)
