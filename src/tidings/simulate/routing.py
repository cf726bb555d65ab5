"""Where do advertisements, subscriptions and publications go? The tables of one broker ([PADRES] 2.3).

Advertisements are flooded. Subscriptions follow the reverse path of advertisements that they meet, unless another one
that went the same way covers them. When a subscription is taken back, those that it had covered are forwarded first.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Protocol

from tidings.balancing.padres import Poset

LOCAL = ""
"""The hop to a broker's own clients and modules."""


@dataclass(frozen=True, slots=True)
class Advertise:
    """``origin`` and ``number`` name the advertisement."""

    name: str
    query: int


@dataclass(frozen=True, slots=True)
class Unadvertise:
    name: str


@dataclass(frozen=True, slots=True)
class Want:
    """A subscription between brokers."""

    query: int


@dataclass(frozen=True, slots=True)
class Unwant:
    query: int


TableMessage = Advertise | Unadvertise | Want | Unwant
Forward = tuple[str, TableMessage]
"""A neighbour, and what it shall be told."""


class Relations(Protocol):
    """What is known of pairs of queries, by their numbers."""

    def covers(self, wide: int, narrow: int) -> bool: ...

    def meets(self, one: int, other: int) -> bool: ...

    def excludes(self, one: int, other: int) -> bool: ...


class Way:
    """What is asked for in one direction: all that is needed there, and which of it was forwarded."""

    def __init__(self, relations: Relations) -> None:
        self.needed: Poset[int] = Poset(relations.covers, relations.excludes)
        self.forwarded: set[int] = set()


class Routing:
    """The tables of one broker. Every method says what has to be told to which neighbour, in that order."""

    def __init__(self, relations: Relations, neighbours: tuple[str, ...]) -> None:
        self._relations = relations
        self.neighbours = neighbours
        self.advertised: dict[str, tuple[str, int]] = {}
        self.wanted: dict[str, Counter[int]] = {hop: Counter() for hop in (LOCAL, *neighbours)}
        self.masks: dict[str, int] = dict.fromkeys((LOCAL, *neighbours), 0)
        self.version = 0
        """Grows whenever a mask changes."""
        self._ways = {neighbour: Way(relations) for neighbour in neighbours}
        self._towards: dict[str, set[int]] = {neighbour: set() for neighbour in neighbours}
        """What is advertised in each direction."""

    def advertise(self, message: Advertise, hop: str) -> list[Forward]:
        """Flood a new advertisement, and send what meets it back along its path."""
        if message.name in self.advertised:
            return []
        self.advertised[message.name] = hop, message.query
        self._note_advertised(hop)
        flooded: list[Forward] = [(other, message) for other in self.neighbours if other != hop]
        return flooded + (self._add_all(hop) if hop != LOCAL else [])

    def unadvertise(self, message: Unadvertise, hop: str) -> list[Forward]:
        if self.advertised.get(message.name, (None,))[0] != hop:
            return []
        del self.advertised[message.name]
        self._note_advertised(hop)
        flooded: list[Forward] = [(other, message) for other in self.neighbours if other != hop]
        return flooded + (self._drop_all(hop) if hop != LOCAL else [])

    def want(self, query: int, hop: str) -> list[Forward]:
        """A hop asks for a query; the same query may be asked for several times by clients."""
        self.wanted[hop][query] += 1
        if self.wanted[hop][query] > 1:
            return []
        self.masks[hop] |= 1 << query
        self.version += 1
        return [
            forward
            for other in self.neighbours
            if other != hop and self._is_needed(query, other)
            for forward in self._add(query, other)
        ]

    def unwant(self, query: int, hop: str) -> list[Forward]:
        """A hop takes one of its requests back."""
        if not self.wanted[hop][query]:
            return []
        self.wanted[hop][query] -= 1
        if self.wanted[hop][query]:
            return []
        del self.wanted[hop][query]
        self.masks[hop] &= ~(1 << query)
        self.version += 1
        return [
            forward
            for other in self.neighbours
            if other != hop and not self._is_asked_for(query, other)
            for forward in self._drop(query, other)
        ]

    def forget(self, neighbour: str) -> list[Forward]:
        """The connection to a neighbour broke: nothing that it said or was told counts any more."""
        self._ways[neighbour] = Way(self._relations)
        forwards: list[Forward] = []
        for query in list(self.wanted[neighbour]):
            self.wanted[neighbour][query] = 1
            forwards += self.unwant(query, neighbour)
        for name in [name for name, (hop, _) in self.advertised.items() if hop == neighbour]:
            forwards += self.unadvertise(Unadvertise(name), neighbour)
        return [(to, message) for to, message in forwards if to != neighbour]

    def greet(self, neighbour: str) -> list[Forward]:
        """What a neighbour has to hear that knows nothing: subscriptions follow when its own advertisements come."""
        return [
            (neighbour, Advertise(name, query)) for name, (hop, query) in self.advertised.items() if hop != neighbour
        ]

    def _is_needed(self, query: int, neighbour: str) -> bool:
        """Whether something is advertised in this direction that the query meets."""
        meets = self._relations.meets
        for advertised in self._towards[neighbour]:  # noqa: SIM110  # a generator takes twice as long
            if meets(query, advertised):
                return True
        return False

    def _note_advertised(self, hop: str) -> None:
        if hop != LOCAL:
            self._towards[hop] = {query for each, query in self.advertised.values() if each == hop}

    def _is_asked_for(self, query: int, besides: str) -> bool:
        """Whether any other hop still asks for a query."""
        return any(self.wanted[hop][query] for hop in self.wanted if hop != besides)

    def _add(self, query: int, neighbour: str) -> list[Forward]:
        way = self._ways[neighbour]
        if query in way.needed:
            return []
        way.needed.add(query)
        if not way.needed.is_top(query):
            return []
        way.forwarded.add(query)
        return [(neighbour, Want(query))]

    def _drop(self, query: int, neighbour: str) -> list[Forward]:
        way = self._ways[neighbour]
        if query not in way.needed:
            return []
        risen = way.needed.remove(query) - way.forwarded
        way.forwarded |= risen
        forwards: list[Forward] = [(neighbour, Want(each)) for each in sorted(risen)]
        if query in way.forwarded:
            way.forwarded.discard(query)
            forwards.append((neighbour, Unwant(query)))
        return forwards

    def _add_all(self, neighbour: str) -> list[Forward]:
        asked = {query for hop, queries in self.wanted.items() if hop != neighbour for query in queries}
        return [
            forward
            for query in sorted(asked)
            if self._is_needed(query, neighbour)
            for forward in self._add(query, neighbour)
        ]

    def _drop_all(self, neighbour: str) -> list[Forward]:
        gone = [query for query in self._ways[neighbour].needed if not self._is_needed(query, neighbour)]
        return [forward for query in sorted(gone) for forward in self._drop(query, neighbour)]
