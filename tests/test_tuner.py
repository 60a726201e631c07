"""The tuner picks what is faster by more than noise, soon, and remembers it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.stream.budget import Budget
from sfumato.stream.plan import Plan, make_plan
from sfumato.stream.planner import choose, forecasts
from sfumato.stream.settings import PaintSettings
from sfumato.stream.tuner import BUDGET_S, MOST_PLANS, Tuner, Tunings, pays, rivals
from tests.jobs import MIB, SPEC, work


def plans(count: int) -> list[Plan]:
    return [
        make_plan(1280, 720, radius_px=12, multiple=4, cores=2, most_px=most_px)
        for most_px in (1_200_000, 600_000, 400_000, 160_000)[:count]
    ]


class Machine:
    """Paints by whatever plan is current; a frame takes as long as that plan says."""

    def __init__(self, frame_s: dict[Plan, float], noise: float = 0.0) -> None:
        self._frame_s, self._random = frame_s, random.Random(1)
        self._noise = noise
        self.now_s = 100.0

    def run(self, tuner: Tuner, plan: Plan, frames: int = 2000) -> Plan:
        """The plan at the end, and the time taken in ``now_s``."""
        for _ in range(frames):
            self.now_s += self._frame_s[plan] * (1 + self._random.uniform(0, self._noise))
            plan = tuner.painted() or plan
            if tuner.best is not None:
                break
        return plan


def test_the_fastest_is_found_and_used() -> None:
    tried = plans(3)
    machine = Machine(dict(zip(tried, (0.030, 0.031, 0.025), strict=True)), noise=0.02)
    tuner = Tuner(tried, lambda: machine.now_s)
    assert machine.run(tuner, tried[0]) is tried[2] is tuner.best
    assert machine.now_s - 100 < BUDGET_S + 0.5


@pytest.mark.parametrize("others", [(0.030, 0.0295), (0.029, 0.0305), (0.045, 0.2)])
def test_less_than_noise_changes_nothing(others: tuple[float, float]) -> None:
    tried = plans(3)
    machine = Machine(dict(zip(tried, (0.030, *others), strict=True)))
    tuner = Tuner(tried, lambda: machine.now_s)
    assert machine.run(tuner, tried[0]) is tried[0] is tuner.best


@given(st.lists(st.floats(0.005, 0.5), min_size=2, max_size=4))
def test_it_ends_in_time_and_never_on_a_slower_plan(frame_s: list[float]) -> None:
    tried = plans(len(frame_s))
    machine = Machine(dict(zip(tried, frame_s, strict=True)))
    tuner = Tuner(tried, lambda: machine.now_s)
    last = machine.run(tuner, tried[0])
    assert tuner.best is last
    assert frame_s[tried.index(last)] <= frame_s[0]
    assert machine.now_s - 100 < BUDGET_S + 20 * max(frame_s)
    assert tuner.painted() is None


def test_rivals_differ_by_tiles_or_workers_only_and_fit_side_by_side() -> None:
    budget = Budget(320 * MIB, 2)
    found = forecasts(work(), SPEC, PaintSettings(), budget)
    chosen = choose(found)
    tried = rivals(found, chosen)
    assert tried[0] is chosen.plan and 1 < len(tried) <= MOST_PLANS
    for plan in tried:
        assert plan.encoder_threads == chosen.plan.encoder_threads
        assert plan.lookahead_frames == chosen.plan.lookahead_frames
        assert plan.queue_frames == chosen.plan.queue_frames
    assert len({(plan.tile_px, plan.workers) for plan in tried}) == len(tried)


def test_short_jobs_and_fixed_plans_are_not_tuned() -> None:
    def chosen(frames: int | None, **options: object) -> bool:
        asked = PaintSettings(**options)  # type: ignore[arg-type]
        found = forecasts(work(frames=frames), SPEC, asked, Budget(None, 2))
        return pays(choose(found), asked)

    assert chosen(5000)
    assert not chosen(50) and not chosen(None)
    assert not chosen(5000, tile_px=(640, 384)) and not chosen(5000, workers=2)
    assert not chosen(5000, overlap_px=0)


def test_results_are_remembered_by_budget_and_size(tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    model.write_bytes(b"any")
    job, budget, cache = work(), Budget(512 * MIB, 2), tmp_path / "plans.json"
    found = forecasts(job, SPEC, PaintSettings(), budget)
    chosen = choose(found)
    best = rivals(found, chosen)[1]
    memory = Tunings(model, job, budget, cache)
    assert memory.get(found, chosen) is None
    memory.put(best)
    again = Tunings(model, job, budget, cache).get(found, chosen)
    assert again is not None and again.plan == best
    for other in (
        Tunings(model, work((1920, 1080)), budget, cache),
        Tunings(model, job, Budget(256 * MIB, 2), cache),
    ):
        assert other.get(found, chosen) is None


@pytest.mark.parametrize(
    "text", ["", "[]", '{"a": 1}', "not json", pytest.param("[" * 100_000, id="deep")]
)
def test_a_damaged_cache_is_no_error(tmp_path: Path, text: str) -> None:
    model, cache = tmp_path / "model.onnx", tmp_path / "plans.json"
    model.write_bytes(b"any")
    cache.write_text(text)
    budget = Budget(None, 2)
    found = forecasts(work(), SPEC, PaintSettings(), budget)
    memory = Tunings(model, work(), budget, cache)
    assert memory.get(found, found[0]) is None
    memory.put(found[0].plan)
    assert memory.get(found, found[0]) is found[0]


def test_a_read_only_cache_is_no_error(tmp_path: Path) -> None:
    model, file = tmp_path / "model.onnx", tmp_path / "file"
    model.write_bytes(b"any")
    file.write_text("")
    memory = Tunings(model, work(), Budget(None, 2), file / "plans.json")
    memory.put(plans(1)[0])
    assert memory.get([], forecasts(work(), SPEC, PaintSettings(), Budget(None, 2))[0]) is None
