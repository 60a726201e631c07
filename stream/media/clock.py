"""Time: which part of a source is wanted, and timestamps that can be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from av import Packet

SEAM_S = Fraction(1, 2)
"""Packets never fall back by so much but where another recording begins."""


class Timeline:
    """Times that go on across seams, where recordings with clocks of their own were joined."""

    def __init__(self) -> None:
        self.seams = 0
        self._offset_s = self._offset_before_s = Fraction(0)
        self._last_s: dict[int, Fraction] = {}

    def straighten(self, packet: Packet[Any]) -> None:
        """Shift a packet of a later recording to where the one before it ended.

        Only decoding times of sound and picture show a seam: nothing else has to rise.
        """
        offset_s = self._offset_s
        if packet.dts is not None and packet.stream.type in ("audio", "video"):
            offset_s = self._follow(packet, packet.dts * packet.time_base)
        if shift := round(offset_s / packet.time_base):
            packet.pts = None if packet.pts is None else packet.pts + shift
            packet.dts = None if packet.dts is None else packet.dts + shift

    def _follow(self, packet: Packet[Any], time_s: Fraction) -> Fraction:
        """What to add to a packet's times, by where its stream stands."""
        last_s = self._last_s.get(packet.stream_index)
        offset_s = self._offset_for(time_s, last_s)
        if last_s is not None and time_s + offset_s < last_s - SEAM_S:
            self.seams += 1
            step_s = (packet.duration or 0) * packet.time_base
            self._offset_before_s, self._offset_s = offset_s, last_s + step_s - time_s
            offset_s = self._offset_s
        self._last_s[packet.stream_index] = time_s + offset_s
        return offset_s

    def _offset_for(self, time_s: Fraction, last_s: Fraction | None) -> Fraction:
        """Streams pass a seam one after the other: the offset that leads on from `last_s`."""
        if last_s is None:
            return self._offset_s
        both = (self._offset_s, self._offset_before_s)
        return min(both, key=lambda offset_s: abs(time_s + offset_s - last_s))


@dataclass(slots=True)
class Cut:
    """The wanted part of a source, in seconds on the source's own clock."""

    start_s: Fraction | None = None
    """None: from the beginning, with times unchanged."""
    end_s: Fraction | None = None
    shift_s: Fraction = Fraction(0)
    """What is taken off every time, so that a part begins at 0: the time of its first frame."""

    def is_before(self, time_s: Fraction) -> bool:
        """Whether a frame at this time is too early."""
        return self.start_s is not None and time_s < self.start_s

    def is_after(self, time_s: Fraction) -> bool:
        """Whether a frame at this time is too late."""
        return self.end_s is not None and time_s >= self.end_s

    def begin_at(self, time_s: Fraction) -> None:
        """The first wanted frame is at `time_s`."""
        if self.start_s is not None:
            self.shift_s = time_s

    def is_over(self, packet: Packet[Any]) -> bool:
        """Whether a copied packet ends before the part, whichever picture turns out its first."""
        time = packet.pts if packet.pts is not None else packet.dts
        if self.start_s is None or time is None:
            return False
        if packet.stream.type == "subtitle":
            time += packet.duration or 0
        return time * packet.time_base < self.start_s

    def move(self, packet: Packet[Any]) -> bool:
        """Shift a copied packet to the part's clock; False if it lies outside.

        What starts before the part is left out, save for something that lasts into it and is not
        audio: a subtitle is shortened instead.
        """
        if self.start_s is None and self.end_s is None:
            return True
        time = packet.pts if packet.pts is not None else packet.dts
        if time is None:
            return False
        base = packet.time_base
        if self.is_after(time * base):
            return False
        if self.start_s is None:
            return True
        early = -((time * base - self.shift_s) / base)
        if early > 0 and not self._clip(packet, round(early)):
            return False
        ticks = round(self.shift_s / base)
        packet.pts = None if packet.pts is None else packet.pts - ticks
        packet.dts = None if packet.dts is None else packet.dts - ticks
        return True

    @staticmethod
    def _clip(packet: Packet[Any], early: int) -> bool:
        """Move the start of a subtitle forward; False if nothing of it is left."""
        duration = packet.duration or 0
        if packet.stream.type != "subtitle" or duration <= early or packet.pts is None:
            return False
        packet.pts = packet.dts = packet.pts + early
        packet.duration = duration - early
        return True


class Clock:
    """Timestamps of one stream: kept where they rise, made up where they are missing."""

    def __init__(self, time_base: Fraction, frame_rate: Fraction | None) -> None:
        self.repaired = 0
        """Timestamps that did not rise and were moved to the next tick."""
        self.invented = 0
        self._step = 1 / ((frame_rate or Fraction(25)) * time_base)
        self._next = Fraction(0)
        self._last: int | None = None

    def stamp(self, pts: int | None) -> int:
        """A timestamp greater than all before, in ticks."""
        if pts is None:
            self.invented += 1
            pts = round(self._next)
        if self._last is not None and pts <= self._last:
            self.repaired += 1
            pts = self._last + 1
        # Counting on in fractions keeps made-up times free of drift.
        behind = abs(pts - self._next) >= 1
        self._next = (Fraction(pts) if behind else self._next) + self._step
        self._last = pts
        return pts
