"""What encoders are known to cost: memory and time for each pixel, as measured."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class EncoderCost:
    """Per pixel of a 4:2:0 8-bit frame. Found by coding an animation and a talking head."""

    bytes_per_px: float
    """With one thread, and no lookahead where that can be chosen."""
    bytes_per_thread: float = 0.0
    """What each further thread adds."""
    bytes_per_lookahead: float = 0.0
    """What each frame of lookahead adds."""
    lookahead: dict[str, int] = field(default_factory=dict)
    """Frames that each preset looks ahead by itself."""
    ns_per_px: dict[str, float] = field(default_factory=dict)
    """CPU time by preset; "" for all others."""


ENCODER_COSTS: dict[str, EncoderCost] = {
    "libx264": EncoderCost(
        bytes_per_px=60,
        bytes_per_thread=25,
        bytes_per_lookahead=3.2,
        lookahead={"ultrafast": 0, "superfast": 0, "veryfast": 10, "faster": 20, "fast": 30,
                   "medium": 40, "slow": 50, "": 60},
        ns_per_px={"ultrafast": 9.1, "superfast": 14.7, "veryfast": 22.7, "faster": 34.7,
                   "fast": 49.1, "medium": 60.0, "": 86.7},
    ),
    "libx265": EncoderCost(270, ns_per_px={"ultrafast": 39.9, "": 86.8}),
    "libsvtav1": EncoderCost(343, ns_per_px={"": 33.3}),
    "libvpx-vp9": EncoderCost(186, ns_per_px={"": 29.1}),
    "mpeg4": EncoderCost(42, ns_per_px={"": 4.8}),
    "mpeg2video": EncoderCost(44, ns_per_px={"": 4.5}),
    "mjpeg": EncoderCost(43, ns_per_px={"": 6.9}),
    "ffv1": EncoderCost(62, ns_per_px={"": 21.7}),
    "prores_ks": EncoderCost(41, ns_per_px={"": 94.7}),
}  # fmt: skip

UNKNOWN = EncoderCost(200, ns_per_px={"": 50.0})
"""Any other encoder: no better than a guess between the others."""


def encoder_cost(codec: str) -> EncoderCost:
    """Costs of an encoder by FFmpeg's name."""
    return ENCODER_COSTS.get(codec, UNKNOWN)
