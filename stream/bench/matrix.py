"""What is measured: sizes × memory limits × styles × precisions, and the settings they share."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

from sfumato.stream.errors import SettingsError
from sfumato.stream.settings import LEAST_LIMIT_BYTES, PRECISIONS, parse_size

NO_LIMIT = "none"
AS_IS = "source"
"""The size that leaves INPUT as it is."""

_SIZE = re.compile(r"(\d{2,4})p|(\d{2,5})x(\d{2,5})")


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination, in the words of the options it came from."""

    size: str
    """``720p``, ``640x360``, or ``source``."""
    limit: str
    """``256M``, or ``none``."""
    style: str
    precision: str

    @property
    def limit_bytes(self) -> int | None:
        """The memory limit; None: no limit."""
        return None if self.limit == NO_LIMIT else parse_size("--memory-limits", self.limit)

    def __str__(self) -> str:
        return f"{self.size}, {self.limit}, {self.style}, {self.precision}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchSettings:
    """What all cells share; results under other settings are not comparable."""

    clip: str
    """Name and content of what is painted."""
    frames: int
    """Frames of each job."""
    runs: int
    """Jobs of each cell, besides the first."""
    cold: bool
    """The first job of each cell finds no cache, and its start is timed."""
    preset: str
    """Of the encoder."""


def make_cells(sizes: str, limits: str, styles: str, precisions: str) -> list[Cell]:
    """All combinations of four comma-separated lists, in their order, limits innermost.

    Raises :class:`SettingsError` that names the option.
    """
    checked = product(
        _words("--sizes", sizes, _check_size),
        _words("--styles", styles, lambda _: None),
        _words("--precisions", precisions, _check_precision),
        _words("--memory-limits", limits, _check_limit),
    )
    return [Cell(size, limit, style, precision) for size, style, precision, limit in checked]


def size_px(size: str, width_px: int, height_px: int) -> tuple[int, int]:
    """Even (width, height) of a clip of ``width_px`` × ``height_px`` brought to ``size``."""
    match = _SIZE.fullmatch(size)
    if match is None:
        return width_px, height_px
    if match[1] is None:
        return int(match[2]), int(match[3])
    tall = int(match[1])
    return max(2, round(width_px * tall / height_px / 2) * 2), tall


def _words(option: str, text: str, check: Callable[[str], None]) -> list[str]:
    words = list(dict.fromkeys(word for part in text.split(",") if (word := part.strip())))
    if not words:
        raise SettingsError(f"{option} {text!r}: give at least one, or several with commas between")
    for word in words:
        check(word)
    return words


def _check_size(word: str) -> None:
    match = _SIZE.fullmatch(word)
    sides = [int(side) for side in match.groups() if side is not None] if match else []
    if word != AS_IS and (not sides or any(side % 2 or side < 16 for side in sides)):
        raise SettingsError(
            f"--sizes {word!r}: write even sizes such as 720p, 1080p or 640x360, or {AS_IS}"
        )


def _check_limit(word: str) -> None:
    limit = None if word in (NO_LIMIT, "auto") else parse_size("--memory-limits", word)
    if word == "auto" or (limit is not None and limit < LEAST_LIMIT_BYTES):
        raise SettingsError(
            f"--memory-limits {word!r}: write sizes such as 256M or 1G, or {NO_LIMIT}"
        )


def _check_precision(word: str) -> None:
    if word not in PRECISIONS:
        raise SettingsError(f"--precisions {word!r}: choose from {', '.join(PRECISIONS)}")
