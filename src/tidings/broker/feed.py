"""How does an application get what it has subscribed to? It iterates over a feed."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable

from tidings.balancing.padres import Migrant
from tidings.model import Publication, TidingsError


class Feed(AsyncIterator[Publication]):
    """The publications that answer one subscription, each once, also while it moves from one broker to another."""

    def __init__(self, name: str, query: str, home: str, limit: int, end: Callable[[Feed], Awaitable[None]]) -> None:
        self.name = name
        self.query = query
        self.migrant = Migrant(home)
        self.repeats = 0
        """How many came twice and were dropped."""
        self.joined_at = 0.0
        """When a broker last accepted the subscription, by the clock of the event loop."""
        self._limit = limit
        self._end = end
        self._waiting: deque[Publication] = deque()
        self._changed = asyncio.Event()
        self._is_closed = False
        self._failure: TidingsError | None = None

    async def take(self, key: str, publication: Publication) -> None:
        """Queue a publication, unless it has come before; wait while the application has too much to do."""
        if not self.migrant.accepts(key):
            self.repeats += 1
            return
        while len(self._waiting) >= self._limit and not self._is_closed:
            self._changed.clear()
            await self._changed.wait()
        self._waiting.append(publication)
        self._changed.set()

    def stop(self, failure: TidingsError | None = None) -> None:
        """Nothing more will come."""
        self._is_closed, self._failure = True, failure
        self._changed.set()

    async def close(self) -> None:
        """Unsubscribe."""
        if not self._is_closed:
            self.stop()
            await self._end(self)

    def __aiter__(self) -> Feed:
        return self

    async def __anext__(self) -> Publication:
        while not self._waiting:
            if self._failure is not None:
                raise self._failure
            if self._is_closed:
                raise StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()
        publication = self._waiting.popleft()
        self._changed.set()
        return publication
