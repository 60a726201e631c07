"""What a caller may choose about a live run, checked once when built."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from sfumato.stream.errors import SettingsError
from sfumato.stream.settings import PaintSettings

MAX_AGE_MS = 120.0
"""Oldest a picture should be when shown: a call's own delay hides that much (ITU-T G.114: 150 ms)."""

LEAST_FPS = 24.0
"""Frames per second that are held where nobody asks for another number: film's."""


def check_duration(duration_s: float | None) -> None:
    """Raise :class:`SettingsError` where a run cannot last so long."""
    if duration_s is not None and not (math.isfinite(duration_s) and duration_s > 0):
        raise SettingsError(f"--duration {duration_s}: should be more than 0 seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSettings:
    """How fresh, how fluent, and how frames are painted. Raises :class:`SettingsError`.

    Attributes:
        paint: How frames are painted; its ``scale`` does not count.
        scale: 0.1 to 1: the size at which frames are painted; None lets the governor choose from
            1 down to ½.
        max_age_ms: 10 to 10 000 ms: the oldest a picture should be when it is shown.
        fps: 1 to 240 frames per second to hold, and the most to show; None holds
            :data:`LEAST_FPS` and shows all.
    """

    paint: PaintSettings = field(default_factory=PaintSettings)
    scale: float | None = None
    max_age_ms: float = MAX_AGE_MS
    fps: float | None = None

    def __post_init__(self) -> None:
        if not 10 <= self.max_age_ms <= 10_000:
            raise SettingsError(f"--max-age {self.max_age_ms}: should be from 10 to 10000 ms")
        if self.fps is not None and not 1 <= self.fps <= 240:
            raise SettingsError(f"--fps {self.fps}: should be from 1 to 240")
        replace(self.paint, scale=self.scale or 1.0)  # checks the scale

    @property
    def least_fps(self) -> float:
        """Frames per second to hold."""
        return LEAST_FPS if self.fps is None else self.fps

    @property
    def look(self) -> tuple[str, float | None, float | None]:
        """Style, smoothing and scale: what engines are made for, unlike the strength."""
        return self.paint.style, self.paint.smooth, self.scale

    def changed(
        self, style: str | None, strength: float | None, smooth: float | None, scale: float | None
    ) -> LiveSettings:
        """The same but for what is not None; ``scale`` 0 lets the governor choose."""
        paint = self.paint
        return replace(
            self,
            paint=replace(
                paint,
                style=paint.style if style is None else style,
                strength=paint.strength if strength is None else strength,
                smooth=paint.smooth if smooth is None else smooth,
            ),
            scale=self.scale if scale is None else scale or None,
        )
