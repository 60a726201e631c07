"""Options as people write them."""

from __future__ import annotations

import pytest

from sfumato.stream.errors import SettingsError
from sfumato.stream.settings import parse_time


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0), ("80", 80), ("1:20", 80), ("61:00", None), ("1:02:03.5", 3723.5), ("12.", 12)],
)
def test_times(text: str, seconds: float | None) -> None:
    if seconds is None:
        with pytest.raises(SettingsError, match="--start '61:00'"):
            parse_time("--start", text)
    else:
        assert parse_time("--start", text) == seconds


@pytest.mark.parametrize("text", ["", ":", "1:", "-1", "1:2:3:4", "inf", "nan", "1e3", "٣"])
def test_nonsense_is_no_time(text: str) -> None:
    with pytest.raises(SettingsError, match="write seconds, such as 80"):
        parse_time("--start", text)
