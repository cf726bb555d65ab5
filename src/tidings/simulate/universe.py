"""Which publication answers which query? All queries of a world are numbered; an answer is a set of bits.

Brokers share these tables because they are facts about queries. What a broker knows are the numbers it was told.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from tidings.analysis import ENGLISH
from tidings.language import Conjunction, Content, ResolvedAtom, form_covers, holds, normal_form, parse
from tidings.model import Equals, Publication
from tidings.model.query import Range
from tidings.model.values import equality_texts, value_text

Fact = tuple[str, str]
"""An attribute and the text that it has to have."""


@dataclass(frozen=True, slots=True)
class _Conditions:
    """A conjunction as numbers of atoms."""

    required: tuple[int, ...]
    forbidden: tuple[int, ...]


@dataclass(slots=True)
class _Known:
    """What is known of a publication: which of the first ``queries`` queries it answers, and which atoms hold."""

    content: Content
    facts: frozenset[Fact]
    guards: tuple[Fact | None, ...]
    atoms: dict[int, bool] = field(default_factory=dict)
    queries: int = 0
    answers: int = 0


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
        self._normal: list[tuple[Conjunction, ...]] = []
        self._forms: list[tuple[_Conditions, ...]] = []
        self._facts: list[dict[str, str]] = []
        self._simple: list[dict[int, str] | None] = []
        """Of a conjunction of conditions on attributes, the atoms and their names."""
        self._atoms: dict[ResolvedAtom, int] = {}
        self._atom_list: list[tuple[ResolvedAtom, frozenset[Fact]]] = []
        self._guards: dict[Fact | None, list[int]] = {}
        self._known: dict[str, _Known] = {}
        self._covers: dict[tuple[int, int], bool] = {}

    def __len__(self) -> int:
        return len(self._normal)

    def number(self, text: str) -> int:
        """The number of a query, in tidings' language or in the paper's; equal texts have one number."""
        found = self._numbers.get(text)
        if found is not None:
            return found
        form = _form_of(text)
        number = self._numbers[text] = len(self._normal)
        self._normal.append(form)
        self._forms.append(tuple(_Conditions(self._ids(c.required), self._ids(c.forbidden)) for c in form))
        self._simple.append(self._names(form))
        facts = facts_of(form)
        self._facts.append(facts)
        guard = next(((name, facts[name]) for name in sorted(facts, reverse=True)), None)
        self._guards.setdefault(guard, []).append(number)
        return number

    def answers(self, publication: Publication) -> int:
        """The queries that a publication answers, as bits; remembered by its id."""
        known = self._known.get(publication.id)
        if known is None:
            facts = tuple(_carried(publication))
            known = _Known(Content.of(publication, ENGLISH), frozenset(facts), (None, *facts))
            self._known[publication.id] = known
        if known.queries < len(self._normal):
            first = known.queries
            for guard in known.guards:
                numbers = self._guards.get(guard)
                if numbers is not None and numbers[-1] >= first:
                    self._look_at_newer(numbers, known)
            known.queries = len(self._normal)
        return known.answers

    def covers(self, wide: int, narrow: int) -> bool:
        """Whether all that answers ``narrow`` answers ``wide``: ``tidings.covers``, with short cuts, remembered.

        Of two simple conjunctions, one whose atoms the other has covers it. One that has a condition on an attribute
        of which the other says nothing does not, nor one that asks for another text.
        """
        facts = self._facts[narrow]
        for name, value in self._facts[wide].items():
            if facts.get(name) != value:
                return False
        ours, theirs = self._simple[wide], self._simple[narrow]
        if ours is not None and theirs is not None:
            rest = ours.keys() - theirs.keys()
            if not rest:
                return True
            names = theirs.values()
            if any(ours[atom] not in names for atom in rest):
                return False
        known = self._covers.get((wide, narrow))
        if known is None:
            known = self._covers[wide, narrow] = form_covers(self._normal[wide], self._normal[narrow])
        return known

    def meets(self, one: int, other: int) -> bool:
        """Whether a publication may answer both: no, if one attribute would have to have two texts."""
        theirs = self._facts[other]
        for name, value in self._facts[one].items():  # noqa: SIM110  # a generator takes twice as long
            if theirs.get(name, value) != value:
                return False
        return True

    def excludes(self, one: int, other: int) -> bool:
        """Whether no publication can answer both."""
        return not self.meets(one, other)

    def _look_at_newer(self, numbers: list[int], known: _Known) -> None:
        """Of some queries, those that this publication has not been compared with yet."""
        for number in reversed(numbers):
            if number < known.queries:
                return
            if self._is_answer(number, known):
                known.answers |= 1 << number

    def _ids(self, atoms: tuple[ResolvedAtom, ...]) -> tuple[int, ...]:
        for atom in atoms:
            if atom not in self._atoms:
                self._atoms[atom] = len(self._atom_list)
                texts = equality_texts(atom.value) if isinstance(atom, Equals) and not atom.folded else ()
                self._atom_list.append((atom, frozenset((atom.name, text) for text in texts)))  # type: ignore[union-attr]  # texts only if it equals
        return tuple(self._atoms[atom] for atom in atoms)

    def _names(self, form: tuple[Conjunction, ...]) -> dict[int, str] | None:
        if len(form) != 1 or form[0].forbidden:
            return None
        atoms = form[0].required
        if not all(isinstance(atom, Equals | Range) for atom in atoms):
            return None
        return {self._atoms[atom]: atom.name for atom in atoms if isinstance(atom, Equals | Range)}

    def _is_answer(self, number: int, known: _Known) -> bool:
        holds = self._holds
        for form in self._forms[number]:
            for atom in form.required:
                if not holds(atom, known):
                    break
            else:
                if not any(holds(atom, known) for atom in form.forbidden):
                    return True
        return False

    def _holds(self, number: int, known: _Known) -> bool:
        """As ``tidings.language.holds``, but each atom is looked at once for a publication."""
        found = known.atoms.get(number)
        if found is None:
            atom, texts = self._atom_list[number]
            if texts and atom.name in known.content.publication.attributes:  # type: ignore[union-attr]  # it equals
                found = not texts.isdisjoint(known.facts)
            else:
                found = holds(atom, known.content)
            known.atoms[number] = found
        return found


@lru_cache(maxsize=4096)
def _form_of(text: str) -> tuple[Conjunction, ...]:
    """Small worlds ask for the same few queries again and again: each is parsed once."""
    return normal_form(parse(text, syntax="padres" if text.startswith("[") else "tidings"), ENGLISH)


def facts_of(form: tuple[Conjunction, ...]) -> dict[str, str]:
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


def bits(mask: int) -> Iterator[int]:
    """The numbers of the bits that are set.

    >>> list(bits(0b1101))
    [0, 2, 3]
    """
    text = bin(mask)[:1:-1]
    at = text.find("1")
    while at >= 0:
        yield at
        at = text.find("1", at + 1)
