"""The planner: fits or says so, and is as fast as the limit lets it be."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.kernels.formats import PixelFormat
from sfumato.stream.advice import refusal
from sfumato.stream.budget import Budget
from sfumato.stream.coding import encoder_cost
from sfumato.stream.memory import predict_memory
from sfumato.stream.planner import NEAR, choose, forecast, forecasts, worth
from sfumato.stream.settings import PaintSettings
from sfumato.stream.speed import predict_speed
from sfumato.stream.work import Work
from tests.jobs import MIB, SIZES, SPEC, work

sizes = st.sampled_from(sorted(SIZES.values()))
limits = st.one_of(st.none(), st.integers(100 * MIB, 4096 * MIB))
cores = st.integers(1, 16)


@settings(max_examples=40, deadline=None)
@given(sizes, limits, cores)
def test_what_is_chosen_fits_wherever_anything_fits(
    size_px: tuple[int, int], limit: int | None, count: int
) -> None:
    found = forecasts(work(size_px), SPEC, PaintSettings(), Budget(limit, count))
    chosen = choose(found)
    assert chosen.fits == any(one.fits for one in found)
    if chosen.fits:
        assert worth(chosen) >= NEAR * max(worth(one) for one in found if one.fits)
    else:
        assert chosen.peak_rss_bytes == min(one.peak_rss_bytes for one in found)
    assert chosen.plan.exact


@settings(max_examples=25, deadline=None)
@given(sizes, st.integers(100 * MIB, 2048 * MIB), st.integers(MIB, 512 * MIB))
def test_more_memory_is_never_slower(size_px: tuple[int, int], limit: int, more: int) -> None:
    def best(limit_bytes: int) -> float:
        budget = Budget(limit_bytes, 2)
        chosen = choose(forecasts(work(size_px), SPEC, PaintSettings(), budget))
        return worth(chosen) if chosen.fits else 0.0

    assert best(limit + more) >= NEAR * best(limit)


@settings(deadline=None)
@given(cores)
def test_without_a_limit_every_core_paints_and_the_encoder_has_its_way(count: int) -> None:
    plan = choose(forecasts(work(), SPEC, PaintSettings(), Budget(None, count))).plan
    assert plan.workers * plan.intra_op == count
    assert plan.lookahead_frames is None and plan.queue_frames == 2


def test_options_are_kept() -> None:
    asked = PaintSettings(tile_px=(640, 384), workers=3)
    for one in forecasts(work(), SPEC, asked, Budget(None, 4)):
        assert one.plan.tile_px == (640, 384) and one.plan.workers == 3


def test_memory_grows_with_what_is_counted() -> None:
    usual = forecasts(work(), SPEC, PaintSettings(), Budget(None, 2))[0]
    first = forecast(usual.plan, work(), Budget(None, 2))
    more_of: list[dict[str, Any]] = [
        {"queue_frames": 5},
        {"frames_in_flight": 7},
        {"workers": 4},
        {"encoder_threads": 8},
        {"lookahead_frames": 40},
        {"decoder_threads": 3},
        {"exact": False, "overlap_px": 8},
    ]
    for more_change in more_of:
        more = predict_memory(replace(first.plan, **more_change), work())
        assert sum(more.values()) > first.peak_rss_bytes, more_change
    less: list[dict[str, Any]] = [{"smoothed": False}, {"encoder": None}]
    for change in less:
        assert sum(predict_memory(first.plan, work(**change)).values()) < first.peak_rss_bytes
    scaled = predict_memory(first.plan, work(paint_px=(640, 360)))
    assert scaled["smoothing"] < first.memory_bytes["smoothing"]


def test_ten_bits_take_twice_the_memory_of_eight() -> None:
    plan = forecasts(work(), SPEC, PaintSettings(), Budget(None, 2))[0].plan
    deep = PixelFormat(bits=10)
    eight, ten = predict_memory(plan, work()), predict_memory(plan, work(source=deep, painted=deep))
    fixed = {"encoder": encoder_cost("libx264").fixed_bytes}
    for part in ("decoder", "frames", "encoder"):
        assert ten[part] - 2 * eight[part] == pytest.approx(-fixed.get(part, 0), abs=2)


@pytest.mark.parametrize("name", SIZES)
def test_speed_is_about_linear_in_pixels(name: str) -> None:
    def fps_times_px(size_px: tuple[int, int]) -> float:
        one = forecasts(work(size_px), SPEC, PaintSettings(), Budget(None, 2))[0]
        return predict_speed(one.plan, work(size_px), 2).fps * size_px[0] * size_px[1]

    assert fps_times_px(SIZES[name]) == pytest.approx(fps_times_px(SIZES["1080p"]), rel=0.2)


def advice(job: Work, asked: PaintSettings, limit: int) -> str:
    budget = Budget(limit, 2)
    smallest = choose(forecasts(job, SPEC, asked, budget))
    assert not smallest.fits
    return refusal(smallest, job, SPEC, asked, budget)


def test_a_refusal_says_what_is_needed_and_what_would_fit() -> None:
    job = work((1920, 1080))
    needs = choose(forecasts(job, SPEC, PaintSettings(), Budget(1, 2))).peak_rss_bytes
    line = advice(job, PaintSettings(), needs + MIB)
    assert "\n" not in line and "too little for 1920x1080" in line
    assert f"needs {needs / MIB:.0f} MiB" in line and "try --preset ultrafast" in line


def test_a_first_run_that_only_has_to_compile_is_told_so() -> None:
    warm = work((1920, 1080))
    needs = choose(forecasts(warm, SPEC, PaintSettings(), Budget(1, 2))).peak_rss_bytes
    line = advice(replace(warm, cold_bytes=80 * MIB), PaintSettings(), round(1.1 * needs))
    assert "try one run without it first" in line and "80 MiB once" in line


def test_the_advised_scale_fits() -> None:
    job = work((7680, 4320), encoder=None)
    needs = choose(forecasts(job, SPEC, PaintSettings(), Budget(1, 2))).peak_rss_bytes
    limit = needs - 8 * MIB
    match = re.search(r"try --scale ([\d.]+)$", advice(job, PaintSettings(), limit))
    assert match is not None
    scale = float(match[1])
    smaller = replace(job, paint_px=(round(7680 * scale), round(4320 * scale)))
    assert choose(forecasts(smaller, SPEC, PaintSettings(), Budget(limit, 2))).fits


def test_options_that_are_in_the_way_are_named_first() -> None:
    asked = PaintSettings(tile_px=(1344, 768), workers=8)
    needs = choose(forecasts(work(), SPEC, asked, Budget(1, 2))).peak_rss_bytes
    assert "without --tile and --workers" in advice(work(), asked, needs - MIB)


def test_where_nothing_helps_the_least_limit_is_named() -> None:
    assert re.search(r"at least --memory-limit \d+M$", advice(work(), PaintSettings(), 50 * MIB))
