"""Kernels compile and run wherever their cache cannot be written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ONE_MORE = """
import sys
from sfumato.kernels._jit import cache_folder, kernel

@kernel
def one_more(number):
    return number + 1

if sys.platform != "win32" and "full" in sys.argv:
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
print(one_more(1), cache_folder())
"""


def run(tmp_path: Path, *words: str, **env: str) -> str:
    script = tmp_path / "script.py"
    script.write_text(ONE_MORE)
    done = subprocess.run(
        [sys.executable, "-B", str(script), *words],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_without_a_folder_there_is_no_cache(tmp_path: Path) -> None:
    # Numba then looks in no folder of these, as if none could be written.
    assert run(tmp_path, NUMBA_CACHE_LOCATOR_CLASSES="IPythonCacheLocator") == "2 None"


@pytest.mark.skipif(sys.platform == "win32", reason="resource limits")
@pytest.mark.parametrize("full", [False, True])
def test_a_full_disk_costs_the_cache_only(tmp_path: Path, full: bool) -> None:
    folder = tmp_path / "cache"
    said = run(tmp_path, *["full"] * full, NUMBA_CACHE_DIR=str(folder))
    assert said.startswith(f"2 {folder}")
    assert bool(list(folder.rglob("*.nbc"))) != full
