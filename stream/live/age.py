"""How old pictures are when shown, and how many are shown per second, in bounded memory."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from threading import Lock

import numpy as np

RECENT_S = 3.0
"""What "now" means in figures for people."""

_LONGEST_MS = 10_000
_MOST_RECENT = 1024


@dataclass(frozen=True, slots=True)
class Ages:
    """Age of pictures when shown, in milliseconds; all 0 where none was shown."""

    p50: float = 0.0
    p95: float = 0.0
    max: float = 0.0

    def to_dict(self) -> dict[str, float]:
        """The figures for a report."""
        return {"p50": round(self.p50, 1), "p95": round(self.p95, 1), "max": round(self.max, 1)}


class AgeMeter:
    """Takes note of every picture that is shown. For any number of threads."""

    def __init__(self) -> None:
        self.shown = 0
        self.first_s: float | None = None
        """When the first picture was shown, in seconds of ``time.monotonic``."""
        self._counts = np.zeros(_LONGEST_MS + 1, np.int64)
        self._oldest_ms = 0.0
        self._recent: deque[tuple[float, float]] = deque(maxlen=_MOST_RECENT)
        self._lock = Lock()

    def note(self, captured_s: float, shown_s: float | None = None) -> float:
        """Count a picture shown now; its age in milliseconds. Times are of ``time.monotonic``."""
        now_s = time.monotonic() if shown_s is None else shown_s
        age_ms = max(0.0, 1e3 * (now_s - captured_s))
        with self._lock:
            self.shown += 1
            self.first_s = now_s if self.first_s is None else self.first_s
            self._counts[min(round(age_ms), _LONGEST_MS)] += 1
            self._oldest_ms = max(self._oldest_ms, age_ms)
            self._recent.append((now_s, age_ms))
        return age_ms

    def overall(self) -> Ages:
        """Of all pictures so far, to a millisecond."""
        with self._lock:
            if not self.shown:
                return Ages()
            below = np.cumsum(self._counts) / self.shown
            p50, p95 = (float(np.searchsorted(below, share)) for share in (0.5, 0.95))
            return Ages(p50, p95, self._oldest_ms)

    def recent(self, now_s: float | None = None) -> tuple[float, Ages]:
        """(frames per second, ages) of the last :data:`RECENT_S` seconds."""
        now_s = time.monotonic() if now_s is None else now_s
        with self._lock:
            last = [(at_s, age) for at_s, age in self._recent if now_s - at_s <= RECENT_S]
        if len(last) < 2:
            return 0.0, Ages(*(last[0][1:] * 3 if last else ()))
        fps = (len(last) - 1) / max(1e-3, now_s - last[0][0])
        ages = [age for _, age in last]
        p50, p95, most = np.percentile(ages, (50, 95, 100))
        return fps, Ages(float(p50), float(p95), float(most))
