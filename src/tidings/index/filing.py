"""Where is a conjunction filed, and what is left to verify? Its guards, and under each of them everything else."""

from __future__ import annotations

from datetime import datetime
from typing import TypeGuard, TypeVar

from tidings.arrays import IntArray
from tidings.index import kernels
from tidings.index.entries import NO_TEST, Entry
from tidings.index.predicates import Predicates, range_keys
from tidings.language import Conjunction, ResolvedAtom, Sequence
from tidings.language.atoms import SimpleAtom
from tidings.language.covering import closed
from tidings.language.formulas import Formula
from tidings.model.query import Range, Within
from tidings.model.region import Rectangle
from tidings.tables.columns import instant_key, number_key
from tidings.terms import cells, intervals
from tidings.terms.dictionary import Dictionary
from tidings.terms.kinds import TermAtom
from tidings.terms.sample import Sample

MAX_COVER = 8
_REMEMBERED_ATOMS = 20_000
"""Formulas of so many atoms together are remembered: those of two queries, of the largest that there are."""

Number = TypeVar("Number", int, IntArray)


class Filer:
    """Files conjunctions: the cheapest admissible guard by the sample, the rest rarest first."""

    def __init__(self, terms: Dictionary, predicates: Predicates, sample: Sample) -> None:
        self.terms = terms
        self.predicates = predicates
        self.sample = sample
        self._known_words: dict[str, tuple[float, int]] = {}
        self._formulas: dict[Formula, int] = {}
        self._remembered = 0

    def file(self, conjunction: Conjunction, *, by_place: bool = True) -> list[Entry]:
        """The entries of a conjunction: one, or one for each part of a cover. A publication has at most one part.

        Without ``by_place`` no place is a guard. What asks for nothing but places is then filed under the term that
        every publication has.
        """
        costs: dict[int, float] = {}
        areas: list[tuple[float, Range | Within]] = []
        others: list[int] = []
        for atom in conjunction.required:
            self._require(atom, costs, areas, others)
        others += [self._forbidden(atom) for atom in conjunction.forbidden]
        rarest_first = sorted(costs, key=lambda term: costs[term])
        areas.sort(key=lambda area: area[0])
        ordered = [area for _, area in areas]
        guards = [(cost, area) for cost, area in areas if by_place or not isinstance(area, Within)]
        if guards and (not rarest_first or guards[0][0] < costs[rarest_first[0]]):
            return self._covered(guards[0][1], ordered, rarest_first, others)
        guard, *further = rarest_first or [kernels.ALWAYS]
        return [self._entry(guard, further, ordered, others)]

    def words(self, words: list[str]) -> tuple[int, ...]:
        """The terms of different words: rarest first, and among words as rare the newest."""
        known = self._known_words
        try:
            ranks = sorted([known[word] for word in words])
        except KeyError:
            new = [word for word in words if word not in known]
            known.update((word, (self.sample.word(word), -self.terms.word(word))) for word in new)
            ranks = sorted([known[word] for word in words])
        return tuple([-term for _, term in ranks])

    @staticmethod
    def entry_of(terms: tuple[int, ...]) -> Entry:
        """The entry of a conjunction of terms and nothing else, of which the first guards."""
        return Entry(terms[0], terms[1] if len(terms) > 1 else kernels.ALWAYS, NO_TEST, terms[2:])

    def _covered(
        self, area: Range | Within, areas: list[Range | Within], terms: list[int], others: list[int]
    ) -> list[Entry]:
        """Entries under the parts of the cover of one of ``areas``; inside of one it need not be verified.

        A box is asked everywhere, and that around an area: what asks for one is compared with many rows at once, which
        costs less than to have some of a query's entries elsewhere.
        """
        across = self._entry(0, terms, areas, others)
        inside = across if is_box(area) else self._entry(0, terms, areas, others, area)
        return [(inside if is_inside else across)._replace(guard=guard) for guard, is_inside in self.cover(area)]

    def _entry(
        self,
        guard: int,
        terms: list[int],
        areas: list[Range | Within],
        others: list[int],
        fulfilled: Range | Within | None = None,
    ) -> Entry:
        """What is left: further terms, then areas but for one that is ``fulfilled``.

        The test is the first box among the areas that are left; without one, the box around the first area.
        """
        left = [area for area in areas if area is not fulfilled]
        numbers = [self.predicates.number(area, self.terms) for area in left]
        boxes = [n for n, area in zip(numbers, left, strict=True) if is_box(area)]
        test = NO_TEST
        if areas and not any(self.predicates.is_formula(code) for code in others):  # asked of one row at a time
            test = boxes[0] if boxes else self.predicates.hull(areas[0], self.terms)
        first, *rest = terms or [kernels.ALWAYS]
        return Entry(guard, first, test, (*rest, *(asked(n) for n in numbers if n != test), *others))

    def _require(
        self, atom: ResolvedAtom, costs: dict[int, float], areas: list[tuple[float, Range | Within]], others: list[int]
    ) -> None:
        """Add what a required atom asks: terms with their cost, areas, other predicates."""
        if isinstance(atom, Formula):
            others.append(asked(self._formula(atom)))
        elif isinstance(atom, Range | Within):
            areas.append((self.area_cost(atom), atom))
        else:
            costs.update(self.costs_of(atom))
            if is_phrase(atom):
                others.append(asked(self.predicates.number(atom, self.terms)))

    def _formula(self, formula: Formula) -> int:
        """The number of a formula; all conjunctions of a query may have the same one, of thousands of steps."""
        if formula not in self._formulas:
            self._remembered += formula.size
            if self._remembered > _REMEMBERED_ATOMS:
                self._formulas.clear()
                self._remembered = formula.size
            self._formulas[formula] = self.predicates.formula(self._steps(formula))
        return self._formulas[formula]

    def _steps(self, formula: Formula) -> tuple[tuple[int, int, int], ...]:
        """The program of a formula over codes of a stream."""
        return tuple((self._code(atom), yes, no) for atom, yes, no in formula.program())

    def _code(self, atom: SimpleAtom) -> int:
        """How a stream asks for an atom."""
        if isinstance(atom, Range | Within) or is_phrase(atom):
            return asked(self.predicates.number(atom, self.terms))
        return self.terms.word(atom.words[0]) if isinstance(atom, Sequence) else self.terms.term(atom)

    def costs_of(self, atom: Sequence | TermAtom) -> list[tuple[int, float]]:
        """The terms that fulfil an atom of text together, with their costs; those of a phrase have also to be near."""
        if isinstance(atom, Sequence):
            return [(self.terms.word(word), self.sample.word(word)) for word in atom.words]
        return [(self.terms.term(atom), self.sample.term(atom))]

    def area_cost(self, asked: Range | Within) -> float:
        """The cost of a range or a region: of all that its cover holds, which is far wider where an end is open."""
        if isinstance(asked, Within):
            return self.sample.region(asked.region)
        slot, low, high = range_keys(asked)
        labels = _labels(asked)
        if labels:
            first, last = intervals.bounds(labels[0])[0], intervals.bounds(labels[-1])[1]
            low, high = (_instant(first), _instant(last)) if slot[1] else (number_key(first), number_key(last))
        return self.sample.number_range(slot, low, high)

    def _forbidden(self, atom: ResolvedAtom) -> int:
        if isinstance(atom, Formula):
            raise TypeError("a formula is never forbidden: its negation is required")
        if isinstance(atom, Range | Within) or is_phrase(atom):
            return asked(self.predicates.number(atom, self.terms), negated=True)
        return absent(self.terms.word(atom.words[0]) if isinstance(atom, Sequence) else self.terms.term(atom))

    def cover(self, atom: Range | Within) -> list[tuple[int, bool]]:
        """Terms of which a publication in the area has exactly one, and whether having it is being in the area."""
        if isinstance(atom, Within):
            parts = cells.cover_parts(atom.region, MAX_COVER)
            return [(self.terms.cell(label), is_inside) for label, is_inside in parts]
        slot = range_keys(atom)[0]
        low, high = (_interval_number(bound) for bound in closed(atom))
        return [(self.terms.interval(slot, label), _is_inside(label, low, high)) for label in _labels(atom)]


def _labels(asked: Range) -> list[int]:
    """The cover of a range: none where no number lies between its bounds, so that it is filed nowhere."""
    _, low_key, high_key = range_keys(asked)
    low, high = (_interval_number(bound) for bound in closed(asked))
    return intervals.cover(low, high, MAX_COVER) if low_key <= high_key else []


def asked(predicate: Number, negated: bool = False) -> Number:
    """How a stream asks for a predicate, or that it does not hold; also for an array of them."""
    return -(4 * predicate + 2 * negated + 1) - 1


def absent(term: Number) -> Number:
    """How a stream asks that a term is not there; also for an array of them."""
    return -(2 * term) - 1


def is_phrase(atom: ResolvedAtom) -> TypeGuard[Sequence]:
    """Whether an atom is a sequence of several words, which has a predicate."""
    return isinstance(atom, Sequence) and len(atom.words) > 1


def is_box(area: Range | Within) -> bool:
    """Whether an area is a range of keys or two, which a test can ask for."""
    return isinstance(area, Range) or isinstance(area.region, Rectangle)


def _interval_number(bound: float | datetime) -> float:
    """The number whose interval stands for a bound; instants in microseconds, rounded alike for bounds and values."""
    return float(instant_key(bound)) if isinstance(bound, datetime) else bound


def _instant(number: float) -> int:
    """The key of the instant that a number stands for, or the nearest there is."""
    return int(min(max(number, -(2.0**62)), 2.0**62))


def _is_inside(label: int, low: float, high: float) -> bool:
    """Whether an interval lies between the bounds, and not at them: rounded values may lie on either side."""
    first, last = intervals.bounds(label)
    return low < first and last < high


def only_words(form: tuple[Conjunction, ...]) -> list[str]:
    """The words of a query that asks for nothing else; none if it does."""
    if len(form) != 1 or form[0].forbidden:
        return []
    words = [a.words[0] for a in form[0].required if isinstance(a, Sequence) and len(a.words) == 1]
    return list(dict.fromkeys(words)) if len(words) == len(form[0].required) else []
