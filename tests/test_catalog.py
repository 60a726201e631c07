"""Styles found by name or path, and what is said when there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.models.catalog import StyleFiles, find_style, list_styles
from sfumato.models.errors import ModelError
from sfumato.models.head import read_spec
from tests.networks import save_cell_net, save_float_net


def test_the_gallery_has_identity_and_every_file_its_spec() -> None:
    styles = list_styles()
    assert "identity" in [style.name for style in styles]
    for style in styles:
        for path in style.paths:
            spec = read_spec(path)
            assert (spec.name, spec.precision) == (style.name, path.name.split(".")[-2])
    assert find_style("identity") in styles


def test_styles_of_a_folder(tmp_path: Path) -> None:
    for name in ("b.int8.onnx", "b.fp32.onnx", "a.fp32.onnx", "other.onnx", "a.int8.txt"):
        (tmp_path / name).touch()
    both = StyleFiles("b", tmp_path / "b.int8.onnx", tmp_path / "b.fp32.onnx")
    assert list_styles(tmp_path) == [StyleFiles("a", None, tmp_path / "a.fp32.onnx"), both]
    assert find_style("b", tmp_path) == both


def test_an_unknown_name_lists_near_names_and_all() -> None:
    with pytest.raises(ModelError, match=r"'identiti'.*did you mean 'identity'.*identity.*onnx"):
        find_style("identiti")


def test_a_path_brings_its_twin(tmp_path: Path) -> None:
    for precision in ("int8", "fp32"):
        save_cell_net(tmp_path / f"mine.{precision}.onnx", int8=precision == "int8")
        found = find_style(tmp_path / f"mine.{precision}.onnx")
    assert found == StyleFiles("mine", tmp_path / "mine.int8.onnx", tmp_path / "mine.fp32.onnx")


def test_a_file_of_any_name_goes_by_its_spec(tmp_path: Path) -> None:
    save_cell_net(tmp_path / "mine.onnx", name="waves")
    assert find_style(tmp_path / "mine.onnx") == StyleFiles("waves", int8=tmp_path / "mine.onnx")
    save_float_net(tmp_path / "float.onnx")
    assert find_style(str(tmp_path / "float.onnx")).fp32 == tmp_path / "float.onnx"


def test_a_missing_file_is_a_missing_file(tmp_path: Path) -> None:
    for path in (tmp_path / "gone.onnx", tmp_path / "gone"):
        with pytest.raises(FileNotFoundError, match="gone"):
            find_style(path)


def test_a_file_without_spec_says_what_it_needs(tmp_path: Path) -> None:
    save_float_net(tmp_path / "plain.onnx", with_spec=False)
    with pytest.raises(ModelError, match=r"plain\.onnx.*no style spec.*'sfumato'"):
        find_style(tmp_path / "plain.onnx")
