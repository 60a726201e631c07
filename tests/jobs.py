"""Jobs for the planner: sizes, and what a job of one of them costs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sfumato.kernels.formats import PixelFormat
from sfumato.models.probe import NetworkCost
from sfumato.models.spec import StyleSpec
from sfumato.stream.work import Work

MIB = 2**20
SPEC = StyleSpec(name="any", cell=4, multiple=4, radius_px=12)
SIZES = {"360p": (640, 360), "720p": (1280, 720), "1080p": (1920, 1080), "2160p": (3840, 2160)}


def work(size_px: tuple[int, int] = (1280, 720), **changes: Any) -> Work:
    made = Work(
        source_px=size_px,
        paint_px=size_px,
        source=PixelFormat(),
        painted=PixelFormat(),
        network=NetworkCost(
            bytes_per_px=28.0, fixed_bytes=3 * MIB, ms_per_mpx=27.0, more_bytes_per_px=28.0
        ),
        held_bytes=100 * MIB,
        encoder="libx264",
        preset="superfast",
        frames=100,
    )
    return replace(made, **changes)
