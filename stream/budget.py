"""What a job may use: memory and cores."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sfumato.models.cgroups import PROC, cgroup_folders
from sfumato.models.cores import usable_cores

MARGIN = 0.05
"""Share of the system's limit that is left alone: the kernel counts page tables, sockets and the
pages of files being written against it, which are not resident memory."""

_V1_UNLIMITED = 2**60
"""Version 1 writes the largest number of whole pages for "no limit"."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What a plan must keep to."""

    memory_bytes: int | None
    """Resident memory of this process; None: no limit."""
    cores: int
    by_system: bool = False
    """The memory limit is the system's (a control group, a container, ``ulimit``), not an option's."""


def find_budget(limit_bytes: int | None = None) -> Budget:
    """The asked-for limit or what the system allows, whichever is less, and the usable cores.

    A limit that was asked for is taken as it is; of the system's, a margin is left alone.
    """
    allowed = system_limit()
    if allowed is None or (limit_bytes is not None and limit_bytes <= allowed):
        return Budget(limit_bytes, usable_cores())
    return Budget(int(allowed * (1 - MARGIN)), usable_cores(), by_system=True)


def system_limit(proc: Path = PROC) -> int | None:
    """Resident bytes that control groups and resource limits leave; None: no limit."""
    limits = [limit for limit in (cgroup_limit(proc), _rlimit(proc)) if limit is not None]
    return min(limits, default=None)


def cgroup_limit(proc: Path = PROC) -> int | None:
    """The memory limit of our control group or one above it, the tightest; None: no limit."""
    with suppress(OSError):
        limits = map(_limit_of, cgroup_folders("memory", proc))
        return min((limit for limit in limits if limit is not None), default=None)
    return None


def _limit_of(folder: Path) -> int | None:
    """v2 ``memory.max``, else v1 ``memory.limit_in_bytes``."""
    for name in ("memory.max", "memory.limit_in_bytes"):
        with suppress(OSError, ValueError):  # "max" is no number: no limit
            limit = int((folder / name).read_text())
            return limit if limit < _V1_UNLIMITED else None
    return None


def _rlimit(proc: Path) -> int | None:
    """``RLIMIT_AS`` and ``RLIMIT_DATA`` bound addresses, not pages: what is left of them may become
    resident on top of what is."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    left = []
    for kind, line in ((resource.RLIMIT_AS, "VmSize:"), (resource.RLIMIT_DATA, "VmData:")):
        limit, _ = resource.getrlimit(kind)
        if limit != resource.RLIM_INFINITY:
            left.append(limit - status_bytes(line, proc))
    return max(0, min(left)) + status_bytes("VmRSS:", proc) if left else None


def status_bytes(line: str, proc: Path = PROC) -> int:
    """A figure of ``/proc/self/status``, such as ``VmHWM:``; 0 where the system has none."""
    with suppress(OSError):
        for text in (proc / "status").read_text().splitlines():
            if text.startswith(line):
                return int(text.split()[1]) * 1024
    return 0


def held_bytes() -> int:
    """Resident bytes of this process now."""
    if held := status_bytes("VmRSS:"):
        return held
    import psutil

    return int(psutil.Process().memory_info().rss)


def private_bytes() -> int:
    """Resident bytes of this process that belong to no file: what stays when pages of libraries
    are given back. All of them where the system does not tell."""
    return status_bytes("RssAnon:") or held_bytes()
