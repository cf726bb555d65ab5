"""Which publication answers which query? All queries of a world are numbered; an answer is a set of bits.

Brokers share these tables because they are facts about queries. What a broker knows are the numbers it was told.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidings.analysis import ENGLISH
from tidings.language import Conjunction, Content, covers, holds, normal_form, parse
from tidings.model import Equals, Publication, Query
from tidings.model.values import equality_texts, value_text

Fact = tuple[str, str]
"""An attribute and the text that it has to have."""


class Universe:
    """Numbers queries; tells which ones a publication answers, which one covers which, which ones exclude each other.

    >>> universe = Universe()
    >>> yhoo, large = universe.number("[symbol,=,'YHOO']"), universe.number("[symbol,=,'YHOO'],[volume,>,5]")
    >>> universe.covers(yhoo, large), universe.covers(large, yhoo)
    (True, False)
    >>> bin(universe.answers(Publication("p1", attributes={"symbol": "YHOO", "volume": 3})))
    '0b1'
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._queries: list[tuple[Conjunction, ...]] = []
        self._parsed: list[Query] = []
        self._facts: list[dict[str, str]] = []
        self._guards: dict[Fact | None, list[int]] = {}
        self._answers: dict[str, tuple[int, int]] = {}
        self._covers: dict[tuple[int, int], bool] = {}

    def __len__(self) -> int:
        return len(self._queries)

    def number(self, text: str) -> int:
        """The number of a query, in tidings' language or in the paper's; equal texts have one number."""
        found = self._numbers.get(text)
        if found is not None:
            return found
        query = parse(text, syntax="padres" if text.startswith("[") else "tidings")
        form = normal_form(query, ENGLISH)
        number = self._numbers[text] = len(self._queries)
        self._queries.append(form)
        self._parsed.append(query)
        facts = _facts(form)
        self._facts.append(facts)
        guard = next(((name, facts[name]) for name in sorted(facts, reverse=True)), None)
        self._guards.setdefault(guard, []).append(number)
        return number

    def answers(self, publication: Publication) -> int:
        """The queries that a publication answers, as bits; remembered by its id."""
        known, mask = self._answers.get(publication.id, (0, 0))
        if known < len(self._queries):
            content = Content.of(publication, ENGLISH)
            for guard in (None, *_carried(publication)):
                for number in self._newer(guard, known):
                    if _answers(self._queries[number], content):
                        mask |= 1 << number
            self._answers[publication.id] = len(self._queries), mask
        return mask

    def forget(self, publication: Publication) -> None:
        """A publication that will not be seen again."""
        self._answers.pop(publication.id, None)

    def covers(self, wide: int, narrow: int) -> bool:
        """Whether all that answers ``narrow`` answers ``wide``: ``tidings.covers``, remembered."""
        if wide == narrow:
            return True
        known = self._covers.get((wide, narrow))
        if known is None:
            facts = self._facts[narrow]
            may = all(facts.get(name) == value for name, value in self._facts[wide].items())
            known = may and covers(self._parsed[wide], self._parsed[narrow])
            self._covers[wide, narrow] = known
        return known

    def meets(self, one: int, other: int) -> bool:
        """Whether a publication may answer both: no, if one attribute would have to have two texts."""
        theirs = self._facts[other]
        return all(theirs.get(name, value) == value for name, value in self._facts[one].items())

    def _newer(self, guard: Fact | None, known: int) -> Iterator[int]:
        for number in reversed(self._guards.get(guard, ())):
            if number < known:
                return
            yield number


def _facts(form: tuple[Conjunction, ...]) -> dict[str, str]:
    """The equalities of a single conjunction that leave one text."""
    if len(form) != 1:
        return {}
    exact = [atom for atom in form[0].required if isinstance(atom, Equals) and not atom.folded]
    equalities = [(atom.name, equality_texts(atom.value)) for atom in exact]
    return {name: next(iter(texts)) for name, texts in equalities if len(texts) == 1 and name != "id"}


def _carried(publication: Publication) -> Iterator[Fact]:
    for name in publication.attributes:
        for value in publication.values(name):
            yield name, value_text(value)


def _answers(form: tuple[Conjunction, ...], content: Content) -> bool:
    return any(
        all(holds(atom, content) for atom in conjunction.required)
        and not any(holds(atom, content) for atom in conjunction.forbidden)
        for conjunction in form
    )


def bits(mask: int) -> Iterator[int]:
    """The numbers of the bits that are set.

    >>> list(bits(0b1101))
    [0, 2, 3]
    """
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
