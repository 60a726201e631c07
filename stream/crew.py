"""The workers' tools: one network, and buffers for each worker."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from queue import SimpleQueue

from sfumato.models.session import StyleSession, TileRunner


class Crew:
    """A session and its runners. Any number of threads may ask for one."""

    def __init__(self, session: StyleSession, workers: int) -> None:
        """Takes over ``session``; so many ``workers`` run at once."""
        self.provider = session.provider
        self.any_size = session.any_size
        """Tiles of other shapes may be painted, as long as they have no more pixels."""
        self._session, self._spec = session, session.spec
        self._runners: SimpleQueue[TileRunner] = SimpleQueue()
        for _ in range(workers):
            self._runners.put(session.runner())

    @contextmanager
    def runner(self, window_px: tuple[int, int]) -> Generator[TileRunner]:
        """One worker's tools, for a tile of this shape; waits while all are in use."""
        runner = self._runners.get()
        try:
            runner.fit(self._spec.input_shape(*window_px), self._spec.output_shape(*window_px))
            yield runner
        finally:
            self._runners.put(runner)

    def close(self) -> None:
        """Let go of the network and of the runners that are not in use."""
        self._session.close()
        while not self._runners.empty():
            self._runners.get_nowait()
