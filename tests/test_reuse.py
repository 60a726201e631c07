"""Painting only what changed: the same pictures as painting everything, for less."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.kernels.formats import PixelFormat
from sfumato.kernels.hold import BLOCK_PX, blocks_shape
from sfumato.models.spec import StyleSpec
from sfumato.stream.frame import Frame, Plane, VideoInfo
from sfumato.stream.pipeline import Pipeline
from sfumato.stream.plan import make_plan
from sfumato.stream.report import Report, StageTimes
from sfumato.stream.settings import PaintSettings, Switch
from sfumato.stream.temporal.repaint import Balance
from sfumato.stream.temporal.reuse import Patches, Reach, Rect, kept, tile_cost_px
from sfumato.stream.tiles import Tile, align_up
from tests.networks import save_cell_net

SIZE = st.tuples(st.integers(1, 700), st.integers(1, 500))


def style(radius_px: int, multiple: int = 4, *, trimmed: bool = True) -> StyleSpec:
    """A style that sees so far, or a little farther so that it fits the multiple."""
    radius_px = align_up(radius_px, multiple)
    return StyleSpec(
        name="any", multiple=multiple, radius_px=radius_px, trim_px=radius_px * trimmed
    )


def covered(tiles: list[Tile] | tuple[Tile, ...], size_px: tuple[int, int]) -> np.ndarray:
    """How often each pixel is given."""
    count = np.zeros(size_px[::-1], int)
    for tile in tiles:
        count[tile.y.start : tile.y.stop, tile.x.start : tile.x.stop] += 1
    return count


def some_blocks(size_px: tuple[int, int], seed: int, share: float) -> np.ndarray:
    """A block map with clumps in it."""
    rng = np.random.default_rng(seed)
    mask = np.zeros(blocks_shape(*size_px), np.bool_)
    for _ in range(1 + round(share * 5)):
        y, x = (int(rng.integers(0, size)) for size in mask.shape)
        mask[y : y + int(rng.integers(1, 9)), x : x + int(rng.integers(1, 9))] = True
    return mask


@given(SIZE, st.integers(0, 99), st.sampled_from([0, 4, 12, 20]), st.sampled_from([1, 4, 6, 16]))
@settings(max_examples=60, deadline=None)
def test_patches_give_all_that_is_fresh(
    size_px: tuple[int, int], seed: int, radius_px: int, multiple: int
) -> None:
    fresh = some_blocks(size_px, seed, 1.0)
    patches = Patches(size_px, style(radius_px, multiple), 1_000_000)
    tiles = patches.over(fresh)
    wanted = np.repeat(np.repeat(fresh, BLOCK_PX, 0), BLOCK_PX, 1)[: size_px[1], : size_px[0]]
    assert (covered(tiles, size_px)[wanted] > 0).all()
    for tile in tiles:
        window_px = patches.window_px(tile)
        for span, length, seen_px in zip((tile.x, tile.y), size_px, window_px, strict=True):
            assert span.origin % multiple == 0 and seen_px % multiple == 0
            assert span.start % 2 == 0 and (span.stop % 2 == 0 or span.stop == length)
            assert span.origin + radius_px <= span.start < span.stop <= length
            assert span.stop + radius_px <= span.origin + seen_px


@given(st.integers(0, 99), st.booleans())
@settings(max_examples=30, deadline=None)
def test_patches_cost_no_more_than_one_around_all(seed: int, trimmed: bool) -> None:
    fresh = some_blocks((640, 480), seed, 1.0)
    spec = style(20, trimmed=trimmed)
    patches = Patches((640, 480), spec, 1_000_000)
    rows, columns = (np.flatnonzero(fresh.any(axis)) for axis in (1, 0))
    whole = tuple(int(np.ptp(where) + 1) * BLOCK_PX + 40 for where in (columns, rows))
    costs = [tile_cost_px(patches.window_px(tile), spec.trim_px) for tile in patches.over(fresh)]
    assert sum(costs) <= tile_cost_px((whole[0], whole[1]), spec.trim_px)


def test_patches_fit_the_buffers_or_there_are_none() -> None:
    fresh = np.ones(blocks_shape(640, 480), np.bool_)
    for most_px, some in ((640 * 480, True), (250 * 250, True), (60 * 60, False)):
        patches = Patches((640, 480), style(20), most_px)
        tiles = patches.over(fresh)
        assert all(prod(patches.window_px(tile)) <= most_px for tile in tiles)
        assert bool(tiles) == some


def test_two_things_far_apart_are_two_patches() -> None:
    fresh = np.zeros(blocks_shape(640, 480), np.bool_)
    fresh[2:12, 3:13] = fresh[50:58, 60:77] = True
    tiles = Patches((640, 480), style(20), 1_000_000).over(fresh)
    assert [(t.x.start, t.y.start, t.x.stop, t.y.stop) for t in tiles] == [
        (24, 16, 104, 96),
        (480, 400, 616, 464),
    ]


@given(SIZE, st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_what_no_tile_gives_is_kept_once(size_px: tuple[int, int], seed: int) -> None:
    tiles = Patches(size_px, style(8), 1_000_000).over(some_blocks(size_px, seed, 0.5))
    count = covered(tiles, size_px)
    copied = np.zeros_like(count)
    rects: list[Rect] = list(kept(tiles, size_px))
    for left, top, right, bottom in rects:
        assert left < right and top < bottom and left % 2 == 0 and top % 2 == 0
        copied[top:bottom, left:right] += 1
    np.testing.assert_array_equal(copied, count == 0)


@given(SIZE, st.integers(0, 99), st.sampled_from([None, 0, 16]))
@settings(max_examples=60, deadline=None)
def test_tiles_whose_window_changed_are_painted(
    size_px: tuple[int, int], seed: int, overlap_px: int | None
) -> None:
    """Against the definition: which pixels does a tile's window show, mirrored ones included?"""
    plan = make_plan(
        *size_px, radius_px=24, multiple=4, cores=2, tile_px=(192, 128), overlap_px=overlap_px
    )
    changed = some_blocks(size_px, seed, 0.2)
    pixels = np.repeat(np.repeat(changed, BLOCK_PX, 0), BLOCK_PX, 1)[: size_px[1], : size_px[0]]
    reach = Reach(plan, size_px, 24, local=True)
    fresh = reach.fresh(changed)
    chosen = reach.tiles(changed, fresh)
    blocks = np.repeat(np.repeat(fresh, BLOCK_PX, 0), BLOCK_PX, 1)[: size_px[1], : size_px[0]]
    for tile in plan.tiles:
        spans = ((tile.y, size_px[1], plan.tile_px[1]), (tile.x, size_px[0], plan.tile_px[0]))
        shown = []
        for span, length, tile_px in spans:
            first, stop = span.origin, span.origin + tile_px
            if plan.exact:  # farther pixels change nothing of what it gives
                first, stop = max(first, span.start - 24), min(stop, span.stop + 24)
            padded = np.pad(np.arange(length), 4096, mode="reflect" if length > 1 else "edge")
            shown.append(np.unique(padded[first + 4096 : stop + 4096]))
        if pixels[np.ix_(*shown)].any():
            assert tile in chosen
            if not plan.exact:
                assert blocks[tile.y.start : tile.y.stop, tile.x.start : tile.x.stop].all()
    if not plan.exact:  # all that is feathered into a painted pixel is there
        whole = covered(plan.tiles, size_px) == covered(chosen, size_px)
        assert whole[blocks].all()


def test_norms_over_the_whole_frame_reach_everywhere() -> None:
    plan = make_plan(256, 256, radius_px=8, multiple=4, cores=1, tile_px=(128, 128))
    changed = np.zeros((32, 32), np.bool_)
    reach = Reach(plan, (256, 256), 8, local=False)
    assert not reach.fresh(changed).any()
    changed[3, 4] = True
    assert reach.fresh(changed).all()


def test_looking_rests_where_it_does_not_pay() -> None:
    balance = Balance()
    balance.second_per_px = 1e-8
    looked = 0
    for _ in range(Balance.TRIAL_FRAMES + Balance.REST_FRAMES + 20):
        if balance.pays():
            looked += 1
            balance.add(1e-4, 0)
    assert Balance.TRIAL_FRAMES <= looked <= Balance.TRIAL_FRAMES + 22
    balance = Balance()
    balance.second_per_px = 1e-8
    for _ in range(1000):
        assert balance.pays()
        balance.add(1e-4, 500_000)


WIDTH_PX, HEIGHT_PX = 480, 272
PIXELS = PixelFormat()


def scene(number: int, kind: str) -> tuple[Plane, ...]:
    """Planes of frame ``number``: a thing moves over a still, noisy or changing background."""
    rng = np.random.default_rng(number if kind == "noisy" else 0)
    planes: list[Plane] = []
    for shift, (rows, columns) in enumerate(PIXELS.plane_shapes(WIDTH_PX, HEIGHT_PX)):
        y, x = np.mgrid[:rows, :columns] << min(shift, 1)
        codes = 110 + 50 * np.sin(x / 23 + (number if kind == "moving" else 0)) * np.cos(y / 17)
        where = 6 * (number // (5 if kind == "slides" else 1))
        codes[(x >= where) & (x < where + 50) & (y >= 100) & (y < 160)] += 40
        codes += rng.normal(0, 2, codes.shape)
        planes.append(codes.clip(0, 255).astype(np.uint8))
    return tuple(planes)


def painted(
    style: Path, kind: str, reuse: Switch, frames: int = 20, **options: Any
) -> tuple[list[list[bytes]], Report]:
    """The planes of all painted frames, and the report."""

    def source() -> Iterator[Frame]:
        for number in range(frames):
            yield Frame(scene(number, kind), PIXELS, number, Fraction(1, 30))

    report = Report(source="", sink="")
    info = VideoInfo(WIDTH_PX, HEIGHT_PX, PIXELS)
    chosen = PaintSettings(style=str(style), reuse=reuse, workers=2, **options)
    with Pipeline(info, PIXELS, chosen, report, StageTimes()) as pipeline:
        outs = [[plane.tobytes() for plane in f.planes] for f in pipeline.paint(source())]
    return outs, report


@pytest.fixture(scope="module")
def styles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("styles")
    save_cell_net(folder / "int8.onnx")
    save_cell_net(folder / "fp32.onnx", int8=False, layers=6)
    save_cell_net(folder / "trimmed.onnx", layers=5, trimmed=True)
    return {path.stem: path for path in folder.iterdir()}


@pytest.mark.parametrize("style", ["toon-fast", "ukiyoe"])
def test_what_the_last_cell_sees_mirrored_is_painted_anew(style: str) -> None:
    info = VideoInfo(333, 217, PIXELS)
    rng = np.random.default_rng(3)
    shapes = PIXELS.plane_shapes(333, 217)
    before = [rng.integers(60, 190, shape, np.uint8) for shape in shapes]
    after = [plane.copy() for plane in before]
    after[0][192:208, :] = rng.integers(60, 190, (16, 333), np.uint8)  # a cell before the last ones
    after[0][:, 304:320] = rng.integers(60, 190, (217, 16), np.uint8)

    def both(reuse: Switch) -> list[list[bytes]]:
        frames = (
            Frame(tuple(p), PIXELS, n, Fraction(1, 30)) for n, p in enumerate((before, after))
        )
        chosen = PaintSettings(style=style, reuse=reuse, workers=1, smooth=0.0)
        with Pipeline(info, PIXELS, chosen, Report(source="", sink=""), StageTimes()) as pipeline:
            return [[p.tobytes() for p in frame.planes] for frame in pipeline.paint(frames)]

    assert both("auto") == both("off")


CASES: dict[str, dict[str, Any]] = {
    "whole frames and patches": {},
    "small tiles": {"tile_px": (128, 128)},
    "feathered": {"tile_px": (128, 128), "overlap_px": 8},
    "no smoothing": {"smooth": 0.0},
    "smaller and mixed": {"scale": 0.5, "strength": 0.6},
    "no hold": {"hold": "off"},
    "trimmed": {},
}


EVERY = [(case, kind) for case in CASES for kind in ("noisy", "slides")]


@pytest.mark.parametrize(
    ("case", "kind"), [*EVERY, ("small tiles", "moving"), ("whole frames and patches", "still")]
)
def test_reuse_changes_nothing(styles: dict[str, Path], case: str, kind: str) -> None:
    style = styles.get(case, styles["fp32" if case == "feathered" else "int8"])
    frames = 40 if case == "whole frames and patches" else 20
    once, report = painted(style, kind, "auto", frames, **CASES[case])
    whole, plain = painted(style, kind, "off", frames, **CASES[case])
    assert once == whole
    assert plain.frames_reused == plain.tiles_reused == plain.pixels_reused == 0
    if kind == "slides":
        assert report.frames_reused == frames * 4 // 5
    if kind == "still":
        assert report.pixels_reused > 0.4
    if case == "whole frames and patches" and kind != "slides":
        assert report.patches_run > 0


def test_one_worker_and_many_repeats_do_not_hang(styles: dict[str, Path]) -> None:
    outs, report = painted(styles["int8"], "slides", "auto", frames=60)
    assert len(outs) == 60 and report.frames_reused == 48
    assert report.tiles_run < 60
