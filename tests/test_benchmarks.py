"""The project's own benchmarks: their pages, and small versions of what they measure."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import partial

import pytest

from benchmarks.blocks import END, PAGES, PART_NAMES, ROOT, begin, block_names, filled
from benchmarks.harness import time_in_turns
from benchmarks.parts import PARTS
from benchmarks.roofline import peak_gmac_s, roofline_figures

PAGE = f"above\n{begin('one')}\nold\n{END}\nbetween\n{begin('two')}\nkept\n{END}\nbelow\n"


def test_a_block_is_replaced_and_nothing_else() -> None:
    changed = filled(PAGE, "one", "new")
    assert changed == PAGE.replace("old", "\nnew\n")
    assert filled(changed, "one", "new") == changed
    assert filled(PAGE, "three", "new") == PAGE


def test_a_block_without_an_end_is_an_error() -> None:
    with pytest.raises(ValueError, match="'one' has no"):
        filled(PAGE.replace(END, "", 1), "one", "new")


def test_the_pages_hold_every_part_and_no_other() -> None:
    texts = [page.read_text() for page in PAGES]
    assert block_names(PAGE) == ["one", "two"]
    assert set(block_names(texts[1])) == set(PARTS) == set(PART_NAMES)
    assert set(block_names(texts[0])) <= set(PARTS)
    for text in texts:  # a table outside of a block with figures would be written by hand
        for name in block_names(text):
            text = filled(text, name, "")
        assert not re.search(r"^\| .*\bfps\b", text, re.MULTILINE)


def test_help_needs_none_of_the_tools_that_measure() -> None:
    code = (
        "import sys\n"
        "sys.modules['onnx'] = None\n"
        "from benchmarks.__main__ import main\n"
        "main(sys.argv[1:])\n"
    )
    run = partial(subprocess.run, capture_output=True, text=True, check=False, cwd=ROOT)
    shown = run([sys.executable, "-c", code, "--help"])
    assert shown.returncode == 0 and "figures" in shown.stdout, shown.stderr
    measured = run([sys.executable, "-c", code, "show", "network"])
    assert measured.returncode == 1 and measured.stderr.count("\n") == 1
    assert "needs onnx" in measured.stderr and "pip install" in measured.stderr


def test_cases_take_turns_and_the_warm_up_does_not_count() -> None:
    calls: list[str] = []
    cases = {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}
    timings = time_in_turns(cases, rounds=3, warm_up=1)
    assert "".join(calls) == "ab" * 4
    assert timings["a"].best_ms <= timings["a"].median_ms


def test_the_roofline_is_measured() -> None:
    rows = roofline_figures(rounds=2)
    assert peak_gmac_s(rows) == max(row["INT8 GMAC/s"] for row in rows) > 0.1
