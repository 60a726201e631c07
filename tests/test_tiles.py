"""Tile plans: every pixel is given exactly once, or by weights that sum to one."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.stream.errors import SettingsError
from sfumato.stream.plan import make_plan
from sfumato.stream.tiles import TILE_PX, UNIT, plan_axis, whole_axis

lengths = st.integers(1, 5000)
radii = st.integers(0, 12).map(lambda n: 4 * n)
tiles = st.integers(4, 24).map(lambda n: TILE_PX * n)


@given(lengths, lengths, st.integers(0, 4096))
def test_any_overlap_finds_a_plan(width: int, height: int, overlap: int) -> None:
    plan = make_plan(width, height, radius_px=24, multiple=4, cores=2, overlap_px=overlap)
    assert plan.tiles[0].x.start == plan.tiles[0].y.start == 0
    assert plan.tiles[-1].x.stop == width and plan.tiles[-1].y.stop == height


def test_tiles_larger_than_the_frame_end_with_it() -> None:
    asked = {"radius_px": 24, "multiple": 4, "cores": 1}
    assert make_plan(100, 50, **asked, tile_px=(64000, 6400)).tile_px == (148, 100)
    assert make_plan(100, 50, **asked, tile_px=(128, 100)).tile_px == (128, 100)


@given(lengths, radii, tiles)
def test_exact_spans_give_every_pixel_once_with_its_halo(
    length: int, radius: int, tile: int
) -> None:
    spans = plan_axis(length, tile, radius, 2 * radius, 4)
    assert spans[0].start == 0 and spans[-1].stop == length
    for span in spans:
        assert span.start < span.stop
        assert span.origin % 4 == 0
        assert span.origin <= span.start - radius
        assert span.stop + radius <= span.origin + tile
    for left, right in pairwise(spans):
        assert left.stop == right.start and right.start % 4 == 0


@given(lengths, radii, tiles, st.integers(0, 40), st.sampled_from([0, 4, 12]))
def test_feather_weights_sum_to_one(
    length: int, radius: int, tile: int, overlap: int, trim: int
) -> None:
    trim = min(trim, radius)
    if tile - overlap < overlap + 2 * trim + 4:
        return
    spans = plan_axis(length, tile, radius, overlap + 2 * trim, 4, trim)
    total = np.zeros(length, np.int64)
    for span in spans:
        assert span.origin + trim <= span.start and span.stop + trim <= span.origin + tile
        weights = span.weights
        total[span.start : span.stop] += UNIT if weights is None else weights
        if weights is not None and len(weights) > 1:
            assert (weights[: len(weights) // 2 * 2 : 2] == weights[1::2]).all()
    assert (total == UNIT).all()


def test_an_overlap_that_would_leave_gaps_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"--overlap 16 .* at least 40"):
        make_plan(1280, 720, radius_px=20, multiple=4, trim_px=20, cores=2, overlap_px=16)


def test_tile_that_would_be_all_halo_is_refused() -> None:
    with pytest.raises(SettingsError, match="--tile 64"):
        plan_axis(1000, 64, 32, 64, 4)


def test_one_tile_suffices_for_a_small_frame_even_if_it_is_mostly_halo() -> None:
    assert len(plan_axis(16, 64, 20, 40, 4)) == 1


@given(st.integers(1, 8000), st.integers(1, 5000), radii)
def test_chosen_tiles_are_aligned_and_bounded(width: int, height: int, radius: int) -> None:
    plan = make_plan(width, height, radius_px=radius, multiple=4, cores=2)
    whole = (whole_axis(width, radius, 4), whole_axis(height, radius, 4))
    for size, all_of_it in zip(plan.tile_px, whole, strict=True):
        assert size == all_of_it or (size < all_of_it and size % TILE_PX == 0)
    area = plan.tile_px[0] * plan.tile_px[1] * len(plan.tiles)
    assert plan.exact
    assert area < 1.6 * max(whole[0], TILE_PX) * max(whole[1], TILE_PX)


def test_small_frames_cost_little_more_per_pixel_than_large_ones() -> None:
    def computed(width: int, height: int) -> float:
        plan = make_plan(width, height, radius_px=20, multiple=4, cores=2)
        return len(plan.tiles) * plan.tile_px[0] * plan.tile_px[1] / (width * height)

    assert computed(640, 360) < 1.1 * computed(1280, 720) < 1.1 * 1.1


@pytest.mark.parametrize("tile", [(100, 64), (64, 0), (0, 64)])
def test_unaligned_tiles_are_refused(tile: tuple[int, int]) -> None:
    with pytest.raises(SettingsError, match="multiple of 64"):
        make_plan(640, 480, radius_px=0, multiple=4, cores=2, tile_px=tile)


def test_workers_share_the_cores() -> None:
    plan = make_plan(1280, 720, radius_px=20, multiple=4, cores=8, workers=2)
    assert (plan.workers, plan.intra_op) == (2, 4)
