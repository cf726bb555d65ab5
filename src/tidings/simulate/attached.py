"""Who is subscribed at a broker? By name, by query, and as bits."""

from __future__ import annotations

from collections.abc import Mapping

from tidings.balancing.padres import Candidate, Key, LoadProfile, Poset
from tidings.simulate.machines import MESSAGE_BYTES
from tidings.simulate.roster import SubscriberRoster
from tidings.simulate.universe import Universe, bits


class Attached:
    """The subscribers of one broker and what they ask for."""

    def __init__(self, universe: Universe, roster: SubscriberRoster) -> None:
        self.queries: dict[str, int] = {}
        """What each of them asks for."""
        self.by_query: dict[int, dict[str, None]] = {}
        self.poset: Poset[Key] = Poset(universe.covers, universe.excludes)  # type: ignore[arg-type]  # keys are numbers here
        self.moving: set[str] = set()
        """Who was told to move and has not left yet: nobody is given away twice."""
        self._roster = roster
        self._bits: dict[int, int] = {}

    def add(self, name: str, query: int) -> bool:
        """Whether this subscriber is new here."""
        if name in self.queries:
            return False
        self.queries[name] = query
        self.by_query.setdefault(query, {})[name] = None
        self._bits[query] = self._bits.get(query, 0) | self._roster.bit(name)
        self.poset.add(query)
        return True

    def remove(self, name: str) -> int | None:
        """Take a subscriber out: its query, or None if it is not here."""
        self.moving.discard(name)
        query = self.queries.pop(name, None)
        if query is None:
            return None
        del self.by_query[query][name]
        self._bits[query] &= ~self._roster.bit(name)
        if not self.by_query[query]:
            del self.by_query[query], self._bits[query]
            self.poset.remove(query)
        return query

    def asking(self, queries: int) -> int:
        """Those who ask for any of some queries; both are bits."""
        found = 0
        for query in bits(queries):
            found |= self._bits.get(query, 0)
        return found

    def candidates(self, profile: LoadProfile, rates: Mapping[Key, float]) -> list[Candidate]:
        """All queries with those subscribers that are not moving already, and the bytes a second for each of them.

        ``rates``: publications a second that were counted. What came too late for that has its share of the sample.
        """
        found = []
        for query, names in self.by_query.items():
            staying = tuple(name for name in names if name not in self.moving)
            if staying:
                vector = profile.vectors.get(query, 0)
                rate = rates.get(query)
                bytes_s = MESSAGE_BYTES * (profile.rate_of(vector) if rate is None else rate)
                found.append(Candidate(query, staying, vector, bytes_s))
        return found

    def output_bytes_s(self, rates: Mapping[Key, float]) -> float | None:
        """What all subscribers get; None if something came too late to be counted."""
        if self.by_query.keys() - rates.keys():
            return None
        return MESSAGE_BYTES * sum(rates[query] * len(names) for query, names in self.by_query.items())
