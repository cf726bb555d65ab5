"""Which queries does a broker know? Each has a number while somebody wants it; the index says what a post answers."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from tidings.analysis import ENGLISH
from tidings.index import GuardIndex
from tidings.language import covers, normal_form, parse, to_text
from tidings.model import Publication, Query, Subscription
from tidings.simulate.universe import facts_of

ANYTHING = "*"
"""What a publisher advertises that may publish anything. Nobody can subscribe to it."""
_SLACK = 1000
_MOST_COMPARED = 1 << 18
"""Of so many pairs it is remembered whether one covers the other."""


@dataclass(frozen=True, slots=True)
class _Known:
    text: str
    query: Query | None
    facts: dict[str, str]
    """Attributes that have to have one certain text."""


class Queries:
    """Numbers queries and matches by our index. Texts that say the same share a number.

    Numbers that nobody uses are given again, so that a broker does not grow with the queries it has ever seen.

    >>> queries = Queries()
    >>> yhoo, large = queries.number("symbol:YHOO"), queries.number("[symbol,=,'YHOO'],[volume,>,5]")
    >>> queries.covers(yhoo, large), queries.covers(large, yhoo), queries.text(large)
    (True, False, 'symbol:YHOO volume:>5')
    >>> queries.answers(Publication("p1", attributes={"symbol": "YHOO", "volume": 3})) == {yhoo}
    True
    """

    def __init__(self) -> None:
        self._index = GuardIndex()
        self._numbers: dict[str, int] = {}
        self._known: dict[int, _Known] = {}
        self._free: list[int] = []
        self._sweep_at = _SLACK
        self._covers: dict[tuple[int, int], bool] = {}

    def __len__(self) -> int:
        return len(self._known)

    def number(self, text: str) -> int:
        """The number of a query, in tidings' language or as PADRES triples; refuses with QueryError."""
        if text != ANYTHING and text in self._numbers:
            return self._numbers[text]
        query = parse(text, syntax="padres" if text.startswith("[") else "tidings")
        form = normal_form(query, ENGLISH)  # refuses what cannot be answered or indexed
        known = _Known(to_text(query), query, facts_of(form))
        return self._numbers[known.text] if known.text in self._numbers else self._add(known)

    def advertised(self, text: str) -> int:
        """The number of what is advertised: a query, or anything."""
        if text != ANYTHING:
            return self.number(text)
        return self._numbers[text] if text in self._numbers else self._add(_Known(ANYTHING, None, {}))

    def text(self, number: int) -> str:
        return self._known[number].text

    def answers(self, publication: Publication) -> Set[int]:
        """The numbers of the queries that a publication answers."""
        return {int(match.subscription_id) for match in self._index.snapshot.match_one(publication)}

    def covers(self, wide: int, narrow: int) -> bool:
        """Whether all that answers ``narrow`` answers ``wide``."""
        if wide == narrow:
            return True
        found = self._covers.get((wide, narrow))
        if found is None:
            if len(self._covers) >= _MOST_COMPARED:
                self._covers.clear()
            found = self._covers[wide, narrow] = self._compare(self._known[wide], self._known[narrow])
        return found

    def meets(self, one: int, other: int) -> bool:
        """Whether a publication may answer both: no, if one attribute would have to have two texts."""
        theirs = self._known[other].facts
        return all(theirs.get(name, value) == value for name, value in self._known[one].facts.items())

    def excludes(self, one: int, other: int) -> bool:
        """Whether no publication can answer both."""
        return not self.meets(one, other)

    @property
    def is_sweep_due(self) -> bool:
        """Whether it has many more than when it was last swept."""
        return len(self._known) >= self._sweep_at

    def sweep(self, used: Set[int]) -> None:
        """Forget all queries but these."""
        gone = self._known.keys() - used
        self._index.remove(str(number) for number in gone)
        self._index.compact()
        for number in gone:
            del self._numbers[self._known.pop(number).text]
        self._free += sorted(gone)
        self._covers.clear()
        self._sweep_at = 2 * len(self._known) + _SLACK

    def _add(self, known: _Known) -> int:
        number = self._free.pop() if self._free else len(self._known)
        if known.query is not None:
            self._index.add([Subscription(str(number), known.query)])
        self._known[number] = known
        self._numbers[known.text] = number
        return number

    @staticmethod
    def _compare(wide: _Known, narrow: _Known) -> bool:
        if wide.query is None or narrow.query is None:
            return False
        may = all(narrow.facts.get(name) == value for name, value in wide.facts.items())
        return may and covers(wide.query, narrow.query)
