"""The shape of the project itself: import direction, public names, file sizes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

import sfumato

ROOT = Path(__file__).parent.parent
FOLDERS = ("stream", "kernels", "models")
FORBIDDEN = {"kernels": ("stream", "models"), "models": ("stream", "kernels"), "stream": ()}


def sources(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


@pytest.mark.parametrize("folder", FOLDERS)
def test_imports_run_in_one_direction(folder: str) -> None:
    assert sources(folder)
    for path in sources(folder):
        for name in imported(path):
            for other in FORBIDDEN[folder]:
                assert not name.startswith(f"sfumato.{other}"), f"{path} imports {name}"


@pytest.mark.parametrize("folder", ("sfumato", *FOLDERS, "tests", "benchmarks"))
def test_no_file_is_longer_than_400_lines(folder: str) -> None:
    for path in sources(folder):
        assert len(path.read_text().splitlines()) <= 400, path


def test_public_names_are_there() -> None:
    assert sorted(sfumato.__all__) == sfumato.__all__
    for name in sfumato.__all__:
        assert getattr(sfumato, name).__doc__


def test_the_report_is_described_field_by_field() -> None:
    from sfumato.stream.live.report import LiveReport

    text = (ROOT / "docs" / "report.md").read_text()
    described = set(
        re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`[^|]*) \|", text, re.MULTILINE)))
    )
    assert described == {field.name for field in fields(LiveReport)}


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'paints'"):
        sfumato.paints  # noqa: B018 - the access is the test


def test_every_package_is_in_the_wheel() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("__init__.py"):
            package = ".".join(("sfumato", *path.parent.relative_to(ROOT).parts))
            assert f'"{package}"' in text
