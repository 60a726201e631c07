"""INT8 only where it wins: with stopwatches that say what the test wants, and with the real one."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from sfumato.models import precision
from sfumato.models.catalog import StyleFiles
from sfumato.models.errors import ModelError
from sfumato.models.precision import Trial, pick_precision, psnr_db, run_trial
from tests.networks import save_cell_net


@dataclass
class Told:
    """A comparison whose outcome is given."""

    trial: Trial
    calls: list[tuple[object, ...]] = field(default_factory=list)

    def __call__(self, *args: object) -> Trial:
        self.calls.append(args)
        return self.trial


@pytest.fixture
def files(tmp_path: Path) -> StyleFiles:
    """A style with both files."""
    for precision_name in ("int8", "fp32"):
        path = tmp_path / f"net.{precision_name}.onnx"
        save_cell_net(path, int8=precision_name == "int8", layers=3, width=48)
    return StyleFiles("net", tmp_path / "net.int8.onnx", tmp_path / "net.fp32.onnx")


FASTER = Trial(ms_int8=3.0, ms_fp32=9.0, psnr_db=42.0)
SLOWER = Trial(ms_int8=12.0, ms_fp32=9.0, psnr_db=42.0)
WRONG = Trial(ms_int8=3.0, ms_fp32=9.0, psnr_db=14.0)


@pytest.mark.parametrize(
    ("trial", "chosen", "words"),
    [(FASTER, "int8", "faster"), (SLOWER, "fp32", "slower"), (WRONG, "fp32", "wrong.*14 dB")],
)
def test_auto_takes_int8_only_if_faster_and_right(
    files: StyleFiles, tmp_path: Path, trial: Trial, chosen: str, words: str
) -> None:
    told = Told(trial)
    choice = pick_precision(files, "auto", 512, 512, compare=told, cache=tmp_path / "cache.json")
    assert choice.precision == chosen
    assert choice.path == getattr(files, chosen)
    assert (choice.ms_int8, choice.ms_fp32) == (trial.ms_int8, trial.ms_fp32)
    assert re.search(words, choice.reason)
    assert told.calls == [(files.int8, files.fp32, 256, 256, 1, "cpu")]


def test_what_was_found_is_remembered_per_file_and_shape(files: StyleFiles, tmp_path: Path) -> None:
    told, cache = Told(SLOWER), tmp_path / "new" / "cache.json"
    for _ in range(2):
        assert pick_precision(files, "auto", compare=told, cache=cache).precision == "fp32"
    assert len(told.calls) == 1
    pick_precision(files, "auto", 128, 64, compare=told, cache=cache)
    pick_precision(files, "auto", intra_op_threads=2, compare=told, cache=cache)
    assert len(told.calls) == 3
    assert files.int8 is not None
    save_cell_net(files.int8, layers=3, width=48, seed=5)  # another network
    told.trial = FASTER
    assert pick_precision(files, "auto", compare=told, cache=cache).precision == "int8"
    assert [path.name for path in cache.parent.iterdir()] == ["cache.json"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1]",
        pytest.param("[" * 100_000, id="deep"),
        '{"KEY": 3}',
        '{"KEY": {"ms_int8": 1}}',
        '{"KEY": {"ms_int8": 12, "ms_fp32": NaN, "psnr_db": 42}}',
        '{"KEY": {"ms_int8": 12, "ms_fp32": 9, "psnr_db": -1e300}}',
        '{"KEY": {"ms_int8": 12, "ms_fp32": [9], "psnr_db": 42}}',
    ],
)
def test_a_damaged_cache_is_measured_anew(files: StyleFiles, tmp_path: Path, text: str) -> None:
    cache = tmp_path / "cache.json"
    pick_precision(files, "auto", compare=Told(SLOWER), cache=cache)
    key = cache.read_text().split('"')[1]
    cache.write_text(text.replace("KEY", key))
    told = Told(FASTER)
    for _ in range(2):
        assert pick_precision(files, "auto", compare=told, cache=cache).precision == "int8"
    assert len(told.calls) == 1


def test_a_cache_that_cannot_be_written_is_no_error(files: StyleFiles, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = tmp_path / "file" / "cache.json"
    assert pick_precision(files, "auto", compare=Told(FASTER), cache=cache).precision == "int8"


def test_a_wish_is_followed_without_a_stopwatch(files: StyleFiles) -> None:
    told = Told(SLOWER)
    for wanted in ("int8", "fp32"):
        choice = pick_precision(files, wanted, compare=told)
        assert (choice.precision, choice.reason) == (wanted, "as asked")
    only = StyleFiles("net", None, files.fp32)
    assert pick_precision(only, "auto", compare=told).precision == "fp32"
    assert told.calls == []
    with pytest.raises(ModelError, match=r"'net' has no int8 file.*net\.fp32\.onnx"):
        pick_precision(only, "int8")


def test_the_real_stopwatch(files: StyleFiles) -> None:
    assert files.int8 is not None
    assert files.fp32 is not None
    trial = run_trial(files.int8, files.fp32, 64, 64, 1, "cpu")
    assert trial.ms_int8 > 0
    assert trial.ms_fp32 > 0
    assert trial.psnr_db > 35
    trimmed = files.int8.with_name("trimmed.onnx")
    save_cell_net(trimmed, layers=3, width=48, trimmed=True)
    assert run_trial(trimmed, files.fp32, 64, 64, 1, "cpu").psnr_db > 35
    other = files.fp32.with_name("other.onnx")
    save_cell_net(other, int8=False, layers=3, width=48, seed=9)
    assert run_trial(files.int8, other, 64, 64, 1, "cpu").psnr_db < precision.MIN_PSNR_DB


def test_the_best_time_counts_and_turns_alternate() -> None:
    seconds = iter(
        [
            0.0,
            *[t for turn in range(8) for t in (turn, turn + 0.01 + turn / 100, turn, turn + 0.02)],
        ]
    )
    order: list[str] = []

    class Runner:
        def __init__(self, name: str) -> None:
            self.name = name

        def run(self) -> None:
            order.append(self.name)

    def clock() -> float:
        return next(seconds, 99.0)

    best = precision.best_ms([Runner("a"), Runner("b")], clock)  # type: ignore[list-item]
    assert order[:4] == ["a", "b", "a", "b"]
    assert best == pytest.approx([10.0, 20.0])


def test_psnr() -> None:
    picture = precision.probe_picture(32, 16)
    assert psnr_db(picture, picture) == 99.0
    assert psnr_db(picture, picture ^ np.uint8(1)) == pytest.approx(48.13, abs=0.01)
