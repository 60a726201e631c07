"""Painting from Python: what a program that embeds Sfumato relies on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import sfumato
from sfumato.stream.media import open_source
from tests.media import make_clip
from tests.networks import save_averaging_net, save_cell_net, save_failing_net, save_float_net

RNG = np.random.default_rng(7)


def pictures(count: int, height: int = 90, width: int = 130) -> list[NDArray[np.uint8]]:
    return [RNG.integers(0, 256, (height, width, 3), dtype=np.uint8) for _ in range(count)]


@pytest.fixture(scope="module")
def style(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Its two files differ in nothing but precision; ``trimmed.onnx`` beside them does not pad."""
    folder = tmp_path_factory.mktemp("style")
    save_cell_net(folder / "trimmed.onnx", layers=3, trimmed=True)
    save_cell_net(folder / "random.int8.onnx", layers=3)
    save_cell_net(folder / "random.fp32.onnx", layers=3, int8=False)
    return str(folder / "random.int8.onnx")


def test_identity_gives_arrays_back() -> None:
    given = pictures(3)
    painted = list(sfumato.paint(given, style="identity", smooth=0))
    assert len(painted) == 3
    for a, b in zip(given, painted, strict=True):
        assert b.dtype == np.uint8 and b.shape == a.shape
        assert np.abs(a.astype(int) - b).max() <= 2  # RGB → YUV 4:4:4 → RGB → YUV → RGB, 8 bit each


@pytest.mark.parametrize("precision", ["int8", "fp32"])
@pytest.mark.parametrize("size", [(90, 130), (1, 1), (3, 200), (65, 63), (200, 1)])
def test_any_two_tile_plans_give_identical_frames(
    style: str, precision: sfumato.stream.settings.Precision, size: tuple[int, int]
) -> None:
    given = pictures(2, *size)
    plans: list[tuple[tuple[int, int], int]] = [((256, 256), 1), ((64, 64), 2), ((128, 64), 3)]
    results = [
        list(
            sfumato.paint(
                given, style=style, precision=precision, tile_px=tile, workers=workers, smooth=0
            )
        )
        for tile, workers in plans
    ]
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_network_that_does_not_pad_gives_the_same_picture_by_any_plan(style: str) -> None:
    trimmed = str(Path(style).with_name("trimmed.onnx"))
    for size in ((90, 130), (1, 1), (65, 63)):
        given = pictures(2, *size)
        wanted = list(sfumato.paint(given, style=style, smooth=0))
        for tile in ((256, 256), (64, 64), (128, 64)):
            painted = sfumato.paint(given, style=trimmed, tile_px=tile, smooth=0)
            for a, b in zip(wanted, painted, strict=True):
                np.testing.assert_array_equal(a, b)


def test_what_a_network_takes_off_its_tiles_is_never_missing(style: str) -> None:
    trimmed = str(Path(style).with_name("trimmed.onnx"))
    given = pictures(1, 200, 300)
    exact = next(sfumato.paint(given, style=style, tile_px=(128, 128), smooth=0))
    with pytest.raises(sfumato.SettingsError, match=r"--overlap 16 leaves gaps.*at least 24"):
        next(sfumato.paint(given, style=trimmed, tile_px=(128, 128), overlap_px=16))
    enough = sfumato.paint(given, style=trimmed, tile_px=(128, 128), overlap_px=24, smooth=0)
    np.testing.assert_array_equal(next(enough), exact)


@pytest.fixture(scope="module")
def odd_styles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("odd")
    save_averaging_net(folder / "averages.onnx")
    save_failing_net(folder / "fails.onnx")
    return folder


def test_a_network_that_averages_over_the_frame_gets_it_in_one_piece(odd_styles: Path) -> None:
    style = str(odd_styles / "averages.onnx")
    picture = np.zeros((1100, 1500, 3), np.uint8)  # more than any one tile of other networks
    picture[:550] = 200
    painted = next(sfumato.paint([picture], style=style))
    assert (np.ptp(painted.reshape(2, -1, 3).astype(int), axis=1) <= 2).all()
    with pytest.raises(sfumato.SettingsError, match=r"--tile 128x128: .* over the whole frame"):
        next(sfumato.paint([picture], style=style, tile_px=(128, 128)))


def test_a_network_that_fails_on_a_picture_is_an_error_of_the_style(odd_styles: Path) -> None:
    frames = [np.full((64, 64, 3), level, np.uint8) for level in (10, 10, 250)]
    painted = sfumato.paint(frames, style=str(odd_styles / "fails.onnx"))
    with pytest.raises(sfumato.StyleError, match=r"fails\.onnx: fails on a picture"):
        list(painted)


def test_feathered_tiles_stay_near_the_exact_picture(style: str) -> None:
    given = pictures(1, 200, 300)
    exact = next(sfumato.paint(given, style=style, tile_px=(128, 128), smooth=0))
    feathered = next(sfumato.paint(given, style=style, tile_px=(128, 128), overlap_px=8, smooth=0))
    difference = np.abs(exact.astype(int) - feathered)
    assert 0 < difference.mean() < 12
    assert np.median(difference) <= 1  # away from the overlaps nothing changes


def test_strength_zero_gives_the_source_back(style: str) -> None:
    given = pictures(1)
    painted = next(sfumato.paint(given, style=style, strength=0.0))
    assert np.abs(given[0].astype(int) - painted).max() <= 2


def test_scale_keeps_the_size(style: str) -> None:
    given = pictures(2, 91, 133)
    for painted in sfumato.paint(given, style=style, scale=0.5):
        assert painted.shape == (91, 133, 3)


def test_float_styles_paint_too(tmp_path: Path) -> None:
    save_float_net(tmp_path / "float.onnx", value_range=(-1.0, 1.0), channel_order="BGR")
    painted = list(sfumato.paint(pictures(2), style=str(tmp_path / "float.onnx")))
    assert painted[0].shape == (90, 130, 3) and painted[0].std() > 1


def test_identical_frames_give_identical_paintings(style: str) -> None:
    picture = pictures(1)[0]
    painted = list(sfumato.paint([picture] * 300, style=style, smooth=1.0))
    assert len(painted) == 300
    for later in painted[1:]:
        np.testing.assert_array_equal(painted[0], later)


def test_what_moves_leaves_no_ghost_with_several_frames_on_their_way() -> None:
    frames = [np.full((128, 256, 3), 20, np.uint8) for _ in range(8)]
    for number, frame in enumerate(frames):
        frame[40:80, 24 * number : 24 * number + 40] = 230
    painted = sfumato.paint(frames, style="identity", smooth=1.0, workers=2)
    for frame, picture in zip(frames, painted, strict=True):
        assert np.abs(picture.astype(int) - frame).max() <= 2


def test_a_failing_source_raises_after_its_frames_and_leaves_no_thread(style: str) -> None:
    def source() -> Iterator[NDArray[np.uint8]]:
        yield from pictures(4)
        raise RuntimeError("camera unplugged")

    with pytest.raises(RuntimeError, match="camera unplugged"):
        list(sfumato.paint(source(), style=style))


def test_leaving_early_joins_every_thread(style: str) -> None:
    def endless() -> Iterator[NDArray[np.uint8]]:
        while True:
            yield pictures(1)[0]

    frames = sfumato.paint(endless(), style=style)
    next(frames)
    frames.close()  # the fixture fails this test if a thread is left


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "empty"),
        ([np.zeros((4, 4), np.uint8)], "shape \\(4, 4\\)"),
        ([np.zeros((4, 4, 3), np.float32)], "float32"),
        ([np.zeros((4, 4, 3), np.uint8), np.zeros((4, 5, 3), np.uint8)], "sizes must agree"),
    ],
)
def test_bad_arrays_are_named(given: list[NDArray[np.uint8]], message: str) -> None:
    with pytest.raises(sfumato.SourceError, match=message):
        list(sfumato.paint(given, style="identity"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strength": 1.5}, "--strength 1.5"),
        ({"smooth": float("nan")}, "--smooth nan"),
        ({"scale": 0.0}, "--scale 0.0"),
        ({"workers": 0}, "--workers 0"),
        ({"tile_px": (65, 64)}, "multiple of 64"),
        ({"precision": "int4"}, "--precision int4"),
        ({"memory_limit": "1G"}, "did you mean memory_limit_bytes"),
        ({"codec": "ffv1"}, "there are hold, memory_limit_bytes"),
    ],
)
def test_bad_options_are_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(sfumato.SettingsError, match=message):
        next(sfumato.paint(pictures(1), style="identity", **options))  # type: ignore[arg-type]


def test_unknown_style_names_those_there_are() -> None:
    with pytest.raises(sfumato.StyleError, match=r"'tune'.*identity.*toon"):
        next(sfumato.paint(pictures(1), style="tune"))


def test_frames_that_come_unevenly_are_not_missed(tmp_path: Path) -> None:
    """A slide every second, at a rate of 25: the file promises its length and no number of them."""
    clip = make_clip(tmp_path / "slides.mkv", frames=8, pts=range(0, 200, 25))
    with open_source(clip) as source:
        assert (source.info.frames_estimate or 0) > 100
    report = sfumato.stylize(clip, "null", style="identity")
    assert report.frames_in == 8
    assert not any("the source ends" in warning for warning in report.warnings)


def test_a_file_that_ends_early_is_told_by_its_length(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "in.mkv", frames=200, size_px=(160, 96))
    clip.write_bytes(clip.read_bytes()[: clip.stat().st_size // 2])
    report = sfumato.stylize(clip, "null", style="identity")
    assert report.frames_in < 150
    ends_s = report.frames_in / 25
    assert f"the source ends after {ends_s:.1f} s but says that it lasts 8.0 s" in report.warnings
