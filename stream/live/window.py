"""The picture in a window, with figures, keys, and the source to compare with (extra ``window``)."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.stream.convert import ToRgb
from sfumato.stream.errors import SinkError
from sfumato.stream.live.age import AgeMeter
from sfumato.stream.live.controls import HELP
from sfumato.stream.live.painter import Painted

OTHERS = "choose another --sink: virtualcam, an address, a file, null"
INSTALL = f"the window needs pygame-ce: pip install 'sfumato[window]'; or {OTHERS}"

UNSEEN = ("dummy", "offscreen")
"""SDL's drivers for machines without a screen."""

SCREENS = ("SDL_VIDEODRIVER", "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR")
"""Where none of these is set Linux has no screen to offer, which Wayland's library says by itself."""

View = Literal["result", "split", "beside"]
VIEWS: tuple[View, ...] = ("result", "split", "beside")

TEXT_PART = 30
"""Text is a thirtieth of the picture's height high."""

MARGIN_PX = 12
LINE_PX = 2


class Window:
    """Shows pictures and gives the keys that were pressed. All calls come from the main thread."""

    def __init__(self, title: str = "Sfumato") -> None:
        """Raises :class:`SinkError` without the extra, or without a screen."""
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
        try:
            import pygame
        except ImportError as exc:
            raise SinkError(INSTALL) from exc
        self._pygame: Any = pygame
        if sys.platform == "linux" and not any(name in os.environ for name in SCREENS):
            raise SinkError(f"no window can be opened: there is no screen; {OTHERS}")
        try:
            pygame.display.init()
        except pygame.error as exc:
            raise SinkError(f"no window can be opened: {exc}; {OTHERS}") from exc
        if pygame.display.get_driver() in UNSEEN and "SDL_VIDEODRIVER" not in os.environ:
            pygame.display.quit()
            raise SinkError(f"no window can be opened: there is no screen; {OTHERS}")
        pygame.font.init()
        pygame.display.set_caption(title)
        self.ages = AgeMeter()
        self.view: View = "result"
        self.split = 0.5
        """Where the line between source and result is, 0 (left) to 1."""
        self._figures = True
        self._help = self._dragging = False
        self._size = (0, 0)
        """Of the picture that the window was opened for."""
        self._place = (0, 0, 1, 1)
        """Where the picture is in the window: x, y, width, height."""
        self._to_rgb = cache(ToRgb)

    def show(self, picture: Painted, lines: Sequence[str]) -> None:
        """Put a picture on the screen, with ``lines`` of figures on top if those are wanted."""
        rgb = self._composed(picture)
        height, width, _ = rgb.shape
        if (width, height) != self._size:
            self._open(width, height)
        screen = self._pygame.display.get_surface()  # another one once the user has resized it
        self._place = fitted((width, height), screen.get_size())
        x, y, *size = self._place
        surface = self._pygame.image.frombuffer(rgb.tobytes(), (width, height), "RGB")
        if size != [width, height]:
            screen.fill((0, 0, 0))
            surface = self._pygame.transform.smoothscale(surface, size)
        screen.blit(surface, (x, y))
        if self.view == "split":
            line_x = x + round(self.split * size[0])
            screen.fill((255, 255, 255), (line_x - LINE_PX // 2, y, LINE_PX, size[1]))
        self._write(screen, [*(lines if self._figures else ()), *(HELP if self._help else ())])
        self._pygame.display.flip()
        if not picture.held:
            self.ages.note(picture.captured_s)

    def pressed(self) -> list[str]:
        """Names of the keys pressed since last asked, ``q`` for a closed window.

        Keys that change the window itself act on it and are not among them.
        """
        pressed = []
        for event in self._pygame.event.get():
            if event.type == self._pygame.QUIT:
                pressed.append("q")
            elif event.type == self._pygame.KEYDOWN:
                name = self._pygame.key.name(event.key)
                if not self._own(name):
                    pressed.append(name)
            else:
                self._drag(event)
        return pressed

    def close(self) -> None:
        """Close the window."""
        self._pygame.display.quit()
        self._pygame.font.quit()

    def _open(self, width: int, height: int) -> None:
        """A window of the picture's size, or as large as the screen allows."""
        display = self._pygame.display
        _, _, *size = fitted((width, height), display.get_desktop_sizes()[0], grow=False)
        display.set_mode(size, self._pygame.RESIZABLE)
        self._size = (width, height)

    def _composed(self, picture: Painted) -> NDArray[np.uint8]:
        painted = self._to_rgb(picture.frame.pixels)(picture.frame)
        if self.view == "result":
            return painted
        source = self._to_rgb(picture.source.pixels)(picture.source)
        if self.view == "beside":
            return np.concatenate([source, painted], axis=1)
        x = round(self.split * painted.shape[1])
        painted[:, :x] = source[:, :x]
        return painted

    def _write(self, screen: Any, lines: Sequence[str]) -> None:
        font = self._pygame.font.Font(None, max(16, screen.get_height() // TEXT_PART))
        y = MARGIN_PX
        for line in lines:
            for offset, colour in ((1, (0, 0, 0)), (0, (255, 255, 255))):
                text = font.render(line, True, colour)
                screen.blit(text, (MARGIN_PX + offset, y + offset))
            y += font.get_linesize()

    def _own(self, key: str) -> bool:
        """Keys of the window itself."""
        if key == "b":
            self.view = VIEWS[(VIEWS.index(self.view) + 1) % len(VIEWS)]
        elif key == "o":
            self._figures = not self._figures
        elif key == "h":
            self._help = not self._help
        elif key == "f":
            self._pygame.display.toggle_fullscreen()
        else:
            return False
        return True

    def _drag(self, event: Any) -> None:
        """The line between source and result follows the mouse while its button is down."""
        if event.type == self._pygame.MOUSEBUTTONDOWN:
            self._dragging = True
        elif event.type == self._pygame.MOUSEBUTTONUP:
            self._dragging = False
        elif event.type != self._pygame.MOUSEMOTION:
            return
        if self._dragging:
            left, _, width, _ = self._place
            self.split = min(1.0, max(0.0, (event.pos[0] - left) / width))


def fitted(
    inner: tuple[int, int], outer: tuple[int, int], *, grow: bool = True
) -> tuple[int, int, int, int]:
    """(x, y, width, height) of the largest place in ``outer`` with the shape of ``inner``."""
    zoom = min(outer[0] / inner[0], outer[1] / inner[1])
    zoom = zoom if grow else min(1.0, zoom)
    width, height = max(1, round(inner[0] * zoom)), max(1, round(inner[1] * zoom))
    return (outer[0] - width) // 2, (outer[1] - height) // 2, width, height
