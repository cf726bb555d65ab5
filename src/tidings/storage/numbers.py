"""What is the number of the next operation? One more than all before it, over restarts too."""

from __future__ import annotations

from tidings.storage.spaces import KeySpace

BLOCK = 1 << 20
"""So many numbers are set aside with one write."""

_NAME = b"number"


class Numbers:
    """Numbers operations. After a restart some numbers are skipped, and none comes twice."""

    def __init__(self, space: KeySpace) -> None:
        self._space = space
        self._next = self._end = space.remembered(_NAME)

    @property
    def next(self) -> int:
        """All numbers so far are smaller."""
        return self._next

    def take(self, count: int) -> int:
        """The first of ``count`` numbers in a row."""
        first = self._next
        if first + count > self._end:
            self._end = first + count + BLOCK
            self._space.remember(_NAME, self._end)
        self._next = first + count
        return first
