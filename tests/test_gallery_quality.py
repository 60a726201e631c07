"""The shipped styles themselves: even fields, ramps, INT8 against FP32, borders of tiles."""

from __future__ import annotations

from functools import cache

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from sfumato.models.catalog import StyleFiles, list_styles
from sfumato.models.head import read_spec
from sfumato.models.spec import StyleSpec
from sfumato.models.train import acceptance
from sfumato.models.train.acceptance import Painted
from sfumato.models.train.content import Codes, synthetic_pictures

STYLES = [style for style in list_styles() if style.name != "identity"]


@cache
def painted(style: StyleFiles, precision: str) -> Painted:
    path = {"int8": style.int8, "fp32": style.fp32}[precision]
    assert path is not None
    return Painted(path.read_bytes(), read_spec(path))


def spec_of(style: StyleFiles) -> StyleSpec:
    return read_spec(style.paths[0])


def scene(height_px: int = 128, width_px: int = 160) -> Codes:
    """Patches and noise: edges, texture and even ground, the same every time."""
    patches = list(synthetic_pictures(3, side_px=192, seed=5))[-1][:height_px, :width_px]
    noise = np.random.default_rng(3).normal(0, 12, patches.shape)
    noise[:, : width_px // 2] = 0
    return np.clip(patches + noise, 0, 255).astype(np.uint8)


def test_the_promised_styles_ship() -> None:
    assert {"toon", "toon-fast", "oil", "ukiyoe", "scream"} <= {style.name for style in STYLES}


@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.name)
class TestStyle:
    def test_both_files_say_the_same_but_for_precision(self, style: StyleFiles) -> None:
        assert style.int8 is not None and style.fp32 is not None
        int8, fp32 = read_spec(style.int8), read_spec(style.fp32)
        assert (int8.precision, fp32.precision) == ("int8", "fp32")
        assert (int8.radius_px, int8.grain_seed) == (fp32.radius_px, fp32.grain_seed)
        assert int8.licence == "Apache-2.0" and int8.summary and int8.trained_on

    def test_int8_is_close_to_fp32(self, style: StyleFiles) -> None:
        measured = spec_of(style).acceptance
        assert measured["psnr_mean_db"] >= 35 and measured["psnr_worst_db"] >= 33
        pair = (painted(style, precision)(scene()) for precision in ("int8", "fp32"))
        assert acceptance.psnr_db(*pair) >= 31  # hard patches and noise: harsher than photos

    def test_even_fields_stay_even(self, style: StyleFiles) -> None:
        if spec_of(style).textured:
            pytest.skip("draws a texture of its own")
        assert acceptance.flat_ripple(painted(style, "int8")) <= 2

    def test_a_grey_ramp_keeps_rising(self, style: StyleFiles) -> None:
        assert acceptance.ramp_drop(painted(style, "int8")) <= 2

    def test_greys_stay_grey(self, style: StyleFiles) -> None:
        if spec_of(style).textured:
            pytest.skip("has a palette of its own")
        paint = painted(style, "int8")
        fields = [paint(np.full((48, 48, 3), grey, np.uint8)) for grey in range(0, 256, 5)]
        tints = [np.ptp(field.reshape(-1, 3).mean(axis=0)) for field in fields]
        assert np.mean(tints) <= 2 and max(tints) <= 6

    def test_pixels_beyond_the_radius_change_nothing(self, style: StyleFiles) -> None:
        radius, picture = spec_of(style).radius_px, scene()
        other = picture.copy()
        other[:, 80:] = 255 - other[:, 80:]
        first, second = (painted(style, "int8")(p) for p in (picture, other))
        np.testing.assert_array_equal(first[:, : 80 - radius], second[:, : 80 - radius])
        assert (first != second).any()

    def test_weights_cannot_saturate_without_vnni(self, style: StyleFiles) -> None:
        model = onnx.load(str(style.int8))
        weights = [
            numpy_helper.to_array(tensor)
            for tensor in model.graph.initializer
            if tensor.data_type == onnx.TensorProto.INT8 and len(tensor.dims) == 4
        ]
        assert weights and max(int(np.abs(w).max()) for w in weights) <= 64

    def test_it_paints(self, style: StyleFiles) -> None:
        change = painted(style, "int8")(scene()).astype(int) - scene()
        assert np.abs(change).mean() > 3
