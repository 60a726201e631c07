"""How well can be painted now, so that pictures stay fresh and flow.

Pure logic: times come in with the samples, levels go out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp2

from sfumato.stream.live.levels import Level

WINDOW_S = 1.0
"""How far back a judgement looks, or farther for the fewest pictures."""

SETTLE_S = 0.4
"""What a new level's first pictures took tells of its preparation, not of the level."""

FEWEST = 8
"""Pictures without which nothing is judged, other than that all of them are very late."""

LATE_SHARE = 0.08
"""Share of late pictures in the window that is too many: the promise is a 95th percentile."""

ROOM = 0.8
"""Part of the time for a frame that a level may be predicted to take: the rest is for surprises."""

CALM_S = 3.0
"""How long all must be well before a better level is tried."""

PATIENT_S = 10.0
"""After this a level is tried too that is predicted to do without room for surprises: the smaller
pictures are, the more of what they take is not the network's, and the larger ones seem too dear."""

PENALTY_S, LONGEST_PENALTY_S = 6.0, 60.0
"""How long a level that had to be given up is not tried again; doubled each time it happens."""

LASTED_S = 20.0
"""A level that served so long may be tried again as if it had never failed."""

MOST_WRONG = 3.0
"""Predictions are corrected by what they got wrong before, up to this many times."""

FORGET_S = 15.0
"""For the times in which half of that is forgotten: four times this for the first failure."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One painted picture."""

    done_s: float
    """When it was painted, in seconds of any clock."""
    age_s: float
    """Its age then."""
    busy_s: float
    """What painting took, from the moment the painter turned to it."""
    scaled_s: float
    """The part of ``busy_s`` that grows with :attr:`Level.work`."""
    cores: int = 1
    """Cores that painted it."""


@dataclass(slots=True)
class _Record:
    """What is remembered of a level with so many cores."""

    wrong: float = 1.0
    """What it took, over what was predicted."""
    penalty_s: float = PENALTY_S
    barred_until_s: float = 0.0
    failed_busy_s: float = 0.0
    """What painting took when it was given up."""
    served: bool = False
    """All was well with it when it was last used."""


class Governor:
    """Chooses among levels, best first, by what painting takes.

    Down as soon as pictures are late or too few and painting is the reason; up when all has been
    well for a while and the better level is predicted, from measured times, to leave room. What is
    learnt holds for the number of cores it was learnt with: where that changes, the level that
    served with as many before is tried first.
    """

    def __init__(self, levels: Sequence[Level], *, max_age_s: float, least_fps: float) -> None:
        self._max_age_s, self._least_fps = max_age_s, least_fps
        self._window: deque[Sample] = deque()
        self._arrivals: deque[float] = deque(maxlen=64)
        self._index = 0
        self._cores = 0
        self._home: int | None = None
        """The level that served when there were last as many cores, until it has been tried."""
        self._well_since_s = 0.0
        self._settled_s: float | None = None
        """When the present level's pictures began to count."""
        self._expected_s: float | None = None
        """What painting was predicted to take when the present level was chosen."""
        self.use(levels)

    @property
    def level(self) -> Level:
        """How to paint."""
        return self._levels[self._index]

    def use(self, levels: Sequence[Level]) -> None:
        """Another style or scale was asked for: what was learnt of the old ones is forgotten."""
        self._levels = list(levels)
        self._index = min(self._index, len(self._levels) - 1)
        self._known = {self._cores: [_Record() for _ in levels]}
        self._home = None
        self._restart()

    def leave_out(self, style: str, scale: float) -> None:
        """Nothing can be painted like that, at any pace; what is alone stays."""
        unlike = [level for level in self._levels if (level.style, level.scale) != (style, scale)]
        if unlike:
            self.use(unlike)

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
        now_s = sample.done_s
        if sample.cores != self._cores:
            self._recount(sample.cores)
        if self._settled_s is None:
            self._settled_s = self._well_since_s = now_s + SETTLE_S
        if now_s < self._settled_s:
            return None
        self._window.append(sample)
        while now_s - self._window[0].done_s > WINDOW_S and len(self._window) > FEWEST:
            self._window.popleft()
        if (trouble := self._trouble()) is not None:
            self._well_since_s = now_s
            return self._lower(*trouble, now_s)
        if len(self._window) < FEWEST or now_s - self._well_since_s < CALM_S:
            return None
        self._learn(now_s - self._settled_s)
        self._records[self._index].served = True
        return self._raise(now_s)

    def _recount(self, cores: int) -> None:
        """Go by what is known of so many cores."""
        self._cores = cores
        self._known.setdefault(cores, [_Record() for _ in self._levels])
        served = (index for index, record in enumerate(self._records) if record.served)
        self._home = next(served, None)
        self._restart()

    @property
    def _records(self) -> list[_Record]:
        """Of each level, with the present cores."""
        return self._known[self._cores]

    def _trouble(self) -> tuple[str, bool] | None:
        """What is wrong and can be helped by painting less, and whether pictures are late; None
        where nothing is."""
        window, limit_s = self._window, self._max_age_s
        if len(window) < FEWEST:
            lost = len(window) >= 3 and min(s.age_s for s in window) > 2 * limit_s
            return (self._late(), True) if lost and self._matters() else None
        late = sum(sample.age_s > limit_s for sample in window)
        if late > max(1, LATE_SHARE * len(window)) and self._matters():
            return self._late(), True
        span_s = window[-1].done_s - window[0].done_s
        if span_s < WINDOW_S / 2:
            return None
        fps = (len(window) - 1) / span_s
        busy = sum(sample.busy_s for sample in list(window)[1:]) / span_s
        if fps < 0.93 * self._wanted_fps(self.level) and busy > ROOM:
            wanted = self._wanted_fps(self.level)
            return f"{fps:.0f} pictures per second instead of {wanted:.0f}", False
        return None

    def _late(self) -> str:
        worst_ms = 1e3 * max(sample.age_s for sample in self._window)
        limit_ms = 1e3 * self._max_age_s
        return f"pictures are up to {worst_ms:.0f} ms old, the limit is {limit_ms:.0f}"

    def _matters(self) -> bool:
        """Painting makes up a good part of the age: a slow network cannot be helped here."""
        return self._typical(lambda s: s.busy_s) > 0.15 * self._typical(lambda s: s.age_s)

    def _wanted_fps(self, level: Level) -> float:
        """What is promised, or all that comes; less where frames are left out on purpose."""
        return min(self._least_fps, self.source_fps or self._least_fps) / level.every

    def _lower(self, reason: str, late: bool, now_s: float) -> str | None:
        index = self._lower_index(late)
        if index is None:
            return None
        record, self._home = self._records[self._index], None
        record.served = False
        record.barred_until_s = now_s + record.penalty_s
        record.penalty_s = min(2 * record.penalty_s, LONGEST_PENALTY_S)
        record.failed_busy_s = self._typical(lambda s: s.busy_s)
        self._learn(0.0)
        return self._go(index, reason)

    def _lower_index(self, late: bool) -> int | None:
        """The best lower level that fits, else the last that paints every frame. Frames are left
        out only against lateness: where they are too few that would be no help."""
        below = range(self._index + 1, len(self._levels))
        full = [index for index in below if self._levels[index].every == 1]
        sparse = [index for index in below if late and self._levels[index].every > 1]
        fitting = [index for index in full or sparse if self._fits(index)]
        return next(iter(fitting or full[-1:] or sparse[:1]), None)

    def _raise(self, now_s: float) -> str | None:
        better, home = self._index - 1, self._home
        if home is not None and home < self._index and now_s >= self._records[home].barred_until_s:
            self._home = None
            return self._go(home, f"it served with {self._cores} cores before")
        room = ROOM if now_s - self._well_since_s < PATIENT_S else 1.0
        if better < 0 or not self._fits(better, room):
            return None
        record, predicted_s = self._records[better], self._predicted_s(better)
        if now_s < record.barred_until_s and predicted_s > record.failed_busy_s / 2:
            return None
        return self._go(better, f"predicted {1e3 * predicted_s:.0f} ms")

    def _learn(self, lasted_s: float) -> None:
        """Compare what the level takes with what was predicted when it was chosen."""
        record = self._records[self._index]
        if self._expected_s is not None:
            wrong = self._typical(lambda s: s.busy_s) / max(1e-4, self._expected_s)
            record.wrong = min(MOST_WRONG, max(1.0, wrong))
            self._expected_s = None
        if lasted_s > LASTED_S:
            record.penalty_s = PENALTY_S

    def _fits(self, index: int, room: float = ROOM) -> bool:
        """The level is predicted to take no more than this part of the time between frames and of
        the age."""
        interval_s = 1 / self._wanted_fps(self._levels[index])
        busy_s = self._predicted_s(index)
        waits_s = self._typical(lambda s: s.age_s - s.busy_s)
        before_s = min(waits_s, interval_s)  # what waits shortens with the work, down to this
        if self._levels[index].every > 1:  # the painter waits for the frame, not the frame for it
            before_s = 0.0
        return busy_s <= room * interval_s and busy_s + before_s <= room * self._max_age_s

    def _predicted_s(self, index: int) -> float:
        """What painting a frame at a level would take, corrected by what is known of it."""
        better = index < self._index
        return self._uncorrected_s(index) * (self._wrong(index) if better else 1.0)

    def _wrong(self, index: int) -> float:
        """What predictions are to be multiplied by. It may have been learnt in a bad moment: once the
        level may be tried again half is forgotten in a minute, or in four times as long for each
        time that it failed before."""
        record = self._records[index]
        since_s = max(0.0, self._window[-1].done_s - record.barred_until_s) if self._window else 0.0
        half_s = FORGET_S * (record.penalty_s / PENALTY_S) ** 2
        return 1 + (record.wrong - 1) * exp2(-since_s / half_s)

    def _uncorrected_s(self, index: int) -> float:
        scaled_s = self._typical(lambda s: s.scaled_s)
        rest_s = self._typical(lambda s: s.busy_s - s.scaled_s)
        return scaled_s * self._levels[index].work / self.level.work + rest_s

    def _typical(self, part: Callable[[Sample], float]) -> float:
        """The 80th percentile: one slow picture decides nothing."""
        values = sorted(part(sample) for sample in self._window)
        return float(values[int(0.8 * (len(values) - 1))]) if values else 0.0

    def _go(self, index: int, reason: str) -> str:
        before = self.level
        expected_s = self._uncorrected_s(index) if index < self._index else None
        self._index = index
        self._restart()
        self._expected_s = expected_s
        return f"{before} → {self.level}: {reason}"

    def _restart(self) -> None:
        self._window.clear()
        self._settled_s = self._expected_s = None
