"""Who is subscribed at a broker? By name, by query, and as bits."""

from __future__ import annotations

from tidings.balancing.padres import Candidate, Key, LoadProfile, Poset
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

    def candidates(self, profile: LoadProfile, output_bytes_s: float) -> list[Candidate]:
        """All queries with those subscribers that are not moving already, and their shares of the broker's output.

        Departs from [PADRES], which multiplies what was sampled by the rate while sampling (Eq. 6). A sample of 50 is
        over in 2.5 s: it tells shares well enough, but their sum was up to a quarter off what the broker sends.
        """
        found = []
        vectors = {query: profile.vectors.get(query, 0) for query in self.by_query}
        sampled = sum(vectors[query].bit_count() * len(names) for query, names in self.by_query.items())
        each_bytes_s = output_bytes_s / sampled if sampled else 0.0
        for query, names in self.by_query.items():
            staying = tuple(name for name in names if name not in self.moving)
            if staying:
                vector = vectors[query]
                found.append(Candidate(query, staying, vector, vector.bit_count() * each_bytes_s))
        return found
