"""What is known about compiled kernels: by kind of job, and only while Numba's cache is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.kernels.formats import PixelFormat
from sfumato.stream.settings import PaintSettings
from sfumato.stream.warm import Kernels
from sfumato.stream.work import Work
from tests.jobs import SPEC, work


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file to remember in, beside a cache of Numba's that holds a kernel."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # Numba's second choice
    (tmp_path / "gather._gather-1.py311.nbi").touch()
    return tmp_path / "kernels.json"


def kernels(cache: Path, job: Work | None = None, **settings: int) -> Kernels:
    return Kernels(job or work(), SPEC, PaintSettings(**settings), cache)  # type: ignore[arg-type]


def test_a_kind_of_job_is_ready_once_one_was_done(cache: Path) -> None:
    assert not kernels(cache).ready
    kernels(cache).remember()
    assert kernels(cache).ready and kernels(cache, work((640, 360), encoder=None)).ready


def test_other_types_of_arrays_are_another_kind(cache: Path) -> None:
    kernels(cache).remember()
    deep = PixelFormat(bits=10)
    for job in (
        work(source=deep),
        work(painted=deep),
        work(paint_px=(640, 360)),
        work(mixed=True),
        work(smoothed=False),
        work(frames=1),
    ):
        assert not kernels(cache, job).ready
    assert not kernels(cache, overlap_px=16).ready


def test_nothing_is_ready_without_a_cache(cache: Path) -> None:
    kernels(cache).remember()
    (cache.parent / "gather._gather-1.py311.nbi").unlink()
    assert not kernels(cache).ready


def test_numbas_version_is_part_of_it(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels(cache).remember()
    monkeypatch.setattr("numba.__version__", "0.0")
    assert not kernels(cache).ready
