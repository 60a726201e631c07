"""What encoders are known to cost: memory and time for each pixel, as measured."""

from __future__ import annotations

from dataclasses import dataclass, field

MOST_BFRAMES = 3
"""Beyond this many, frames of lookahead wait as they came and take less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderCost:
    """Bytes are per pixel of a 4:2:0 8-bit frame. Found by coding an animation and a talking head
    at 720p and 2160p with PyAV 18."""

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
    bytes_beside: float = 0.0
    """What a lookahead in a thread of its own adds: with several threads and the preset's own
    lookahead."""
    lookahead: dict[str, int] = field(default_factory=dict)
    """Frames that each preset looks ahead by itself; "" for all others."""
    more_bytes: dict[str, float] = field(default_factory=dict)
    """What a preset adds by other means: pictures for reference, filtered copies."""
    ns_per_px: dict[str, float] = field(default_factory=dict)
    """CPU time by preset; "" for all others."""

    def held_bytes_per_px(self, preset: str, threads: int, lookahead_frames: int | None) -> float:
        """Bytes per pixel; None: the preset's own lookahead."""
        frames = lookahead_frames
        if frames is None:
            frames = self.lookahead.get(preset, self.lookahead.get("", 0))
        bframes = min(frames, MOST_BFRAMES)
        beside = self.bytes_beside if lookahead_frames is None and threads > 1 else 0.0
        return (
            self.bytes_per_px
            + self.more_bytes.get(preset, self.more_bytes.get("", 0.0))
            + self.bytes_per_bframe * bframes
            + self.bytes_per_lookahead * (frames - bframes)
            + (self.bytes_per_thread + self.bytes_per_thread_bframe * bframes) * (threads - 1)
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
        more_bytes={"ultrafast": -6, "superfast": 0, "veryfast": 0, "": 12},
        ns_per_px={"ultrafast": 9.1, "superfast": 14.7, "veryfast": 22.7, "faster": 34.7,
                   "fast": 49.1, "medium": 60.0, "": 86.7},
    ),
    "libx265": EncoderCost(
        bytes_per_px=63, bytes_per_bframe=4.7, bytes_per_lookahead=4.7, lookahead={"": 20},
        more_bytes={"ultrafast": -40, "superfast": -30, "veryfast": 0, "": 40},
        ns_per_px={"ultrafast": 39.9, "": 86.8},
    ),
    "libsvtav1": EncoderCost(
        bytes_per_px=21, bytes_per_bframe=8.6, bytes_per_lookahead=8.6, lookahead={"": 32},
        ns_per_px={"": 33.3},
    ),
    "libvpx-vp9": EncoderCost(
        bytes_per_px=88, bytes_per_bframe=2.5, bytes_per_lookahead=2.5, lookahead={"": 25},
        ns_per_px={"": 29.1},
    ),
    "mpeg4": EncoderCost(bytes_per_px=20, ns_per_px={"": 4.8}),
    "mpeg2video": EncoderCost(bytes_per_px=20, ns_per_px={"": 4.5}),
    "mjpeg": EncoderCost(bytes_per_px=12, ns_per_px={"": 6.9}),
    "ffv1": EncoderCost(bytes_per_px=30, ns_per_px={"": 21.7}),
    "prores_ks": EncoderCost(bytes_per_px=20, ns_per_px={"": 94.7}),
}  # fmt: skip

UNKNOWN = EncoderCost(bytes_per_px=60, ns_per_px={"": 50.0})
"""Any other encoder: between those that are known."""


def encoder_cost(codec: str) -> EncoderCost:
    """Costs of an encoder by FFmpeg's name."""
    return ENCODER_COSTS.get(codec, UNKNOWN)
