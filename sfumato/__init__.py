"""Paint video on an ordinary CPU, without seams and without flicker.

>>> import sfumato
>>> report = sfumato.stylize("holiday.mp4", "painted.mp4", style="oil")
>>> for picture in sfumato.paint("holiday.mp4", style="toon"):
...     show(picture)  # uint8 (height, width, 3) RGB
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.stream.api import paint, stylize
    from sfumato.stream.errors import (
        BudgetError,
        SettingsError,
        SfumatoError,
        SinkError,
        SourceError,
        Stopped,
        StyleError,
    )
    from sfumato.stream.live.api import live
    from sfumato.stream.report import Progress, Report
    from sfumato.stream.settings import FileSettings, PaintSettings

__version__ = "0.1.0"

_HOMES = {
    "BudgetError": "errors",
    "live": "live.api",
    "paint": "api",
    "stylize": "api",
    "FileSettings": "settings",
    "PaintSettings": "settings",
    "Progress": "report",
    "Report": "report",
    "SettingsError": "errors",
    "SfumatoError": "errors",
    "SinkError": "errors",
    "SourceError": "errors",
    "Stopped": "errors",
    "StyleError": "errors",
}

__all__ = [
    "BudgetError",
    "FileSettings",
    "PaintSettings",
    "Progress",
    "Report",
    "SettingsError",
    "SfumatoError",
    "SinkError",
    "SourceError",
    "Stopped",
    "StyleError",
    "live",
    "paint",
    "stylize",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: ``import sfumato`` itself stays quick."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"sfumato.stream.{_HOMES[name]}"), name)
