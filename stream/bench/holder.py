"""Start a process under a memory limit that the kernel holds it to."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import ClassVar

from sfumato.stream.bench.leftovers import own_prefix, remove_groups

_TRY_BYTES = 64 * 2**20
_TRY_S = 10.0
_JOIN = 'echo $$ > "$0" && exec "$@"'
"""A shell moves itself into a group and becomes the command: nothing of it is left outside."""


class Holder(ABC):
    """One way to hold a process to a memory limit."""

    name: ClassVar[str]
    """For people and for the file of results."""
    warning: ClassVar[str | None] = None
    """In what way it is weaker than a memory group; None where it is one."""

    @abstractmethod
    def limited(self, words: Sequence[str], limit_bytes: int) -> AbstractContextManager[list[str]]:
        """Gives the command line to start; what was made for it is gone afterwards."""


class _GroupV1(Holder):
    """A group of its own in the memory controller's hierarchy."""

    name = "cgroup v1"

    def __init__(self, root: Path) -> None:
        self._root = root

    @contextmanager
    def limited(self, words: Sequence[str], limit_bytes: int) -> Generator[list[str], None, None]:
        with _group(self._root) as group:
            (group / "memory.limit_in_bytes").write_text(str(limit_bytes))
            with_swap = group / "memory.memsw.limit_in_bytes"
            if with_swap.exists():
                with_swap.write_text(str(limit_bytes))
            else:  # the kernel does not count swap: do not use it
                (group / "memory.swappiness").write_text("0")
            yield ["sh", "-c", _JOIN, str(group / "cgroup.procs"), *words]


class _GroupV2(Holder):
    """A group of its own in the one hierarchy."""

    name = "cgroup v2"

    def __init__(self, root: Path) -> None:
        self._root = root

    @contextmanager
    def limited(self, words: Sequence[str], limit_bytes: int) -> Generator[list[str], None, None]:
        with _group(self._root) as group:
            (group / "memory.max").write_text(str(limit_bytes))
            with suppress(FileNotFoundError):  # a kernel without swap
                (group / "memory.swap.max").write_text("0")
            yield ["sh", "-c", _JOIN, str(group / "cgroup.procs"), *words]


class _Systemd(Holder):
    """A transient scope: systemd makes the group for users who may not."""

    name = "systemd scope"

    def __init__(self, *, user: bool) -> None:
        self._words = ["systemd-run", "--quiet", "--scope", *(["--user"] if user else [])]

    @contextmanager
    def limited(self, words: Sequence[str], limit_bytes: int) -> Generator[list[str], None, None]:
        limits = ["-p", f"MemoryMax={limit_bytes}", "-p", "MemorySwapMax=0"]
        yield [*self._words, *limits, "--", *words]


class ResourceLimit(Holder):
    """``RLIMIT_DATA``: allocations fail, where a group would kill."""

    name = "RLIMIT_DATA"
    warning = (
        "no memory group can be made here: limits are held by RLIMIT_DATA, which counts memory "
        "that is reserved but never touched, so jobs fail earlier than they would have to"
    )

    @contextmanager
    def limited(self, words: Sequence[str], limit_bytes: int) -> Generator[list[str], None, None]:
        yield ["sh", "-c", 'ulimit -d "$0" && exec "$@"', str(limit_bytes // 1024), *words]


class _Nothing(Holder):
    """Where the system offers no limit at all."""

    name = "nothing"
    warning = "this system offers no memory limit: jobs plan for theirs, and nothing holds them"

    @contextmanager
    def limited(self, words: Sequence[str], limit_bytes: int) -> Generator[list[str], None, None]:
        yield list(words)


def find_holder() -> Holder:
    """The strongest way that works here, tried for real on a process that does nothing.

    Clears away the groups of a bench that was killed.
    """
    v1, v2 = _mounts("cgroup", "memory"), _mounts("cgroup2")
    for root in (*v1, *v2):
        remove_groups(root)
    tried: list[Holder] = [
        *map(_GroupV1, v1),
        *map(_GroupV2, v2),
        *(_Systemd(user=user) for user in (True, False) if sys.platform == "linux"),
        *([ResourceLimit()] if sys.platform == "linux" else []),
    ]
    return next((holder for holder in tried if _works(holder)), _Nothing())


def _mounts(kind: str, option: str | None = None) -> list[Path]:
    """Where hierarchies of this kind are mounted, for v1 those with this controller."""
    with suppress(OSError):
        lines = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
        return [
            Path(where)
            for _, where, found, options, *_ in lines
            if found == kind and (option is None or option in options.split(","))
        ]
    return []


def _works(holder: Holder) -> bool:
    with (
        suppress(OSError, subprocess.SubprocessError),
        holder.limited(["true"], _TRY_BYTES) as words,
    ):
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_TRY_S,
            check=False,
        )
        return done.returncode == 0
    return False


@contextmanager
def _group(root: Path) -> Generator[Path, None, None]:
    """A new group below ``root``, removed once its processes have gone."""
    group = Path(tempfile.mkdtemp(prefix=own_prefix(), dir=root))
    try:
        yield group
    finally:
        _remove(group)


def _remove(group: Path, patience_s: float = 2.0) -> None:
    """The kernel may take a moment to let go of a process that has ended."""
    until_s = time.monotonic() + patience_s
    while True:
        try:
            group.rmdir()
        except OSError:
            if time.monotonic() > until_s:
                return
            time.sleep(0.01)
        else:
            return
