"""Cores that may be used: affinity and cgroup quotas, from files as Linux writes them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sfumato.models import cores

V2 = "30 23 0:26 {root} {mount} rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = "33 24 0:29 {root} {mount} rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
OTHER = "34 24 0:30 / /sys/fs/cgroup/memory rw shared:10 - cgroup cgroup rw,memory\n"


def proc(folder: Path, cgroup: str, mountinfo: str) -> Path:
    """A ``/proc/self`` with two files."""
    (folder / "proc").mkdir()
    (folder / "proc" / "cgroup").write_text(cgroup)
    (folder / "proc" / "mountinfo").write_text(OTHER + mountinfo)
    return folder / "proc"


def group(mount: Path, path: str, **files: str) -> None:
    """A control group's folder, with dots written as two underscores."""
    (mount / path).mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (mount / path / name.replace("__", ".")).write_text(text)


def test_v2_takes_the_tightest_quota_on_the_way_up(tmp_path: Path) -> None:
    mount = tmp_path / "cgroup"
    group(mount, "a/b", cpu__max="max 100000\n")
    group(mount, "a", cpu__max="150000 100000\n")
    group(mount, "a/b/c", cpu__max="400000 100000\n")
    here = proc(tmp_path, "0::/a/b/c\n", V2.format(root="/", mount=mount))
    assert cores.cgroup_quota(here) == 1.5


def test_v1_quota(tmp_path: Path) -> None:
    mount = tmp_path / "cpu"
    group(mount, "", cpu__cfs_quota_us="-1\n", cpu__cfs_period_us="100000\n")
    group(mount, "job", cpu__cfs_quota_us="50000\n", cpu__cfs_period_us="100000\n")
    here = proc(
        tmp_path, "4:memory:/\n3:cpu,cpuacct:/job\n0::/\n", V1.format(root="/", mount=mount)
    )
    assert cores.cgroup_quota(here) == 0.5
    assert cores.usable_cores(here) == 1


def test_a_container_that_shows_its_own_group_as_the_top(tmp_path: Path) -> None:
    mount = tmp_path / "cgroup"
    group(mount, "", cpu__max="100000 100000\n")
    for number, root in enumerate(("/docker/0123", "/", "/../..")):
        folder = tmp_path / str(number)
        folder.mkdir()
        here = proc(folder, "0::/docker/0123\n", V2.format(root=root, mount=mount))
        assert cores.cgroup_quota(here) == 1.0


@pytest.mark.parametrize("text", ["max 100000\n", "", "nonsense\n"])
def test_no_quota(tmp_path: Path, text: str) -> None:
    group(tmp_path / "cgroup", "", cpu__max=text)
    here = proc(tmp_path, "0::/\n", V2.format(root="/", mount=tmp_path / "cgroup"))
    assert cores.cgroup_quota(here) is None
    assert cores.cgroup_quota(tmp_path / "nothing here") is None


@pytest.mark.parametrize(("quota", "expected"), [(0.2, 1), (1.05, 1), (1.5, 2), (2.0, 2), (9.0, 3)])
def test_quotas_are_rounded_up_and_cut_by_affinity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quota: float, expected: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 3, 5}, raising=False)
    group(tmp_path / "cgroup", "", cpu__max=f"{round(quota * 1e5)} 100000\n")
    here = proc(tmp_path, "0::/\n", V2.format(root="/", mount=tmp_path / "cgroup"))
    assert cores.usable_cores(here) == expected


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity on this system")
def test_the_affinity_mask_counts_not_the_machine() -> None:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert cores.usable_cores() == 1
    finally:
        os.sched_setaffinity(0, before)


def test_flags_as_linux_and_macos_write_them(monkeypatch: pytest.MonkeyPatch) -> None:
    linux = "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nflags\t\t: fpu avx2 avx512_vnni\n"
    monkeypatch.setattr(cores, "_cpu_description", lambda: linux)
    assert cores.cpu_flags() == {"fpu", "avx2", "avx512_vnni"}
    assert cores.cpu_name() == "Some CPU @ 2 GHz"
    assert cores.has_vnni()
    macos = "machdep.cpu.brand_string: Some Mac\nmachdep.cpu.features: FPU AVX1.0\n"
    monkeypatch.setattr(cores, "_cpu_description", lambda: macos)
    assert cores.cpu_flags() == {"fpu", "avx1.0"}
    assert cores.cpu_name() == "Some Mac"
    assert not cores.has_vnni()
    monkeypatch.setattr(cores, "_cpu_description", lambda: "")
    assert cores.cpu_name()
    assert not cores.has_vnni()
