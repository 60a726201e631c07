"""What a bench that was killed could not clear away, told by the process number in its name."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_NAME = re.compile(r"sfumato-bench-(\d+)-.+")


def own_prefix() -> str:
    """How the names of this process's folders and groups begin."""
    return f"sfumato-bench-{os.getpid()}-"


def remove_folders(parent: Path) -> None:
    """Remove folders of scratch files whose owner has ended."""
    for folder in _abandoned(parent):
        shutil.rmtree(folder, ignore_errors=True)


def remove_groups(root: Path) -> None:
    """Remove memory groups whose owner has ended and that hold no process."""
    for group in _abandoned(root):
        with suppress(OSError):
            group.rmdir()


def _abandoned(parent: Path) -> Iterator[Path]:
    import psutil

    for path in parent.glob("sfumato-bench-*"):
        match = _NAME.fullmatch(path.name)
        if match and not psutil.pid_exists(int(match[1])):
            yield path
