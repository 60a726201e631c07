"""What was measured on this machine, remembered between runs in the user's cache folder."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import onnxruntime as ort
import platformdirs

from sfumato.models.cores import cpu_flags, cpu_name

_REMEMBERED = 200  # results kept in one file

Ranges = Mapping[str, tuple[float, float]]
"""The names that a result has, each with the least and the largest number that makes sense."""


class Measurements:
    """Results in a JSON file that may be missing, damaged or read-only: then we measure again."""

    def __init__(self, name: str, path: Path | None = None) -> None:
        """``name`` of the file in the user's cache folder, unless ``path`` gives another."""
        self.path = path or platformdirs.user_cache_path("sfumato") / name

    def get(self, key: str) -> dict[str, Any]:
        """The values put under ``key``; empty where there are none."""
        values = self._read().get(key)
        return values if isinstance(values, dict) else {}

    def numbers(self, key: str, ranges: Ranges) -> dict[str, float] | None:
        """The numbers put under ``key``; None unless they are those of ``ranges``, each within its
        own: then we measure again."""
        values = self.get(key)
        if values.keys() != ranges.keys():
            return None
        within = (_within(values[name], *bounds) for name, bounds in ranges.items())
        return values if all(within) else None

    def put(self, key: str, values: dict[str, Any]) -> None:
        """Remember ``values``, if the folder can be written."""
        known = self._read()
        known.pop(key, None)  # the newest is last
        newest = dict(list({**known, key: values}.items())[-_REMEMBERED:])
        with suppress(OSError, RecursionError):
            self._write(json.dumps(newest))

    def _read(self) -> dict[str, Any]:
        with suppress(OSError, ValueError, RecursionError):
            known = json.loads(self.path.read_text())
            if isinstance(known, dict):
                return known
        return {}

    def _write(self, text: str) -> None:
        """Readers see the old file or all of the new; nothing else stays on a full disk."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle, part = tempfile.mkstemp(dir=self.path.parent, prefix=self.path.name)
        try:
            with os.fdopen(handle, "w") as file:
                file.write(text)
            os.replace(part, self.path)
        finally:
            Path(part).unlink(missing_ok=True)


def _within(value: object, least: float, most: float) -> bool:
    """A number, neither NaN nor a truth value, within bounds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return least <= value <= most


def measurement_key(paths: Sequence[Path], *circumstances: object) -> str:
    """Changes with anything that may change a measurement: files, processor, ONNX Runtime, and
    the ``circumstances`` given."""
    digest = hashlib.sha256()
    machine = [cpu_name(), *sorted(cpu_flags()), ort.__version__, *circumstances]
    digest.update(repr(machine).encode())
    for path in paths:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
