"""The workers' tools: one network, ready for tiles of one shape, and buffers for each worker."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from queue import SimpleQueue

from sfumato.models.session import StyleSession, TileRunner


class Crew:
    """A session and its runners. Any number of threads may ask for one."""

    def __init__(self, session: StyleSession, tile_px: tuple[int, int], workers: int) -> None:
        """Takes over ``session``, made for tiles of ``tile_px``; so many ``workers`` run at once."""
        self.provider = session.provider
        self.tile_px = tile_px
        self._session = session
        self._runners: SimpleQueue[TileRunner] = SimpleQueue()
        for _ in range(workers):
            self._runners.put(session.runner())

    @contextmanager
    def runner(self) -> Generator[TileRunner]:
        """One worker's tools for the ``with`` block; waits while all are in use."""
        runner = self._runners.get()
        try:
            yield runner
        finally:
            self._runners.put(runner)

    def close(self) -> None:
        """Let go of the network; runners in use end what they do."""
        self._session.close()
