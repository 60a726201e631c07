"""When frames come and go: the first one out, how long each takes, and the pace once running."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Generator, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")

KEPT = 10_000
"""Frames looked back on: the figures of a long job are those of its last part."""


class Pace:
    """Notes the time at which frames leave the source, and the time at which they are written.

    One thread reads frames and one writes them, in the same order.
    """

    def __init__(self, started_s: float) -> None:
        """``started_s`` is the job's beginning on the clock of :func:`time.perf_counter`."""
        self._started_s = started_s
        self._inside: deque[float] = deque()
        self._latencies_s: deque[float] = deque(maxlen=KEPT)
        self._written_s: deque[float] = deque(maxlen=KEPT)
        self.first_frame_s = 0.0
        """From the job's beginning until the first frame was handed to the sink; 0 before that."""

    def reading(self, frames: Iterable[T]) -> Generator[T, None, None]:
        """Yield ``frames`` and note when each is there."""
        for frame in frames:
            self._inside.append(time.perf_counter())
            yield frame

    def written(self) -> None:
        """The oldest frame not yet written was written now."""
        now_s = time.perf_counter()
        self._latencies_s.append(now_s - self._inside.popleft())
        self._written_s.append(now_s)
        self.first_frame_s = self.first_frame_s or now_s - self._started_s

    def latency_ms(self) -> dict[str, float]:
        """Milliseconds from source to sink, waits between stages included: ``p50`` and ``p95``."""
        ordered = sorted(self._latencies_s)
        return {name: round(1e3 * _share(ordered, part), 3) for name, part in _PARTS.items()}

    def steady_fps(self) -> float:
        """Frames per second without start-up and end: over all but the first quarter of frames."""
        times = list(self._written_s)
        counted = times[len(times) // 4 :]
        if len(counted) < 2 or counted[-1] == counted[0]:
            return 0.0
        return (len(counted) - 1) / (counted[-1] - counted[0])


_PARTS = {"p50": 0.5, "p95": 0.95}


def _share(ordered: Sequence[float], part: float) -> float:
    """The smallest value that at least ``part`` of them do not exceed; 0 of none."""
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)] if ordered else 0.0
