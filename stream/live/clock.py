"""When a picture was taken, by the clock of this machine (``time.monotonic``)."""

from __future__ import annotations

SPAN_S = 5.0
"""How long the quickest arrival stands for "no delay": slow clocks and pauses are forgotten."""

JUMP_S = 1.5
"""Times that come so much later or earlier than expected belong to another recording."""

LATE_S = 0.5
"""A file that is read so late goes on from now: nobody wants to see it hurry."""

HURRY_S = 1.0
"""Less than this may come at once from something live: it had waited in buffers."""


class ArrivalClock:
    """For pictures that come when they come: what came quickest had no delay, the rest waited.

    So the age counts what lies in sockets and buffers of this machine, as far as the picture's
    own time tells.
    """

    def __init__(self) -> None:
        self._offset_s: float | None = None
        self._next_s = 0.0
        self._since_s = 0.0
        self._first_s: tuple[float, float] | None = None
        self._played_s = self._passed_s = 0.0

    @property
    def hurried(self) -> bool:
        """Twice as much has come as can be taken in that time: it is a recording, not live."""
        return self._played_s > max(HURRY_S, 2 * self._passed_s)

    def captured_s(self, time_s: float, now_s: float) -> float:
        """When the picture with the source's own ``time_s`` was taken, at most ``now_s``."""
        self._first_s = self._first_s or (time_s, now_s)
        self._played_s, self._passed_s = time_s - self._first_s[0], now_s - self._first_s[1]
        offset_s = now_s - time_s
        if self._offset_s is None or not -JUMP_S < offset_s - self._offset_s < JUMP_S:
            self._offset_s = self._next_s = offset_s
            self._since_s = now_s
        self._offset_s = min(self._offset_s, offset_s)
        self._next_s = min(self._next_s, offset_s)
        if now_s - self._since_s > SPAN_S:
            self._offset_s, self._next_s, self._since_s = self._next_s, offset_s, now_s
        return time_s + self._offset_s


class PacedClock:
    """For recordings: a picture counts as taken when it is due, as if a camera gave it."""

    def __init__(self) -> None:
        self._offset_s: float | None = None
        self.moved = 0
        """How often reading was too slow and the clock was put back."""

    def due_s(self, time_s: float, now_s: float) -> float:
        """When the picture with the source's own ``time_s`` is due; wait until then."""
        if self._offset_s is None:
            self._offset_s = now_s - time_s
        due_s = time_s + self._offset_s
        if due_s < now_s - LATE_S or due_s > now_s + 10 * LATE_S:
            self.moved += 1
            self._offset_s = now_s - time_s
            return now_s
        return due_s

    def pause(self, seconds: float) -> None:
        """The recording stood still for so long, since nobody was ready for its pictures."""
        if self._offset_s is not None:
            self._offset_s += seconds
