"""A place for one item between two threads, where a newer item replaces an older one."""

from __future__ import annotations

from threading import Condition
from typing import Generic, TypeVar

T = TypeVar("T")


class Newest(Generic[T]):
    """Holds at most one item. Putting never waits; taking waits for an item or the end."""

    def __init__(self) -> None:
        self._item: T | None = None
        self._closed = False
        self._changed = Condition()

    def put(self, item: T) -> bool:
        """Whether the item replaced one that nobody took."""
        with self._changed:
            replaced = self._item is not None
            if not self._closed:
                self._item = item
                self._changed.notify()
            return replaced

    def take(self, timeout_s: float | None = None) -> T | None:
        """The item; None once :attr:`closed`, or after ``timeout_s`` without one."""
        with self._changed:
            self._changed.wait_for(lambda: self._item is not None or self._closed, timeout_s)
            item, self._item = self._item, None
            return item

    @property
    def waiting(self) -> bool:
        """An item is there."""
        return self._item is not None

    @property
    def closed(self) -> bool:
        """Nothing more comes."""
        return self._closed

    def close(self) -> None:
        """Wake who waits; an item that is there can still be taken."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
