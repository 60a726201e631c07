"""Memory runs short in spite of the plan: what is given up, in which order, and what is said."""

from __future__ import annotations

from pathlib import Path

from sfumato.models.precision import Choice
from sfumato.stream.budget import Budget, held_bytes
from sfumato.stream.plan import Plan, make_plan
from sfumato.stream.planner import choose, forecasts
from sfumato.stream.prepare import Prepared
from sfumato.stream.report import Report
from sfumato.stream.settings import PaintSettings
from sfumato.stream.shrink import held_px, smaller
from sfumato.stream.steer import Steering
from sfumato.stream.watch import SETTLE_FRAMES, Watch, resident_bytes
from tests.jobs import MIB, SPEC, work


def others() -> list[Plan]:
    return [one.plan for one in forecasts(work(), SPEC, PaintSettings(), Budget(None, 2))]


def test_queues_go_first_then_tiles_until_nothing_is_left() -> None:
    plan = others()[0]
    first = smaller(plan, others())
    assert first is not None and first.tile_px == plan.tile_px
    assert (first.queue_frames, first.frames_in_flight) == (1, 1)
    sizes, step = [], smaller(first, others())
    while step is not None:
        sizes.append(held_px(step))
        assert (step.encoder_threads, step.lookahead_frames) == (plan.encoder_threads, None)
        assert step.queue_frames == step.frames_in_flight == 1
        step = smaller(step, others())
    assert sizes and all(2 * b <= a for a, b in zip([held_px(first), *sizes], sizes, strict=False))


def test_feathered_tiles_stay_as_they_are() -> None:
    plan = make_plan(1280, 720, radius_px=12, multiple=4, cores=2, overlap_px=8)
    shortest = smaller(plan, others())
    assert shortest is not None and smaller(shortest, others()) is None


def test_tiles_that_the_user_fixed_stay_as_they_are() -> None:
    asked = PaintSettings(tile_px=(640, 384), workers=2)
    fixed = [one.plan for one in forecasts(work(), SPEC, asked, Budget(None, 2))]
    shortest = smaller(fixed[0], fixed)
    assert shortest is not None and smaller(shortest, fixed) is None


def test_resident_memory_is_what_the_system_says() -> None:
    assert abs(resident_bytes() - held_bytes()) < 16 * MIB


def looks(watch: Watch, frames: int) -> list[bool]:
    return [watch.near() for _ in range(frames)]


def test_the_watch_waits_after_it_spoke() -> None:
    sizes = iter([90, 96, 97, 99, 10])
    watch = Watch(100, lambda: next(sizes))
    spoke = looks(watch, 4 + SETTLE_FRAMES)
    where = [number for number, near in enumerate(spoke) if near]
    assert where == [2, 2 + SETTLE_FRAMES]
    watch.stop()
    assert not any(looks(watch, 3 * SETTLE_FRAMES))


def test_without_a_limit_nothing_is_looked_at() -> None:
    def never() -> int:
        raise AssertionError

    assert not any(looks(Watch(None, never), 50))


def test_the_report_says_what_was_given_up() -> None:
    budget = Budget(400 * MIB, 2)
    job = work()
    found = tuple(forecasts(job, SPEC, PaintSettings(), budget))
    chosen = choose(list(found))
    picked = Choice(Path("any.onnx"), "int8", "")
    prepared = Prepared(SPEC, picked, job, budget, chosen, None, found)
    report = Report(source="", sink="")
    steering = Steering(prepared, chosen.plan, report, Watch(400 * MIB, lambda: 399 * MIB))
    plans = [plan for _ in range(40 * SETTLE_FRAMES) if (plan := steering.next_plan())]
    assert plans[0].queue_frames == 1 and held_px(plans[-1]) < held_px(chosen.plan) / 4
    assert report.plan == plans[-1].to_dict()
    assert len(report.warnings) == len(plans) + 1  # the last: nothing is left
    assert "near the limit of 400 MiB at frame 1: queues shortened" in report.warnings[0]
    assert "tiles cut to" in report.warnings[1]
    assert "nothing is left" in report.warnings[-1]
