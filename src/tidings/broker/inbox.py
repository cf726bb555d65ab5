"""What does a broker take up next? Control messages first; whoever brings more than fits has to wait."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Inbox(Generic[T]):
    """The input queue: two queues of different priority, and a door at which readers wait.

    It is full with so many messages or bytes; each reader may bring one message more.
    """

    def __init__(self, messages: int, size_bytes: int) -> None:
        self._messages, self._most_bytes = messages, size_bytes
        self._first: deque[tuple[T, int]] = deque()
        self._rest: deque[tuple[T, int]] = deque()
        self._bytes = 0
        self._something = asyncio.Event()
        self._changed: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        return len(self._first) + len(self._rest)

    @property
    def is_full(self) -> bool:
        return len(self) >= self._messages or self._bytes >= self._most_bytes

    def put(self, item: T, *, first: bool, size_bytes: int = 0) -> None:
        """Queue an item. It is taken in any case: whoever brings it has waited."""
        (self._first if first else self._rest).append((item, size_bytes))
        self._bytes += size_bytes
        self._something.set()

    async def take(self) -> T:
        """The next item; those of one priority keep their order."""
        while not len(self):
            self._something.clear()
            await self._something.wait()
        item, size_bytes = (self._first or self._rest).popleft()
        self._bytes -= size_bytes
        self.relieve()
        return item

    def relieve(self) -> None:
        """Something has become less: let those who wait look again."""
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)

    async def wait_while(self, is_congested: Callable[[], bool]) -> None:
        """Wait until there is room here, and no congestion elsewhere."""
        while self.is_full or is_congested():
            if self._changed is None or self._changed.done():
                self._changed = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._changed)
