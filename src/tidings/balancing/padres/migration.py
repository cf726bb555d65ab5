"""What does a subscriber do while it moves to another broker? It is at both, and drops what it has ([PADRES] 3.4.2)."""

from __future__ import annotations

from collections.abc import Hashable

from tidings.balancing.padres.messages import Attach, Detach, Leave, Lost, MoveTo, SubscriberEffect, ToSubscriber

HISTORY = 1000
"""How many publications are remembered: as many as one broker may lag behind the other."""


class Migrant:
    """The thin layer in a client that hides migrations from the application.

    Its home changes when the old broker says that the new paths are there. Until then it is subscribed at both, and
    each publication that comes twice is handed on once. The history is always kept: what the old broker delivered
    before the move may still lie in the queue of the new one.

    >>> migrant = Migrant("B1")
    >>> migrant.on(MoveTo("B1-1", to="B2", total=1))
    [Attach(to='B2', session='B1-1', total=1)]
    >>> migrant.accepts("p1"), migrant.accepts("p1")
    (True, False)
    >>> migrant.on(Leave("B1-1", arrived=True)), migrant.home
    ([Detach(broker='B1')], 'B2')
    """

    def __init__(self, home: str, history: int = HISTORY) -> None:
        self.home = home
        self.moving: MoveTo | None = None
        self._history = history
        self._seen: dict[Hashable, None] = {}

    @property
    def homes(self) -> tuple[str, ...]:
        """Where the subscriber is subscribed."""
        return (self.home,) if self.moving is None else (self.home, self.moving.to)

    def accepts(self, publication: Hashable) -> bool:
        """Whether a publication is new; only then the application gets it."""
        if publication in self._seen:
            return False
        self._seen[publication] = None
        if len(self._seen) > self._history:
            del self._seen[next(iter(self._seen))]
        return True

    def on(self, message: ToSubscriber) -> list[SubscriberEffect]:
        match message:
            case MoveTo() if self.moving is None and message.to != self.home:
                self.moving = message
                return [Attach(message.to, message.session, message.total)]
            case Leave(session, arrived) if self.moving is not None and session == self.moving.session:
                return self._end(self.moving, stays=not arrived)
            case Lost(broker) if self.moving is not None and broker in self.homes:
                return self._end(self.moving, stays=broker == self.moving.to)
        return []

    def _end(self, move: MoveTo, *, stays: bool) -> list[SubscriberEffect]:
        left = move.to if stays else self.home
        self.home = self.home if stays else move.to
        self.moving = None
        return [Detach(left)]
