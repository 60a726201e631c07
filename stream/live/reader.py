"""Keeps a source running: reads it dry, notices silence, comes back after a fault."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import Event, Thread
from typing import Literal, Self

from sfumato.stream.errors import SourceError, Stopped
from sfumato.stream.frame import Frame, VideoInfo
from sfumato.stream.live.feed import Feed
from sfumato.stream.live.inputs import Input
from sfumato.stream.media.colour import ColourTags

State = Literal["opening", "playing", "stalled", "reconnecting", "ended"]

LEAVE_S = 1.5
"""How long to wait at the end for a read that may never return."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a source may be silent, in seconds."""

    stall_s: float = 2.0
    """After this a source that gives nothing counts as stalled."""
    give_up_s: float = 10.0
    """After this it is opened anew."""
    first_wait_s: float = 0.5
    """Before the first try; each further one waits twice as long."""
    longest_wait_s: float = 8.0


class LiveReader:
    """Reads a source on a thread of its own and hands over every frame. A context manager.

    The first opening has to succeed: :meth:`start` raises what is wrong. Later faults of cameras
    and addresses are waited out; files, pipes and test sources end the run with their last frame.
    """

    def __init__(
        self,
        source: Input,
        give: Callable[[Frame, float], None],
        patience: Patience | None = None,
        *,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        """``give`` and ``note`` (what happened, for people) are called on the reader's thread."""
        self._source, self._give, self._note = source, give, note
        self._patience = patience or Patience()
        self._stop, self._begun = Event(), Event()
        self._feed: Feed | None = None
        self._error: BaseException | None = None
        self._state: State = "opening"
        self._last_s = time.monotonic()
        self._damaged = self._moved = 0
        """Of the connections before the present one."""
        self.frames = 0
        """Frames handed over."""
        self.reconnects = 0
        self._thread = Thread(target=self._run, name="reader", daemon=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self, stop: Event | None = None) -> Self:
        """Begin to read, and wait for the first frame.

        Raises :class:`SourceError`, and :class:`Stopped` soon after ``stop`` is set.
        """
        self._thread.start()
        while not self._begun.wait(0.05):
            if stop is not None and stop.is_set():
                raise Stopped("stopped as asked")
        self.check()
        return self

    def check(self) -> None:
        """Raise what ended the reading, if it was no proper end."""
        if self._error is not None:
            raise self._error

    @property
    def state(self) -> State:
        """What the source is doing."""
        silent_s = time.monotonic() - self._last_s
        if self._state == "playing" and silent_s > self._patience.stall_s:
            return "stalled"
        return self._state

    @property
    def info(self) -> VideoInfo | None:
        """What is known of the pictures."""
        return None if self._feed is None else self._feed.info

    @property
    def fps(self) -> float | None:
        """Frames per second that the source says it has."""
        rate = None if self.info is None else self.info.frame_rate
        return None if rate is None else float(rate)

    @property
    def tags(self) -> ColourTags:
        """How the pictures' colours are tagged."""
        return ColourTags() if self._feed is None else self._feed.tags

    @property
    def has_sound(self) -> bool:
        """There is sound beside the pictures; it is not read."""
        return self._feed is not None and self._feed.has_sound

    @property
    def decode_ms(self) -> float:
        """Milliseconds to read and decode a picture."""
        return 0.0 if self._feed is None else self._feed.decode_ms

    def warnings(self) -> list[str]:
        """What a user should know about this reading."""
        said = [f"the source was opened anew {self.reconnects} times"] if self.reconnects else []
        if self._feed is not None:
            if damaged := self._damaged + self._feed.damaged:
                said.append(f"{damaged} damaged packets or pictures were skipped")
            if moved := self._moved + self._feed.moved:
                said.append(f"reading was too slow for the source's pace {moved} times")
            if self._feed.cut_off:
                said.append("the last picture was cut off and is left out")
            if self._feed.hurried:
                said.append(
                    f"{self._source.name} came faster than it plays, and only the newest pictures "
                    "were shown; for a recording use --realtime"
                )
        return said

    def close(self) -> None:
        """Stop reading. A read that hangs is left behind: nothing can wake it."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(LEAVE_S)

    def _run(self) -> None:
        try:
            ended = self._play()  # the first time a fault is an error
            while self._source.comes_back and not ended and not self._stop.is_set():
                ended = self._come_back()
        except BaseException as exc:  # noqa: BLE001 - raised by check()
            self._error = exc
        finally:
            self._state = "ended"
            self._begun.set()

    def _play(self) -> bool:
        """Read until the source ends; whether that was its proper end, not an interruption.

        A fault before the first frame is raised.
        """
        before = self.frames
        container = self._source.open(self._patience.give_up_s)
        try:
            feed = Feed(self._source, container, self._stop)
            for frame, captured_s in feed.frames():
                if feed is not self._feed:
                    self._use(feed)
                self._last_s, self._state = time.monotonic(), "playing"
                self.frames += 1
                self._give(frame, captured_s)
                self._begun.set()
        except (SourceError, OSError) as exc:
            if self.frames == before:
                raise
            self._note(f"the source failed: {exc}")
            return False
        finally:
            length = container.duration
            container.close()
        if self.frames == before and not self._stop.is_set():
            raise SourceError(f"{self._source.name} gives no picture")
        return length is not None  # what knows its length is no live stream

    def _use(self, feed: Feed) -> None:
        """What is known of the source is known from this connection now."""
        if self._feed is not None:
            self._damaged += self._feed.damaged
            self._moved += self._feed.moved
        self._feed = feed

    def _come_back(self) -> bool:
        """Try again until it plays, waiting longer each time; what :meth:`_play` says."""
        self._state = "reconnecting"
        wait_s = self._patience.first_wait_s
        while not self._stop.wait(wait_s):
            wait_s = min(2 * wait_s, self._patience.longest_wait_s)
            self._note(f"opening {self._source.name} anew")
            with suppress(SourceError, OSError):
                ended = self._play()
                self.reconnects += 1
                return ended
        return False
