"""Packets of copied streams on their way from a source to a sink: never too many at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, TypeAlias

from av import Packet

from sfumato.stream.media.clock import Cut

Load: TypeAlias = "list[Packet[Any]]"
"""Packets that ride on one frame. Whoever writes them takes them off it."""

LOAD_BYTES = 2 << 20
"""As much may gather between two pictures: 10 s of CD sound, a minute of what is coded."""

PACKET_BYTES = 512
"""What a packet takes beside its data: AVPacket, its buffer's keeper, and PyAV's object."""


class Riders:
    """Gathers packets in the order of the file, until a frame takes them along.

    Where too many come before there is one, ``take`` gets them at once, and before them those that
    ride on frames still under way. It is called by the thread that reads.
    """

    def __init__(self) -> None:
        self.cut = Cut()
        """What lies outside is left out; what is in it is moved to its clock."""
        self.take: Callable[[Load], None] | None = None
        self.keep = True
        """Whether all are kept as long as nobody takes what is too much."""
        self.dropped = False
        self._gathered: Load = []
        self._gathered_bytes = 0
        self._under_way: deque[Load] = deque()

    def add(self, packet: Packet[Any]) -> None:
        """The next one. May raise what ``take`` raises."""
        if self.cut.is_over(packet):
            return
        self._gathered.append(packet)
        self._gathered_bytes += packet.size + PACKET_BYTES
        if self._gathered_bytes > LOAD_BYTES:
            self._spill()

    def load(self) -> Load:
        """What was gathered since the last time, for a frame to take along."""
        load = [packet for packet in self._gathered if self.cut.move(packet)]
        self.clear()
        if self.take is not None:
            while self._under_way and not self._under_way[0]:
                self._under_way.popleft()
            self._under_way.append(load)
        return load

    def clear(self) -> None:
        """Forget what was gathered."""
        self._gathered, self._gathered_bytes = [], 0

    def _spill(self) -> None:
        if self.take is not None:
            self.load()
            while self._under_way:
                self.take(self._under_way.popleft())
        elif not self.keep:
            self.dropped = True
            self.clear()
