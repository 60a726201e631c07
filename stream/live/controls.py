"""What the keys do: style, strength, scale, smoothing, recording, snapshots."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from sfumato.models.catalog import list_styles
from sfumato.stream.errors import SfumatoError
from sfumato.stream.live.fit import Fit
from sfumato.stream.live.like import LikeFirst
from sfumato.stream.live.painter import LivePainter, Painted
from sfumato.stream.media.colour import ColourTags
from sfumato.stream.media.sink import open_sink

HELP = (
    "left, right  style",
    "up, down  strength",
    "s  scale",
    "m  smoothing",
    "r  record",
    "c  snapshot",
    "b  beside, split, result only",
    "o  figures",
    "f  full screen",
    "h  help",
    "q  quit",
)
"""One line for each key."""

SCALES = (0.0, 1.0, 0.75, 0.5)
SMOOTHINGS = (0.0, 0.5, 1.0)
HIDDEN_STYLES = {"identity"}


class Controls:
    """Turns keys into changes of a running painter; each gives a line to show, or None."""

    def __init__(
        self,
        painter: LivePainter,
        *,
        record: Callable[[], str],
        leave: Callable[[], None],
        folder: Path = Path(),
    ) -> None:
        """``record`` starts or ends a recording and says so; snapshots go into ``folder``."""
        self._painter = painter
        self._folder = folder
        self._scale = self._smoothing = 0
        self._styles = [style.name for style in list_styles() if style.name not in HIDDEN_STYLES]
        self._keys: dict[str, Callable[[Painted | None], str | None]] = {
            "left": lambda _: self._restyle(-1),
            "right": lambda _: self._restyle(1),
            "up": lambda _: self._strengthen(0.1),
            "down": lambda _: self._strengthen(-0.1),
            "s": lambda _: self._rescale(),
            "m": lambda _: self._smooth(),
            "r": lambda _: record(),
            "c": self._snapshot,
            "q": lambda _: leave(),
            "escape": lambda _: leave(),
        }

    def press(self, key: str, picture: Painted | None) -> str | None:
        """Do what ``key`` stands for; ``picture`` is what is on screen."""
        try:
            act = self._keys.get(key)
            return None if act is None else act(picture)
        except (SfumatoError, OSError) as exc:
            return str(exc)

    def _restyle(self, step: int) -> str:
        now = self._painter.settings.paint.style
        place = self._styles.index(now) if now in self._styles else -1
        style = self._styles[(place + step) % len(self._styles)]
        self._painter.switch(style=style)
        return f"style {style}"

    def _strengthen(self, step: float) -> str:
        strength = min(1.0, max(0.0, round(self._painter.settings.paint.strength + step, 1)))
        self._painter.switch(strength=strength)
        return f"strength {strength:g}"

    def _rescale(self) -> str:
        self._scale = (self._scale + 1) % len(SCALES)
        self._painter.switch(scale=SCALES[self._scale])
        return f"scale {SCALES[self._scale]:g}" if self._scale else "scale auto"

    def _smooth(self) -> str:
        self._smoothing = (self._smoothing + 1) % len(SMOOTHINGS)
        self._painter.switch(smooth=SMOOTHINGS[self._smoothing])
        return f"smoothing {SMOOTHINGS[self._smoothing]:g}"

    def _snapshot(self, picture: Painted | None) -> str:
        if picture is None:
            return "there is no picture yet"
        path = self._folder / f"{stamp()}.png"
        with open_sink(path, like=LikeFirst(picture.frame, ColourTags())) as sink:
            sink.write(Fit(sink.size_px, sink.pixels)(picture.frame))
        return f"snapshot {path}"


def stamp() -> str:
    """A file name for something made now."""
    return datetime.now().strftime("sfumato-%Y%m%d-%H%M%S-%f")[:-3]
