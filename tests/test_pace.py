"""The clock of a job's frames, on a clock that the test turns."""

from __future__ import annotations

import pytest

from sfumato.stream import pace
from sfumato.stream.pace import KEPT, Pace


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def perf_counter(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(pace, "time", clock)
    return clock


def test_first_frame_latency_and_pace(clock: Clock) -> None:
    paces = Pace(started_s=90.0)
    frames = paces.reading(range(8))
    for number in range(8):
        assert next(frames) == number
        clock.now_s += 4 if number == 0 else 0.5  # the first one compiles
        paces.written()
    assert paces.first_frame_s == 14
    assert paces.latency_ms() == {"p50": 500, "p95": 4000}
    assert paces.steady_fps() == pytest.approx(2)


def test_latency_counts_the_wait_behind_earlier_frames(clock: Clock) -> None:
    paces = Pace(started_s=100.0)
    list(paces.reading(range(2)))
    for _ in range(2):
        clock.now_s += 1
        paces.written()
    assert paces.latency_ms() == {"p50": 1000, "p95": 2000}


def test_nothing_written_is_all_zeros_and_one_frame_has_no_pace(clock: Clock) -> None:
    paces = Pace(started_s=100.0)
    assert (paces.first_frame_s, paces.steady_fps()) == (0, 0)
    assert paces.latency_ms() == {"p50": 0, "p95": 0}
    list(paces.reading([1]))
    paces.written()
    assert paces.steady_fps() == 0


def test_a_long_job_is_remembered_by_its_last_part(clock: Clock) -> None:
    paces = Pace(started_s=100.0)
    for number in range(KEPT + 100):
        list(paces.reading([number]))
        clock.now_s += 5 if number < 100 else 1
        paces.written()
    assert paces.latency_ms() == {"p50": 1000, "p95": 1000}
