"""What pages say, taken apart with care: nothing from outside is what it claims to be."""

from __future__ import annotations

import json
import math
from typing import Any

from sfumato.stream.errors import SfumatoError


class MessageError(SfumatoError):
    """What a page sent makes no sense."""


def parse_object(text: str) -> dict[str, Any]:
    """A JSON object. Raises :class:`MessageError`."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise MessageError("messages are JSON") from exc
    if not isinstance(said, dict):
        raise MessageError("messages are JSON objects")
    return said


def parse_strength(value: object) -> float | None:
    """A strength from 0 to 1, as a number or as digits; None stays. Raises
    :class:`MessageError`."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise MessageError("strength is a number")
    try:
        strength = float(value)
    except (ValueError, OverflowError):
        raise MessageError("strength is a number") from None
    if not math.isfinite(strength) or not 0 <= strength <= 1:
        raise MessageError("strength is from 0 to 1")
    return strength
