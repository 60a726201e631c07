"""An even beat: which of the frames that come are painted when not all are."""

from __future__ import annotations

from threading import Lock


class Beat:
    """Lets frames through no more often than asked for, without a beat of its own drifting."""

    def __init__(self) -> None:
        self._due_s = 0.0
        self._lock = Lock()

    def admits(self, at_s: float, interval_s: float) -> bool:
        """Whether a frame of this moment is due; a quarter of the interval early is near enough."""
        with self._lock:
            if -1.5 * interval_s <= at_s - self._due_s < -interval_s / 4:
                return False
            on_beat = -interval_s / 4 <= at_s - self._due_s < interval_s
            # A beat that was missed is not caught up with: that would let a burst through.
            self._due_s = (self._due_s if on_beat else at_s) + interval_s
            return True
