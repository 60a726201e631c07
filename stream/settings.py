"""What a caller may choose, checked once when built."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from sfumato.stream.errors import SettingsError

Precision = Literal["auto", "int8", "fp32"]
PRECISIONS: tuple[Precision, ...] = ("auto", "int8", "fp32")

Switch = Literal["auto", "off"]
SWITCH: tuple[Switch, ...] = ("auto", "off")

DEFAULT_STYLE = "toon"

LEAST_LIMIT_BYTES = 2**20
"""A memory limit below this is a slip of the pen: a unit was forgotten."""

MOST_LIMIT_BYTES = 2**50
"""A memory limit above this is one too: no machine has a pebibyte."""

_UNITS = {
    "": 1,
    "b": 1,
    **{letter: 1024**power for power, letter in enumerate("kmgtp", 1)},
    **{f"{letter}ib": 1024**power for power, letter in enumerate("kmgtp", 1)},
    **{f"{letter}b": 1000**power for power, letter in enumerate("kmgtp", 1)},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PaintSettings:
    """How frames are painted. Raises :class:`SettingsError` for values that make no sense.

    Attributes:
        style: A shipped style's name, or the path of an ONNX file.
        strength: 0 to 1: 0 gives the source back, 1 the painting.
        scale: 0.1 to 1: the share of width and height at which frames are painted; they are
            brought back to their own size after.
        precision: ``int8``, ``fp32``, or ``auto``: INT8 only where it is faster on this machine.
        tile_px: Width and height of a tile, multiples of 64; None chooses.
        overlap_px: 0 to 4096 pixels that neighbouring tiles share; None: twice the receptive
            field, which is exact.
        workers: 1 to 256 tiles painted at the same time; None: one per usable core.
        provider: ONNX Runtime's execution provider: ``cpu``, ``cuda``, ``openvino``…
        smooth: 0 (off) to 1: strength of temporal smoothing; None: what suits the style.
        hold: ``auto`` keeps what only the sensor's noise changes as it was; ``off`` passes every
            frame on as it is.
        reuse: ``auto`` copies what cannot have changed from the painting before; ``off`` paints
            every frame as a whole, with the same result.
        memory_limit_bytes: Resident memory of the process to stay below, 2**20 to 2**50 bytes;
            None: what its control group or resource limit allows, if there is any.
    """

    style: str = DEFAULT_STYLE
    strength: float = 1.0
    scale: float = 1.0
    precision: Precision = "auto"
    tile_px: tuple[int, int] | None = None
    overlap_px: int | None = None
    workers: int | None = None
    provider: str = "cpu"
    smooth: float | None = None
    hold: Switch = "auto"
    reuse: Switch = "auto"
    memory_limit_bytes: int | None = None

    def __post_init__(self) -> None:
        _within("--strength", self.strength, 0, 1)
        if self.smooth is not None:
            _within("--smooth", self.smooth, 0, 1)
        _within("--scale", self.scale, 0.1, 1)
        if self.precision not in PRECISIONS:
            raise SettingsError(
                f"--precision {self.precision}: choose one of {', '.join(PRECISIONS)}"
            )
        for option, value in (("--hold", self.hold), ("--reuse", self.reuse)):
            if value not in SWITCH:
                raise SettingsError(f"{option} {value}: choose auto or off")
        if self.workers is not None and not 1 <= self.workers <= 256:
            raise SettingsError(f"--workers {self.workers}: should be between 1 and 256")
        if self.overlap_px is not None and not 0 <= self.overlap_px <= 4096:
            raise SettingsError(f"--overlap {self.overlap_px}: should be between 0 and 4096 pixels")
        limit = self.memory_limit_bytes
        if limit is not None and not LEAST_LIMIT_BYTES <= limit <= MOST_LIMIT_BYTES:
            raise SettingsError(
                f"--memory-limit {_size(limit)}: should be from {_size(LEAST_LIMIT_BYTES)} to "
                f"{_size(MOST_LIMIT_BYTES)}, such as 256M or 1GiB"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSettings:
    """How files are read and written. Raises :class:`SettingsError` for values out of range.

    Attributes:
        codec: FFmpeg's name of a video encoder, such as ``libx265`` or ``ffv1``; None: what suits
            the output's ending, ``libx264`` for most.
        crf: Constant quality, 0 (best) to 51, or to 63 for ``libsvtav1`` and ``libvpx-vp9``;
            None: the encoder's default, 18 for ``libx264``.
        preset: Speed of the encoder, from ``ultrafast`` to ``veryslow``; None: ``veryfast``.
        start_s: Seconds of the source to skip, 0 or more.
        duration_s: Seconds after which to stop, more than 0; None: at the end.
        overwrite: Replace the output if it exists.
        strict: Fail on the first damaged packet instead of counting it.
    """

    codec: str | None = None
    crf: int | None = None
    preset: str | None = None
    start_s: float = 0.0
    duration_s: float | None = None
    overwrite: bool = False
    strict: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.start_s < float("inf"):
            raise SettingsError(f"--start {self.start_s}: should be a number of seconds, 0 or more")
        if self.duration_s is not None and not 0 < self.duration_s < float("inf"):
            raise SettingsError(f"--duration {self.duration_s}: should be more than 0 seconds")
        if self.crf is not None and not 0 <= self.crf <= 63:
            raise SettingsError(
                f"--crf {self.crf} should be 0 (best) to 51, or to 63 for libsvtav1 and libvpx-vp9"
            )


def check_names(given: Iterable[str], known: Iterable[str]) -> None:
    """Raise :class:`SettingsError` for the first name that is not known, with the nearest that is."""
    names = sorted(known)
    for name in given:
        if name not in names:
            near = get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
            raise SettingsError(f"there is no option {name!r}; {hint}")


def _within(option: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:  # also catches NaN
        raise SettingsError(f"{option} {value}: should be between {low} and {high}")


def parse_tile(text: str) -> tuple[int, int] | None:
    """``auto`` → None, ``640x384`` → (640, 384). Raises :class:`SettingsError`."""
    if text == "auto":
        return None
    match = re.fullmatch(r"(\d+)x(\d+)", text)
    if match is None:
        raise SettingsError(f"--tile {text!r}: write WIDTHxHEIGHT, such as 640x384, or auto")
    return int(match[1]), int(match[2])


def parse_count(option: str, text: str) -> int | None:
    """``auto`` → None, digits → their number. Raises :class:`SettingsError`."""
    if text == "auto":
        return None
    if not text.isdecimal():
        raise SettingsError(f"{option} {text!r}: write a whole number or auto")
    return int(text)


def parse_share(option: str, text: str) -> float | None:
    """``auto`` → None, else a number. Raises :class:`SettingsError`."""
    if text == "auto":
        return None
    try:
        return float(text)
    except ValueError:
        raise SettingsError(f"{option} {text!r}: write a number from 0 to 1, or auto") from None


def parse_time(option: str, text: str) -> float:
    """``80``, ``1:20`` and ``0:01:20.0`` → 80 seconds. Raises :class:`SettingsError`."""
    match = re.fullmatch(r"(?:(?:([0-9]+):)?([0-5]?[0-9]):)?([0-9]+(?:\.[0-9]*)?)", text.strip())
    if match is None:
        raise SettingsError(f"{option} {text!r}: write seconds, such as 80, or 1:20 or 1:02:03.5")
    return 3600 * int(match[1] or 0) + 60 * int(match[2] or 0) + float(match[3])


def _size(size_bytes: int) -> str:
    """What :func:`parse_size` takes for so many bytes, in the largest unit of which they are whole:
    ``1M``, ``12``."""
    size, letters = size_bytes, list("PTGMK")
    unit = ""
    while letters and size > 0 and size % 1024 == 0:
        size, unit = size // 1024, letters.pop()
    return f"{size}{unit}"


def parse_size(option: str, text: str) -> int | None:
    """``auto`` → None, else bytes: ``512M``, ``1.5G`` and ``1GiB`` count in powers of 1024,
    ``512MB`` in powers of 1000, a bare number in bytes. Raises :class:`SettingsError`.
    """
    if text == "auto":
        return None
    match = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,15})?) ?([a-z]*)", text.strip().lower())
    if match is None or match[2] not in _UNITS:
        raise SettingsError(f"{option} {text!r}: write a size, such as 512M, 1.5G or 1GiB")
    return int(float(match[1]) * _UNITS[match[2]])
