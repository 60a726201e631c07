"""Memory limits: as users write them, and as the system sets them."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.stream import budget
from sfumato.stream.errors import SettingsError
from sfumato.stream.settings import LEAST_LIMIT_BYTES, PaintSettings, parse_size

V2 = "30 23 0:26 / {mount} rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = "33 24 0:29 / {mount} rw,nosuid shared:9 - cgroup cgroup rw,memory\n"


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("auto", None),
        ("512M", 512 * 2**20),
        ("512m", 512 * 2**20),
        ("1.5G", 3 * 2**29),
        ("1GiB", 2**30),
        ("256 MiB", 2**28),
        ("512MB", 512 * 10**6),
        ("1KB", 1000),
        ("0.5k", 512),
        ("300000000", 300_000_000),
        ("7b", 7),
        ("1P", 2**50),
    ],
)
def test_sizes(text: str, size_bytes: int | None) -> None:
    assert parse_size("--memory-limit", text) == size_bytes


@pytest.mark.parametrize("text", ["", "M", "-5M", "12X", "1,5G", "nan", "inf", "1e9", "5 5M", "٣M"])
def test_nonsense_is_one_line_with_the_option_and_the_value(text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_size("--memory-limit", text)
    assert f"--memory-limit {text!r}" in str(caught.value) and "512M" in str(caught.value)


@given(st.text(max_size=12))
def test_any_text_is_a_size_or_a_settings_error(text: str) -> None:
    with suppress(SettingsError):
        assert (parse_size("--memory-limit", text) or 0) >= 0


def test_a_limit_without_its_unit_is_refused() -> None:
    with pytest.raises(SettingsError, match="--memory-limit 512"):
        PaintSettings(memory_limit_bytes=512)
    assert PaintSettings(memory_limit_bytes=LEAST_LIMIT_BYTES).memory_limit_bytes == 2**20


@pytest.mark.parametrize("text", ["12", "512K", "2000T", "2P"])
def test_a_limit_is_refused_in_the_words_of_the_option(text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        PaintSettings(memory_limit_bytes=parse_size("--memory-limit", text))
    assert str(caught.value) == (
        f"--memory-limit {text}: should be from 1M to 1P, such as 256M or 1GiB"
    )


def proc(folder: Path, cgroup: str, mountinfo: str) -> Path:
    (folder / "proc").mkdir()
    (folder / "proc" / "cgroup").write_text(cgroup)
    (folder / "proc" / "mountinfo").write_text(mountinfo)
    return folder / "proc"


def test_the_tightest_group_on_the_way_up_counts(tmp_path: Path) -> None:
    mount = tmp_path / "cgroup"
    (mount / "a" / "b").mkdir(parents=True)
    (mount / "a" / "memory.max").write_text("300000000\n")
    (mount / "a" / "b" / "memory.max").write_text("max\n")
    here = proc(tmp_path, "0::/a/b\n", V2.format(mount=mount))
    assert budget.cgroup_limit(here) == 300_000_000


def test_version_1_and_its_word_for_no_limit(tmp_path: Path) -> None:
    mount = tmp_path / "memory"
    (mount / "job").mkdir(parents=True)
    (mount / "memory.limit_in_bytes").write_text("9223372036854771712\n")
    (mount / "job" / "memory.limit_in_bytes").write_text("268435456\n")
    inside = proc(tmp_path, "4:memory:/job\n", V1.format(mount=mount))
    assert budget.cgroup_limit(inside) == 2**28
    (inside / "cgroup").write_text("4:memory:/\n")
    assert budget.cgroup_limit(inside) is None


def test_a_system_without_such_files_sets_no_limit(tmp_path: Path) -> None:
    assert budget.cgroup_limit(tmp_path) is None
    assert budget.status_bytes("VmRSS:", tmp_path) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="no resource limits")
def test_what_a_resource_limit_leaves_may_come_on_top(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import resource

    limits = {resource.RLIMIT_DATA: (500_000 * 1024, -1), resource.RLIMIT_AS: (-1, -1)}
    monkeypatch.setattr(resource, "getrlimit", limits.__getitem__)
    (tmp_path / "status").write_text("VmData:\t400000 kB\nVmRSS:\t  50000 kB\n")
    assert budget.system_limit(tmp_path) == 150_000 * 1024


def test_asked_for_beats_found() -> None:
    assert budget.find_budget(2**28).memory_bytes == 2**28
    assert budget.find_budget().cores >= 1
    assert budget.held_bytes() > 2**20
