"""Who is who? All subscribers of a world are numbered; a set of them is a set of bits."""

from __future__ import annotations

from tidings.simulate.universe import bits

HISTORY = 50_000
"""So many publications are remembered: far more than any broker lags behind another."""


class SubscriberRoster:
    """The numbers of subscribers.

    >>> roster = SubscriberRoster()
    >>> roster.bit("a"), roster.bit("b"), roster.bit("a")
    (1, 2, 1)
    >>> roster.names(0b10)
    ('b',)
    """

    def __init__(self) -> None:
        self._bits: dict[str, int] = {}
        self._names: list[str] = []
        self._sets: dict[int, tuple[str, ...]] = {}

    def bit(self, name: str) -> int:
        """The bit of a subscriber; a new name gets the next one."""
        known = self._bits.get(name)
        if known is None:
            known = self._bits[name] = 1 << len(self._names)
            self._names.append(name)
        return known

    def names(self, subscribers: int) -> tuple[str, ...]:
        """Who is in a set; remembered, because the same ones get publication after publication."""
        known = self._sets.get(subscribers)
        if known is None:
            known = self._sets[subscribers] = tuple([self._names[number] for number in bits(subscribers)])
        return known


class Histories:
    """The short histories of all subscribers at once: what comes for the second time is dropped ([PADRES] 3.4.2).

    Does for a set of subscribers what :meth:`Migrant.accepts` does for one.

    >>> histories = Histories()
    >>> histories.accept(1, 0b011), histories.accept(1, 0b110)
    (3, 4)
    """

    def __init__(self, history: int = HISTORY) -> None:
        self._history = history
        self._seen: dict[int, int] = {}

    def accept(self, number: int, subscribers: int) -> int:
        """Those of the subscribers for whom this publication is new."""
        seen = self._seen.get(number, 0)
        self._seen[number] = seen | subscribers
        if not seen:
            self._seen.pop(number - self._history, None)
        return subscribers & ~seen
