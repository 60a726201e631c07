"""The parts of `sfumato bench` that measure nothing: matrix, results, tables, comparison, plot."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sfumato.stream.bench.cell import Result, Status
from sfumato.stream.bench.compare import Change, comparable_cells, compare
from sfumato.stream.bench.facts import code_digest, machine_facts, machine_line, version_facts
from sfumato.stream.bench.matrix import BenchSettings, Cell, make_cells, size_px
from sfumato.stream.bench.plot import check_plot, write_plot
from sfumato.stream.bench.results import Results, figures
from sfumato.stream.bench.table import changes_table, markdown_table, reasons, results_table
from sfumato.stream.errors import SettingsError

CELL = Cell("720p", "256M", "toon", "auto")
SETTINGS = BenchSettings(clip="a.mp4 9 f00", frames=48, runs=3, cold=True, preset="superfast")
MIB = 2**20


def run(fps: float = 20.0, peak_mib: float = 200.0, start_s: float = 1.0) -> dict[str, Any]:
    return {
        "steady_fps": fps,
        "latency_ms": {"p50": 2000 / fps, "p95": 3000 / fps},
        "cpu_seconds": 96.0 / fps,
        "frames_out": 48,
        "start_s": start_s,
        "peak_rss_bytes": int(peak_mib * MIB),
        "predicted_peak_rss_bytes": 210 * MIB,
        "precision": "int8",
    }


def done(fps: Sequence[float], cell: Cell = CELL, peak_mib: float = 200.0) -> Result:
    runs = [run(value, peak_mib) for value in fps]
    return Result(cell=cell, status="ok", cold_status="ok", cold_start_s=5.0, runs=runs)


def ended(status: Status, cell: Cell = CELL) -> Result:
    return Result(cell=cell, status=status, reason="because")


def results(*cells: Result, **changes: Any) -> Results:
    basis: dict[str, Any] = {
        "machine": {"cpu": "one", "cores": 2},
        "versions": {"code": "abc"},
        "settings": SETTINGS,
        "held_by": "cgroup v1",
    }
    return Results(**(basis | changes), cells={result.cell: result for result in cells})


def test_the_matrix_is_every_combination_once_limits_innermost() -> None:
    cells = make_cells("720p,1080p", "256M, 1G,256M", "toon", "int8,fp32")
    assert len(cells) == len(set(cells)) == 8
    assert [str(cell) for cell in cells[:3]] == [
        "720p, 256M, toon, int8",
        "720p, 1G, toon, int8",
        "720p, 256M, toon, fp32",
    ]
    assert cells[0].limit_bytes == 256 * MIB
    assert make_cells("source", "none", "toon", "auto")[0].limit_bytes is None


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("sizes", "721p"),
        ("sizes", "big"),
        ("sizes", "640x361"),
        ("sizes", ","),
        ("limits", "256Q"),
        ("limits", "100"),
        ("limits", "auto"),
        ("precisions", "int4"),
        ("styles", " "),
    ],
)
def test_a_bad_word_is_named_with_its_option(option: str, value: str) -> None:
    words = {"sizes": "720p", "limits": "1G", "styles": "toon", "precisions": "auto"}
    name = "memory-limits" if option == "limits" else option
    with pytest.raises(SettingsError, match=f"--{name} '{value}'"):
        make_cells(**(words | {option: value}))


def test_sizes_keep_the_aspect_and_stay_even() -> None:
    assert size_px("1080p", 1280, 720) == (1920, 1080)
    assert size_px("720p", 176, 144) == (880, 720)
    assert size_px("360p", 1279, 719) == (640, 360)
    assert size_px("640x384", 1280, 720) == (640, 384)


def test_figures_are_medians_with_their_span() -> None:
    spread = figures(done([20, 22, 19]))["fps"]
    assert (spread.median, spread.low, spread.high, spread.runs) == (20, 19, 22, 3)
    assert figures(done([20]))["cpu_s_per_frame"].median == pytest.approx(0.1)
    assert figures(ended("killed")) == {}


def test_results_come_back_from_their_file(tmp_path: Path) -> None:
    other = replace(CELL, limit="224M")
    written = results(done([20, 21]), ended("refused", other))
    written.write(tmp_path / "r.json")
    assert Results.read(tmp_path / "r.json") == written
    entry = json.loads((tmp_path / "r.json").read_text())["cells"][0]
    assert entry["figures"]["fps"]["median"] == 20.5


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"settings": {}, "cells": []}',
        "\0\1",
        pytest.param("[" * 100_000, id="deep"),
    ],
)
def test_another_file_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(SettingsError, match=r"other\.json: not a file of results"):
        Results.read(path)


def assign(values: Any, where: Sequence[str | int], value: object) -> None:
    for step in where[:-1]:
        values = values[step]
    values[where[-1]] = value


WHOLE: tuple[str | int, ...] = ("cells", 0)
RUN = (*WHOLE, "runs", 0)


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (["machine"], None),
        (["versions"], [1]),
        (["held_by"], {}),
        (["cells"], {"a": 1}),
        (["cells"], [None]),
        (["settings"], "x"),
        (["settings", "frames"], "many"),
        (["settings", "runs"], None),
        ([*WHOLE, "cell"], None),
        ([*WHOLE, "cell", "limit"], 256),
        ([*WHOLE, "cell", "limit"], "lots"),
        ([*WHOLE, "cell", "size"], ["720p"]),
        ([*WHOLE, "cell", "style"], None),
        ([*WHOLE, "status"], "bogus"),
        ([*WHOLE, "status"], ["ok"]),
        ([*WHOLE, "status"], "killed"),
        ([*WHOLE, "cold_status"], 3),
        ([*WHOLE, "cold_start_s"], "x"),
        ([*WHOLE, "reason"], None),
        ([*WHOLE, "runs"], "abc"),
        ([*WHOLE, "runs"], [{}]),
        ([*WHOLE, "runs"], []),
        ([*RUN, "latency_ms"], None),
        ([*RUN, "latency_ms"], {"p50": 1}),
        ([*RUN, "steady_fps"], None),
        ([*RUN, "steady_fps"], float("nan")),
        ([*RUN, "steady_fps"], True),
        ([*RUN, "cpu_seconds"], 10**400),
        ([*RUN, "frames_out"], "48"),
        ([*RUN, "peak_rss_bytes"], "big"),
        ([*RUN, "predicted_peak_rss_bytes"], "big"),
        ([*RUN, "precision"], None),
    ],
)
def test_damaged_results_are_refused_by_name(
    tmp_path: Path, where: Sequence[str | int], value: object
) -> None:
    values = json.loads(results(done([20])).to_json())
    path = tmp_path / "damaged.json"
    path.write_text(json.dumps(values))
    assert Results.read(path).cells
    assign(values, where, value)
    path.write_text(json.dumps(values))
    with pytest.raises(SettingsError, match=r"damaged\.json: not a file of results"):
        Results.read(path)


def test_resuming_keeps_cells_and_tries_failed_ones_again(tmp_path: Path) -> None:
    bad, new = replace(CELL, style="oil"), replace(CELL, size="1080p")
    results(done([20]), ended("failed", bad)).write(tmp_path / "r.json")
    resumed = results().resumed(tmp_path / "r.json")
    assert resumed.missing([CELL, bad, new]) == [bad, new]
    assert list(resumed.only([CELL]).cells) == [CELL]


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"machine": {"cpu": "two", "cores": 2}}, "other machine:"),
        ({"versions": {"code": "def"}}, "other versions:"),
        ({"settings": replace(SETTINGS, frames=9)}, "other settings:"),
        ({"held_by": "RLIMIT_DATA"}, "other held_by:"),
    ],
)
def test_results_of_something_else_are_not_overwritten(
    tmp_path: Path, changed: dict[str, Any], word: str
) -> None:
    results(done([20])).write(tmp_path / "r.json")
    with pytest.raises(SettingsError, match=word):
        results(**changed).resumed(tmp_path / "r.json")


def changes(old: Result, new: Result, **basis: Any) -> dict[str, Change]:
    return {change.figure: change for change in compare(results(old), results(new, **basis))}


def test_a_change_must_exceed_the_tolerance_and_the_spread() -> None:
    assert changes(done([20, 20.1, 20.2]), done([19.5, 19.6, 19.7])) == {}  # 2.5 %: too small
    noisy = changes(done([17, 20, 23]), done([18, 17.5, 18.5]))  # 10 %, but 6 fps of noise
    assert noisy == {}
    slower = changes(done([20, 20.1, 20.2]), done([17.9, 18, 18.1]))
    assert slower["fps"].regression and slower["cpu_s_per_frame"].regression
    faster = changes(done([18, 18.1, 17.9]), done([20, 20.1, 20.2]))
    assert faster and not any(change.worse for change in faster.values())


def test_few_runs_count_half() -> None:
    assert "fps" in changes(done([20] * 3), done([18.5] * 3))
    assert "fps" not in changes(done([20] * 2), done([18.5] * 2))


def test_another_machine_counts_for_memory_and_outcome_alone() -> None:
    found = changes(
        done([20] * 3, peak_mib=200), done([5] * 3, peak_mib=230), machine={"cpu": "two"}
    )
    assert found["fps"].worse and not found["fps"].regression
    assert found["peak_rss_bytes"].regression


@pytest.mark.parametrize(
    ("old", "new", "regression"),
    [
        ("ok", "killed", True),
        ("ok", "refused", True),
        ("killed", "ok", False),
        ("killed", "refused", False),
        ("refused", "failed", True),
        ("refused", "killed", True),
    ],
)
def test_outcomes_are_compared(old: Status, new: Status, regression: bool) -> None:
    sides = [done([20]) if status == "ok" else ended(status) for status in (old, new)]
    assert changes(*sides)["outcome"].regression is regression


def test_other_settings_share_no_cell() -> None:
    old = results(done([20]))
    assert comparable_cells(old, results(done([20]))) == [CELL]
    other = results(done([20]), settings=replace(SETTINGS, clip="b.mp4 1 0"))
    assert comparable_cells(old, other) == [] == compare(old, other)


def test_tables() -> None:
    killed = ended("killed", replace(CELL, limit="64M"))
    table = results_table(results(done([20]), killed))
    assert "| 720p | 256M | toon | int8 | 20 | 100 | 150 | 0.1 | 5 | 1 | 200 | 210 | 5 |" in table
    assert "| 720p | 64M | toon | auto | killed |" in table
    assert reasons([killed]) == ["720p, 64M, toon, auto: killed: because"]
    late = replace(done([20]), cold_status="killed", cold_start_s=None)
    assert "| killed | 1 |" in results_table(results(late))
    assert markdown_table([{"a": 1.234, "b": None}]) == "| a | b |\n| --- | --- |\n| 1.23 |  |"


def test_the_table_of_changes_names_the_regression() -> None:
    found = compare(results(done([20] * 3)), results(done([10] * 3, peak_mib=150)))
    table = changes_table(found)
    assert "| fps | 20 | 10 | -50 % | regression |" in table
    assert "| peak MiB | 200 | 150 | -25 % | better |" in table
    outcome = changes_table(compare(results(done([20])), results(ended("killed"))))
    assert "| outcome | ok | killed |  | regression |" in outcome


def test_the_plot_shows_lines_and_marks(tmp_path: Path) -> None:
    import cv2

    cells = [done([20, 21, 22]), done([25], replace(CELL, limit="1G"))]
    cells += [ended("killed", replace(CELL, limit="64M")), done([9], replace(CELL, limit="none"))]
    write_plot(results(*cells), tmp_path / "plot.png", "a title")
    picture = cv2.imread(str(tmp_path / "plot.png"))
    assert picture is not None and picture.std() > 5


def test_a_plot_of_nothing_but_refusals_is_drawn(tmp_path: Path) -> None:
    write_plot(results(ended("refused")), tmp_path / "plot.png", "a title")
    assert (tmp_path / "plot.png").stat().st_size > 1000


def test_facts_are_json_and_say_what_the_code_is() -> None:
    facts = json.loads(json.dumps(machine_facts() | version_facts()))
    assert facts["cores"] >= 1 and facts["memory_bytes"] > 0 and facts["onnxruntime"]
    assert facts["code"] == code_digest() and len(code_digest()) == 12
    assert machine_facts()["cpu"] in machine_line()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinity mask")
def test_facts_count_the_cores_that_may_be_used() -> None:
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert machine_facts()["cores"] == 1 and ", 1 core, " in machine_line()
    finally:
        os.sched_setaffinity(0, allowed)


@pytest.mark.parametrize("name", ["plot", "plot.xyz"])
def test_a_plot_of_no_kind_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match=f"--plot {name}: its ending"):
        check_plot(Path(name))
