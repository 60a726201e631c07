"""The renderers that styles learn from, the pictures they learn on, and a very short training."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from sfumato.models.errors import ModelError
from sfumato.models.train import (
    acceptance,
    content,
    extras,
    ink,
    names,
    oil,
    paint,
    render,
    toon,
    ukiyoe,
)
from sfumato.models.train.acceptance import Painted
from sfumato.models.train.content import Codes


def photo(height_px: int = 96, width_px: int = 128) -> Codes:
    """A bright disc on a dark, slightly noisy ground."""
    y, x = np.mgrid[:height_px, :width_px]
    inside = np.hypot(y - height_px / 2, x - width_px / 2) < 30
    noise = np.random.default_rng(0).normal(0, 3, (height_px, width_px, 3))
    ground = np.where(inside[..., None], (220, 180, 140), (40, 60, 90))
    return np.clip(ground + noise, 0, 255).astype(np.uint8)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three photos, one of them to be held out."""
    for name in ("a.png", "b.jpg", "holdout/c.png"):
        path = tmp_path / "content" / name
        path.parent.mkdir(exist_ok=True, parents=True)
        cv2.imwrite(str(path), photo())
    return tmp_path / "content"


@pytest.mark.parametrize("renderer", [toon, oil, ukiyoe], ids=lambda m: m.__name__.split(".")[-1])
def test_renderers_keep_shape_and_range_and_repeat(renderer: object) -> None:
    picture = render.from_codes(photo())
    first, second = (renderer.render(picture.copy()) for _ in range(2))  # type: ignore[attr-defined]
    assert first.shape == picture.shape and first.dtype == np.float32
    assert first.min() >= 0 and first.max() <= 1
    np.testing.assert_array_equal(first, second)


def test_toon_draws_a_dark_line_between_even_areas() -> None:
    painted = toon.render(render.from_codes(photo())).mean(axis=2)
    row = painted[48]
    edge = int(np.argmin(row[20:50])) + 20
    assert abs(edge - (64 - 30)) <= 3 and row[edge] < 0.5 * min(row[10:20].mean(), row[60])
    assert row[55:75].std() < 0.01


def test_rolling_drops_what_is_small_and_keeps_borders() -> None:
    image = np.full((64, 64, 3), 0.2, np.float32)
    image[:, 32:] = 0.8
    image[30:32, 10:12] = 0.3
    rolled = ink.rolled(image, 2.0, 20, 4)
    np.testing.assert_allclose(rolled[31, 11], 0.2, atol=0.03)
    np.testing.assert_allclose(rolled[50, [30, 33]], image[50, [30, 33]], atol=0.05)


def test_specks_are_no_lines() -> None:
    drawn = np.zeros((40, 60), np.float32)
    drawn[5:7, 5:7] = 1  # small
    drawn[10, 5:50] = 0.3  # faint
    drawn[20:22, 5:50] = 0.6
    kept = ink.long_lines(drawn, (0.12, 0.45), 10)
    assert kept[:15].max() < 0.02 and kept[20, 10:45].min() > 0.4


def test_toon_says_what_becomes_of_even_colours() -> None:
    colours = np.array([[0.2, 0.4, 0.6], [0.9, 0.5, 0.1]], np.float32)
    for colour, wanted in zip(colours, toon.flats(colours), strict=True):
        even = np.broadcast_to(np.round(colour * 255) / 255, (48, 48, 3)).astype(np.float32)
        np.testing.assert_allclose(toon.render(even)[24, 24], wanted, atol=0.01)


def test_toon_keeps_small_print_apart() -> None:
    page = np.full((256, 960), 225, np.uint8)
    line, face = "over the lazy brown dog", cv2.FONT_HERSHEY_SIMPLEX
    cv2.putText(page, line, (16, 140), face, 1.6, (40,), 6, cv2.LINE_AA)
    small = np.asarray(cv2.resize(page, (240, 64), interpolation=cv2.INTER_AREA), np.uint8)
    painted = toon.render(render.from_codes(np.repeat(small[..., None], 3, axis=2)))
    assert render.luma(painted)[small > 195].min() > 0.35  # no ink where there is paper


def test_made_pictures_hold_grey_print() -> None:
    made = list(content.synthetic_pictures(16, side_px=96))
    prints = made[1::2]
    steep = [np.abs(np.diff(p[..., 1].astype(int), axis=1)).max() for p in prints]
    assert min(steep) > 60
    assert any(np.ptp(p.astype(int), axis=2).max() <= 1 for p in prints)


def test_soft_steps_never_fall() -> None:
    values = np.linspace(0, 100, 2001, dtype=np.float32)
    stepped = render.soft_steps(values, 100 / 9, 1.6)
    assert (np.diff(stepped) >= -1e-4).all() and np.abs(stepped - values).max() < 100 / 9
    np.testing.assert_array_equal(render.soft_steps(values, 10, 0), values)


def test_repaint_carries_mean_and_spread() -> None:
    start = np.array(paint.PHOTOS.mean)
    rng = np.random.default_rng(1)
    lab = rng.multivariate_normal(start, paint.PHOTOS.covariance, 60_000).astype(np.float32)
    found = paint.Palette.of(paint.repaint(lab, oil.STARRY_NIGHT, (1, 1)))
    np.testing.assert_allclose(found.mean, oil.STARRY_NIGHT.mean, atol=0.5)
    np.testing.assert_allclose(found.covariance, oil.STARRY_NIGHT.covariance, atol=12)


def test_strokes_follow_an_edge_and_else_the_idle_direction() -> None:
    slope = np.broadcast_to(np.linspace(0, 1, 64, dtype=np.float32), (64, 64)).copy()
    along = render.tangents(slope, 2.0, (0.001, 0.0, 0.0))
    assert abs(along[1][32, 32]) > 0.99  # tone runs across, strokes run down
    even = render.tangents(np.full((64, 64), 0.5, np.float32), 2.0, (0.01, 0.5, 0.0))
    assert abs(even[0][32, 32] * np.cos(0.5) + even[1][32, 32] * np.sin(0.5)) > 0.99


def test_oil_lays_broken_colour_on_even_ground_and_little_on_skin() -> None:
    def strokes(*colour: float) -> float:
        even = np.broadcast_to(np.array(colour, np.float32), (96, 96, 3)).copy()
        return float(render.to_lab(oil.render(even))[..., 0].std())

    sky, skin, black = strokes(0.5, 0.6, 0.8), strokes(0.85, 0.65, 0.55), strokes(0, 0, 0)
    assert sky > 4 and black < skin < 0.8 * sky


def test_oil_paints_in_the_palette_it_is_given() -> None:
    red = paint.Palette((50.0, 60.0, 40.0), paint.PHOTOS.covariance)
    first, second = (oil.render(render.from_codes(photo()), p) for p in (oil.STARRY_NIGHT, red))
    assert render.to_lab(second)[..., 1].mean() > render.to_lab(first)[..., 1].mean() + 20


def test_cells_are_in_pixel_unshuffle_order_and_come_back() -> None:
    picture = np.random.default_rng(2).integers(0, 256, (8, 12, 3), dtype=np.uint8)
    cells = acceptance.to_cells(picture, 4)
    assert cells.shape == (1, 2, 3, 48)
    assert cells[0, 1, 2, 2 * 16 + 3 * 4 + 1] == picture[4 + 3, 8 + 1, 2]
    np.testing.assert_array_equal(acceptance.from_cells(cells, 4), picture)


def test_pairs_are_rendered_once(folder: Path, tmp_path: Path) -> None:
    calls = []

    def count(image: render.Image) -> render.Image:
        calls.append(1)
        return 1 - image

    first = list(content.pairs(folder, count, tmp_path / "cache", synthetic=2))
    second = list(content.pairs(folder, count, tmp_path / "cache", synthetic=2))
    assert len(calls) == len(first) == len(second) == 5
    assert [p.name for p in first][:3] == ["a", "b", "holdout_c"]
    for one, two in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.target, two.target)
        assert np.abs(one.target.astype(int) - (255 - one.source.astype(int))).max() <= 1


def test_bad_content_is_one_clear_line(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"'.*nowhere' does not exist"):
        content.picture_files(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelError, match=r"no pictures in '.*empty'"):
        content.picture_files(tmp_path / "empty")
    (folder / "torn.jpg").write_bytes(b"\xff\xd8 not a picture")
    with pytest.raises(ModelError, match=r"torn\.jpg is not a picture"):
        list(content.pairs(folder, lambda image: image, tmp_path / "cache"))


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"torch and onnx: run  pip install 'sfumato\[train\]'"):
        extras.require("train")


def test_names_are_known_without_torch() -> None:
    with pytest.raises(ModelError, match="no recipe is called 'zzz'; there are toon, toon-fast"):
        names.check_name("zzz")


@pytest.mark.train
def test_names_are_those_of_the_recipes() -> None:
    pytest.importorskip("torch")
    from sfumato.models.train import recipes

    assert tuple(recipes.RECIPES) == names.NAMES


@pytest.mark.train
def test_a_short_training_writes_both_files_and_goes_on(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from dataclasses import replace

    from sfumato.models.train import recipes, styles

    recipe = recipes.find("toon-fast")
    stage = recipe.stages[0]
    short = replace(stage, schedule=replace(stage.schedule, crop_px=96, rate=2e-3, steps=40))
    recipe = replace(recipe, stages=(short, short))
    made = styles.train(recipe, folder, tmp_path / "out")
    assert made.spec.acceptance["flat_ripple_codes"] <= 12  # 40 steps old
    assert made.spec.acceptance["psnr_worst_db"] > 24
    assert "40 steps from seed 1 and 40 steps from seed 1" in made.spec.trained_on
    assert Painted(made.int8.read_bytes(), made.spec)(photo()).shape == photo().shape

    states = [tmp_path / "out/work" / name for name in ("toon-fast.pt", "toon-fast.1.pt")]
    written = [path.stat().st_mtime_ns for path in states]
    styles.train(recipe, folder, tmp_path / "out")
    assert [path.stat().st_mtime_ns for path in states] == written  # nothing was left to do


@pytest.mark.train
@pytest.mark.parametrize(("spacings", "gate"), [((), False), ((1, 2), True)])
def test_integers_of_the_file_are_those_of_the_training(
    spacings: tuple[int, ...], gate: bool
) -> None:
    torch = pytest.importorskip("torch")
    from dataclasses import replace

    from sfumato.models.spec import StyleSpec
    from sfumato.models.train.graph import int8_model
    from sfumato.models.train.network import Painter, Shape

    torch.manual_seed(0)
    painter = Painter(Shape(blocks=2, spacings=spacings, gate=gate))
    cells = acceptance.to_cells(photo(), 4)
    tensor = torch.from_numpy(cells).permute(0, 3, 1, 2).float() / 255
    painter.start_rounding(tensor)
    with torch.no_grad():
        wanted = torch.round(painter(tensor).clamp(0, 1) * 255)
    radius_px = painter.shape.radius_px
    spec = StyleSpec(name="x", cell=4, multiple=4, radius_px=radius_px)
    import onnxruntime as ort

    def painted(spec: StyleSpec) -> np.ndarray:
        session = ort.InferenceSession(int8_model(painter, spec).SerializeToString())
        return np.asarray(session.run(None, {"image": cells})[0])

    padded = painted(spec)
    difference = wanted.permute(0, 2, 3, 1).numpy() - padded
    sums = 1 + gate  # in which halves are rounded differently
    assert np.abs(difference).max() <= sums
    inner = slice(radius_px // 4, -radius_px // 4)
    trimmed = painted(replace(spec, trim_px=radius_px))
    np.testing.assert_array_equal(trimmed, padded[:, inner, inner])


@pytest.mark.train
@pytest.mark.parametrize("more_blocks", [0, 1])
def test_a_painter_that_goes_on_from_a_style_begins_as_that_style(more_blocks: int) -> None:
    torch = pytest.importorskip("torch")
    from dataclasses import replace

    import onnxruntime as ort

    from sfumato.models.catalog import find_style
    from sfumato.models.train import recipes
    from sfumato.models.train.network import Painter
    from sfumato.models.train.start import start_from

    path = find_style("ukiyoe").fp32
    assert path is not None
    shape = recipes.find("ukiyoe").shape
    painter = Painter(replace(shape, blocks=shape.blocks + more_blocks))
    start_from(painter, path)
    grain = np.arange(96 * 128, dtype=np.uint8).reshape(96, 128, 1)
    cells = acceptance.to_cells(np.concatenate([photo(), grain], axis=2), 4)
    with torch.no_grad():
        painted = painter(torch.from_numpy(cells).permute(0, 3, 1, 2).float() / 255)
    (wanted,) = ort.InferenceSession(path).run(None, {"image": cells})
    codes = torch.round(painted.clamp(0, 1) * 255).permute(0, 2, 3, 1).numpy()
    assert np.abs(codes - wanted).max() <= 1
    with pytest.raises(ModelError, match="another width"):
        start_from(Painter(replace(shape, width=48)), path)


@pytest.mark.train
def test_the_comb_is_what_repeats_from_cell_to_cell() -> None:
    torch = pytest.importorskip("torch")
    from sfumato.models.train.perceptual import comb

    torch.manual_seed(0)
    noise, even = torch.randn(1, 48, 24, 24), torch.ones(1, 48, 24, 24)
    pattern = torch.randn(1, 48, 1, 1).expand(1, 48, 24, 24)
    assert comb(even) == 0
    assert comb(noise) < 0.25 * comb(pattern)


@pytest.mark.train
def test_contrast_counts_wherever_it_lies() -> None:
    torch = pytest.importorskip("torch")
    from sfumato.models.train.losses import contrast_loss
    from sfumato.models.train.network import Shape

    stripes = torch.arange(96).remainder(6).lt(3).float().expand(1, 3, 96, 96)
    cells = [torch.pixel_unshuffle(x, 4) for x in (stripes.roll(3, 3), stripes * 0)]
    moved, gone = (contrast_loss(painted, stripes, Shape()) for painted in cells)
    assert moved < 0.1 * gone


@pytest.mark.train
def test_a_wrong_tint_counts_on_pale_ground_only() -> None:
    torch = pytest.importorskip("torch")
    from sfumato.models.train.losses import tint_loss
    from sfumato.models.train.network import Shape

    grey = torch.full((1, 3, 96, 96), 0.8)
    pink = torch.tensor([0.04, -0.02, -0.02])[None, :, None, None]
    loud = torch.tensor([0.3, 0.0, -0.3])[None, :, None, None]
    pairs = [(grey - 0.1, grey), (grey + pink, grey), (grey + loud + pink, grey + loud)]
    losses = [float(tint_loss(torch.pixel_unshuffle(p, 4), w, Shape())) for p, w in pairs]
    assert losses[0] == pytest.approx(0, abs=1e-6) and losses[2] == 0
    assert losses[1] == pytest.approx(0.08 / 3, rel=1e-3)


@pytest.mark.train
def test_a_painting_makes_a_recipe_in_its_colours(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from sfumato.models.train import recipes

    path = tmp_path / "reds.png"
    noise = np.random.default_rng(4).integers(0, 60, (200, 240, 3))
    cv2.imwrite(str(path), np.clip(noise + np.array([0, 20, 190]), 0, 255).astype(np.uint8))
    recipe = recipes.of_painting(path)
    assert recipe.name == "reds" and recipe.grain_seed is not None
    painted = recipe.render(render.from_codes(photo()))
    assert render.to_lab(painted)[..., 1].mean() > 20
