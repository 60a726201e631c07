"""How well can be painted now, so that pictures stay fresh and flow.

Pure logic: times come in with the samples, levels go out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sfumato.stream.live.levels import Level

WINDOW_S = 1.0
"""How far back a judgement looks."""

FEWEST = 8
"""Pictures without which nothing is judged, other than that all of them are very late."""

LATE_SHARE = 0.08
"""Share of late pictures in the window that is too many: the promise is a 95th percentile."""

ROOM = 0.8
"""Part of the time for a frame that a level may be predicted to take: the rest is for surprises."""

CALM_S, LONGEST_CALM_S = 3.0, 60.0
"""How long all must be well before a better level is tried; doubled when that was a mistake."""

MISTAKE_S = 10.0
"""A level given up sooner than this was a mistake to try."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One painted picture."""

    done_s: float
    """When it was painted, in seconds of any clock."""
    age_s: float
    """Its age then."""
    busy_s: float
    """What painting took, from the moment the painter turned to it."""
    network_s: float
    """The part of ``busy_s`` that follows from :attr:`Level.work`."""


class Governor:
    """Chooses among levels, best first, by what painting takes.

    Down as soon as pictures are late or too few and painting is the reason; up when all has been
    well for a while and the better level is predicted, from measured times, to leave room.
    """

    def __init__(self, levels: Sequence[Level], *, max_age_s: float, least_fps: float) -> None:
        self._levels = list(levels)
        self._index = 0
        self._max_age_s, self._least_fps = max_age_s, least_fps
        self._window: deque[Sample] = deque()
        self._arrivals: deque[float] = deque(maxlen=64)
        self._calm_s = CALM_S
        self._well_since_s: float | None = None
        self._raised_s: float | None = None

    @property
    def level(self) -> Level:
        """How to paint."""
        return self._levels[self._index]

    def use(self, levels: Sequence[Level]) -> None:
        """Another style or scale was asked for: what was learnt of the old one is forgotten."""
        self._index = 0 if len(levels) != len(self._levels) else self._index
        self._levels = list(levels)
        self._restart()
        self._calm_s = CALM_S

    def arrived(self, at_s: float) -> None:
        """A frame was offered, painted or not."""
        self._arrivals.append(at_s)

    @property
    def source_fps(self) -> float | None:
        """Frames per second that are offered; None while that is not known."""
        if len(self._arrivals) < FEWEST:
            return None
        span_s = self._arrivals[-1] - self._arrivals[0]
        return (len(self._arrivals) - 1) / span_s if span_s > 0 else None

    def painted(self, sample: Sample) -> str | None:
        """Take note of a picture painted at :attr:`level`; why the level changed, if it did."""
        window = self._window
        window.append(sample)
        while sample.done_s - window[0].done_s > WINDOW_S:
            window.popleft()
        if (trouble := self._trouble()) is not None:
            self._well_since_s = None
            return self._lower(trouble, sample.done_s)
        if self._well_since_s is None:
            self._well_since_s = sample.done_s
        if sample.done_s - self._well_since_s >= self._calm_s:
            return self._raise(sample.done_s)
        return None

    def _trouble(self) -> str | None:
        """What is wrong and can be helped by painting less; None where nothing is."""
        window, limit_s = self._window, self._max_age_s
        if len(window) < FEWEST:
            lost = len(window) >= 3 and min(s.age_s for s in window) > 2 * limit_s
            return self._late() if lost and self._matters() else None
        late = sum(sample.age_s > limit_s for sample in window)
        if late > LATE_SHARE * len(window) and self._matters():
            return self._late()
        span_s = window[-1].done_s - window[0].done_s
        if span_s < WINDOW_S / 2:
            return None
        fps = (len(window) - 1) / span_s
        busy = sum(sample.busy_s for sample in list(window)[1:]) / span_s
        if fps < 0.93 * self._wanted_fps() and busy > ROOM:
            return f"{fps:.0f} frames per second instead of {self._wanted_fps():.0f}"
        return None

    def _late(self) -> str:
        ages_s = sorted(sample.age_s for sample in self._window)
        worst_s = ages_s[int(0.95 * (len(ages_s) - 1))]
        return f"pictures are {1e3 * worst_s:.0f} ms old, the limit is {1e3 * self._max_age_s:.0f}"

    def _matters(self) -> bool:
        """Painting makes up a good part of the age: a slow network cannot be helped here."""
        return self._typical(lambda s: s.busy_s) > 0.15 * self._typical(lambda s: s.age_s)

    def _wanted_fps(self) -> float:
        """What is promised, or all that comes."""
        every = self.level.every
        source = self.source_fps
        return min(self._least_fps, source or self._least_fps) / every

    def _lower(self, reason: str, now_s: float) -> str | None:
        if self._index + 1 >= len(self._levels):
            return None
        if self._raised_s is not None and now_s - self._raised_s < MISTAKE_S:
            self._calm_s = min(2 * self._calm_s, LONGEST_CALM_S)
        lower = range(self._index + 1, len(self._levels))
        fitting = (i for i in lower if self._fits(self._levels[i]))
        return self._go(next(fitting, self._index + 1), reason)

    def _raise(self, now_s: float) -> str | None:
        if self._raised_s is not None and now_s - self._raised_s > 2 * self._calm_s:
            self._calm_s = CALM_S  # it lasted
        if self._index == 0 or not self._fits(self._levels[self._index - 1]):
            return None
        better = self._levels[self._index - 1]
        self._raised_s = now_s
        return self._go(self._index - 1, f"predicted {1e3 * self._predicted_s(better):.0f} ms")

    def _fits(self, level: Level) -> bool:
        """The level is predicted to leave room in the time between frames and in the age."""
        busy_s, wanted = self._predicted_s(level), self._least_fps / level.every
        interval_s = 1 / min(wanted, self.source_fps or wanted)
        waits_s = self._typical(lambda s: s.age_s - s.busy_s)
        before_s = min(waits_s, interval_s)  # what waits shortens with the work, down to this
        return busy_s <= ROOM * interval_s and busy_s + before_s <= ROOM * self._max_age_s

    def _predicted_s(self, level: Level) -> float:
        """What painting a frame would take: the network's part grows with its work."""
        network_s = self._typical(lambda s: s.network_s)
        rest_s = self._typical(lambda s: s.busy_s - s.network_s)
        return network_s * level.work / self.level.work + rest_s

    def _typical(self, part: Callable[[Sample], float]) -> float:
        """The 80th percentile: one slow picture decides nothing."""
        values = sorted(part(sample) for sample in self._window)
        return float(values[int(0.8 * (len(values) - 1))]) if values else 0.0

    def _go(self, index: int, reason: str) -> str:
        before, self._index = self.level, index
        self._restart()
        return f"{before} → {self.level}: {reason}"

    def _restart(self) -> None:
        self._window.clear()
        self._well_since_s = None
