"""What a model file tells about itself, with and without the toolkit."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from sfumato.models.catalog import find_style
from sfumato.models.inspect import inspect
from tests.networks import save_cell_net, save_float_net


def test_a_style_tells_all(tmp_path: Path) -> None:
    save_cell_net(tmp_path / "net.onnx", layers=2, width=16)
    facts = json.loads(json.dumps(inspect(tmp_path / "net.onnx")))
    assert facts["name"] == "random"
    assert facts["licence"] == "Apache-2.0"
    assert facts["bytes"] == (tmp_path / "net.onnx").stat().st_size
    assert facts["spec"]["radius_px"] == 8
    assert facts["inputs"] == [
        {"name": "picture", "type": "tensor(uint8)", "shape": [1, "h", "w", 48]}
    ]
    assert facts["fixed_size_px"] is None
    assert facts["kmac_per_pixel"] == pytest.approx(2 * 48 * 16 * 9 / 16 / 1000, abs=0.01)
    assert facts["operators"]["Conv"] == 2
    assert facts["opset"] == {"ai.onnx": 17}
    assert facts["parameters"] > 2 * 48 * 16 * 9


def test_float_networks_count_alike(tmp_path: Path) -> None:
    save_float_net(tmp_path / "net.onnx", layers=2, width=8)
    assert inspect(tmp_path / "net.onnx")["kmac_per_pixel"] == pytest.approx(0.43, abs=0.01)


def test_identity_multiplies_nothing() -> None:
    assert inspect(find_style("identity").paths[0])["kmac_per_pixel"] == 0


def test_a_model_from_elsewhere_has_no_spec(tmp_path: Path) -> None:
    save_float_net(tmp_path / "plain.onnx", with_spec=False)
    facts = inspect(tmp_path / "plain.onnx")
    assert facts["spec"] is None
    assert facts["name"] == "plain"
    assert facts["kmac_per_pixel"] is None
    assert facts["operators"]["Conv"] == 1


def test_without_the_toolkit_the_spec_and_shapes_remain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_cell_net(tmp_path / "net.onnx")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    facts = inspect(tmp_path / "net.onnx")
    assert facts["outputs"][0]["shape"] == [1, "h", "w", 48]
    assert "operators" not in facts
