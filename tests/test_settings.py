"""Options as people write them."""

from __future__ import annotations

import dataclasses
import inspect
import re

import pytest

from sfumato.stream.errors import SettingsError
from sfumato.stream.live.settings import LiveSettings
from sfumato.stream.settings import FileSettings, PaintSettings, parse_time


@pytest.mark.parametrize("settings", [PaintSettings, FileSettings, LiveSettings])
def test_help_explains_every_field(settings: type) -> None:
    said = re.findall(r"^    (\w+): \S", inspect.getdoc(settings) or "", re.MULTILINE)
    assert said == [field.name for field in dataclasses.fields(settings)]


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
