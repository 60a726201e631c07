"""The governor against a made-up machine: it settles, it does not pump, it comes back."""

from __future__ import annotations

from itertools import pairwise

import pytest

from sfumato.stream.live.governor import Governor, Sample
from sfumato.stream.live.levels import Level, levels_for

LEVELS = [
    Level("toon", 1.0, 4.0),
    Level("toon", 0.75, 2.25),
    Level("toon", 0.5, 1.0),
    Level("toon-fast", 0.5, 0.7),
    Level("toon-fast", 0.5, 0.7, 2),
    Level("toon-fast", 0.5, 0.7, 3),
]


class Machine:
    """Paints frames one at a time, the newest first, at a cost per unit of work."""

    def __init__(
        self, *, fps: float = 30.0, ms_per_work: float = 5.0, rest_ms: float = 3.0
    ) -> None:
        self.governor = Governor(LEVELS, max_age_s=0.12, least_fps=24)
        self.fps, self.ms_per_work, self.rest_ms = fps, ms_per_work, rest_ms
        self.cores = 2
        self.before_s = 0.0
        """What a frame has waited in the network before it is offered."""
        self.now_s = 0.0
        self.changes: list[str] = []
        self.ages: list[float] = []
        self.shown = 0
        self._frame = 0

    @property
    def level(self) -> Level:
        return self.governor.level

    def run(self, seconds: float) -> None:
        """Pass time; the painter takes the newest frame whenever it is free."""
        end_s, self.ages, self.shown = self.now_s + seconds, [], 0
        while self.now_s < end_s:
            newest = max(self._frame + self.level.every, int(self.now_s * self.fps))
            for number in range(self._frame + 1, newest + 1):
                self.governor.arrived(number / self.fps)
            self._frame = newest
            captured_s = newest / self.fps
            begun_s = max(self.now_s, captured_s)
            scaled_s = self.ms_per_work * self.level.work / 1e3
            busy_s = scaled_s + self.rest_ms / 1e3
            self.now_s = begun_s + busy_s
            age_s = self.now_s - captured_s + self.before_s
            self.ages.append(age_s)
            self.shown += 1
            sample = Sample(self.now_s, age_s, busy_s, scaled_s, self.cores)
            change = self.governor.painted(sample)
            if change is not None:
                self.changes.append(change)


def test_a_quick_machine_stays_at_its_best() -> None:
    machine = Machine(ms_per_work=4)  # 19 ms a frame
    machine.run(60)
    assert machine.level == LEVELS[0] and not machine.changes


@pytest.mark.parametrize(
    ("ms_per_work", "level"),
    [(12.0, LEVELS[1]), (25.0, LEVELS[2]), (40.0, LEVELS[3])],
)
def test_a_slow_machine_gets_there_at_once_and_stays(ms_per_work: float, level: Level) -> None:
    machine = Machine(ms_per_work=ms_per_work)
    machine.run(3)
    assert machine.level == level
    machine.run(60)
    assert max(machine.ages) < 0.12 and machine.shown > 24 * 60
    assert machine.level == level and len(machine.changes) == 1  # no pumping


def test_frames_are_left_out_last_and_only_against_lateness() -> None:
    machine = Machine(ms_per_work=70)  # 52 ms a frame at the lowest scale: too few, not too old
    machine.run(20)
    assert machine.level == LEVELS[3]
    machine.ms_per_work = 125  # 90 ms, and up to 33 ms of waiting
    machine.run(3)
    assert machine.level == LEVELS[5]
    machine.run(10)
    assert max(machine.ages) < 0.12


def test_a_core_is_taken_away_and_comes_back() -> None:
    machine = Machine(ms_per_work=6)
    machine.run(10)
    machine.ms_per_work = 13
    machine.run(3)
    machine.run(20)
    assert machine.level.scale == 0.75 and max(machine.ages) < 0.12
    machine.ms_per_work = 6
    machine.run(10)
    assert machine.level == LEVELS[0]


def test_what_served_with_as_many_cores_is_tried_again() -> None:
    """On the edge: predicted to take too long, though it is well when tried."""

    class Edge(Machine):
        """Smaller pictures have costs of their own, as enlarging, that look like the network's."""

        @property
        def ms_per_work(self) -> float:
            return (7.5 if self.level.scale == 1 else 12.0) * (2 if self.cores == 1 else 1)

        @ms_per_work.setter
        def ms_per_work(self, _: float) -> None: ...

    machine = Edge()
    machine.run(10)
    assert machine.level == LEVELS[0]
    for _ in range(3):
        machine.cores = 1
        machine.run(12)
        assert machine.level == LEVELS[2] and max(machine.ages[100:]) < 0.12
        machine.cores = 2
        machine.run(8)
        assert machine.level == LEVELS[0]
    assert len(machine.changes) == 6  # down once and up once each time


def test_what_fails_with_as_many_cores_is_not_tried_for_ever() -> None:
    machine = Machine(ms_per_work=6)
    machine.run(10)
    machine.cores, machine.ms_per_work = 1, 13
    machine.run(10)
    machine.cores = 2  # as many as before, but somebody else is busy with one of them
    machine.run(60)
    assert machine.level == LEVELS[1] and len(machine.changes) == 3


def test_a_moment_of_distress_does_not_cost_quality_for_ever() -> None:
    machine = Machine(ms_per_work=9)  # 39 ms: well, but without the room that an adventure needs
    machine.run(30)
    machine.ms_per_work = 25
    machine.run(3)
    assert machine.level == LEVELS[2]
    machine.ms_per_work = 9
    machine.run(20)
    assert machine.level == LEVELS[0]


def test_what_was_learnt_in_a_bad_moment_is_forgotten() -> None:
    machine = Machine(ms_per_work=12)
    machine.run(10)
    assert machine.level == LEVELS[1]
    machine.ms_per_work = 5  # the better level is tried, and somebody else takes the processor
    while machine.level != LEVELS[0]:
        machine.run(0.1)
    machine.rest_ms = 60
    machine.run(3)
    assert machine.level != LEVELS[0]
    machine.rest_ms = 3
    machine.run(400)
    assert machine.level == LEVELS[0]


def test_a_still_scene_returns_to_full_quality() -> None:
    machine = Machine(ms_per_work=25)
    machine.run(5)
    assert machine.level == LEVELS[2]
    machine.ms_per_work = 2  # most tiles are reused
    machine.run(12)
    assert machine.level == LEVELS[0]


def test_what_was_a_mistake_is_tried_ever_less() -> None:
    """The better level costs more than its prediction says: a few tries, then peace."""

    class Odd(Machine):
        @property
        def level(self) -> Level:
            level = super().level
            self.rest_ms = 45 if level.scale == 1 else 3
            return level

    machine = Odd(ms_per_work=3)
    machine.run(150)
    assert len(machine.changes) <= 12
    machine.changes.clear()
    machine.run(80)
    assert len(machine.changes) <= 2


def test_a_slow_network_is_nothing_to_help() -> None:
    machine = Machine(ms_per_work=2)
    machine.before_s = 0.3
    machine.run(20)
    assert machine.level == LEVELS[0] and not machine.changes


@pytest.mark.parametrize("fps", [1.0, 5.0, 120.0])
def test_slow_and_fast_sources(fps: float) -> None:
    machine = Machine(fps=fps, ms_per_work=6)
    machine.run(40)
    assert machine.level == LEVELS[0] and not machine.changes


def test_levels_of_a_style() -> None:
    levels = levels_for("toon")
    assert [(level.style, level.scale, level.every) for level in levels] == [
        ("toon", 1.0, 1),
        ("toon", 0.75, 1),
        ("toon", 0.5, 1),
        ("toon-fast", 0.5, 1),
        ("toon-fast", 0.5, 2),
        ("toon-fast", 0.5, 3),
        ("toon-fast", 0.5, 4),
    ]
    assert all(a.work >= b.work for a, b in pairwise(levels))
    assert {level.scale for level in levels_for("oil", 0.6)} == {0.6}
    assert {level.style for level in levels_for("oil")} == {"oil"}


def test_what_cannot_be_painted_is_left_out_at_every_pace() -> None:
    governor = Governor(LEVELS, max_age_s=0.12, least_fps=24)
    governor.leave_out("toon-fast", 0.5)
    assert governor._levels == LEVELS[:3]
    governor.leave_out("toon", 1.0)
    assert governor.level == LEVELS[1]
    governor.use(LEVELS[:1])
    governor.leave_out("toon", 1.0)
    assert governor.level == LEVELS[0]  # there is nothing else
