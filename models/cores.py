"""What this process may use of the processor: cores, and the instructions INT8 needs."""

from __future__ import annotations

import math
import os
import platform
import subprocess
from contextlib import suppress
from functools import cache
from pathlib import Path

from sfumato.models.cgroups import PROC, cgroup_folders

VNNI_FLAGS = frozenset({"avx512_vnni", "avx_vnni"})
"""Linux names of the x86 instructions that multiply U8 by S8 into 32 bits without saturation."""

_SPARE = 0.1  # a quota of 2.05 cores is two threads: the third would mostly be throttled


def usable_cores(proc: Path = PROC) -> int:
    """Cores this process may keep busy, at least 1.

    The affinity mask, cut by the CPU quota of its cgroup (v1 or v2) and of every group above it.
    A fraction of a core counts as one more, unless it is smaller than a tenth.
    """
    allowed = _affinity()
    quota = cgroup_quota(proc)
    if quota is not None:
        allowed = min(allowed, math.ceil(quota - _SPARE))
    return max(1, allowed)


def _affinity() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cgroup_quota(proc: Path = PROC) -> float | None:
    """CPU quota in cores (1.5 is one and a half), the tightest on the way up; None if unlimited.

    ``proc`` as in :func:`~sfumato.models.cgroups.cgroup_folders`.
    """
    with suppress(OSError):
        quotas = map(_quota_of, cgroup_folders("cpu", proc))
        return min((quota for quota in quotas if quota is not None), default=None)
    return None


def _quota_of(folder: Path) -> float | None:
    """Quota in cores of one group: v2 ``cpu.max``, else v1 ``cpu.cfs_quota_us``."""
    with suppress(OSError, ValueError):
        quota, period = (folder / "cpu.max").read_text().split()
        return int(quota) / int(period)  # "max" is no number: no limit
    with suppress(OSError, ValueError):
        quota_us = int((folder / "cpu.cfs_quota_us").read_text())
        period_us = int((folder / "cpu.cfs_period_us").read_text())
        return quota_us / period_us if quota_us > 0 else None
    return None


@cache
def _cpu_description() -> str:
    """What the system says about its first core; empty where it says nothing."""
    with suppress(OSError):
        return Path("/proc/cpuinfo").read_text().partition("\n\n")[0]
    if platform.system() == "Darwin":
        keys = ["machdep.cpu.brand_string", "machdep.cpu.features", "machdep.cpu.leaf7_features"]
        with suppress(OSError):
            run = subprocess.run(["sysctl", *keys], capture_output=True, text=True, check=False)
            return run.stdout
    return ""


def _described(*names: str) -> str:
    """Values of the lines of the description whose key is one of ``names``."""
    values = []
    for line in _cpu_description().splitlines():
        key, _, value = line.partition(":")
        if key.strip() in names:
            values.append(value.strip())
    return " ".join(values)


def cpu_flags() -> frozenset[str]:
    """Instruction sets as the system names them, in lower case; empty where it names none."""
    names = ("flags", "Features", "machdep.cpu.features", "machdep.cpu.leaf7_features")
    return frozenset(_described(*names).lower().split())


def cpu_name() -> str:
    """The processor's model, for people and as a cache key."""
    name = _described("model name", "Model name", "machdep.cpu.brand_string")
    return name or platform.processor() or platform.machine()


def is_x86() -> bool:
    """An Intel or AMD processor, 32 or 64 bit."""
    return platform.machine().lower() in ("x86_64", "amd64", "i386", "i686")


def has_vnni() -> bool:
    """U8 × S8 products are exact and fast here.

    On x86 without it, pairs of products saturate at 16 bits, so weights must stay within 7 bits
    (https://onnxruntime.ai/docs/performance/model-optimizations/quantization.html).
    """
    return bool(VNNI_FLAGS & cpu_flags())
