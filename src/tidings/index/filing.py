"""Where is a conjunction filed, and what is left to verify? Its guard, and a stream of everything else."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from tidings.index import kernels
from tidings.index.dictionary import Dictionary
from tidings.index.sample import Sample
from tidings.language import Conjunction, ResolvedAtom, Sequence
from tidings.language.covering import closed
from tidings.model.query import Range, Within
from tidings.model.region import Rectangle
from tidings.tables.columns import Slot, instant_key, number_key
from tidings.terms import cells, intervals

MAX_COVER = 8


@dataclass(frozen=True, slots=True)
class Filing:
    """A conjunction is an entry under each of its guards (several only for the cover of a region or a range)."""

    guards: tuple[int, ...]
    first: int
    stream: tuple[int, ...]


@dataclass(slots=True)
class Predicates:
    """Conditions that no single term decides, each stored once: ranges, regions, sequences of words."""

    kinds: list[int] = field(default_factory=list)
    arguments: list[tuple[int, int, int]] = field(default_factory=list)
    keys: list[tuple[int, int]] = field(default_factory=list)
    areas: list[tuple[float, float, float, float]] = field(default_factory=list)
    sequence_words: list[int] = field(default_factory=list)
    sequence_offsets: list[int] = field(default_factory=list)
    _known: dict[object, int] = field(default_factory=dict)

    def number(self, atom: Sequence | Range | Within, terms: Dictionary) -> int:
        """The number of the predicate that an atom asks; equal ones are one."""
        if (known := self._known.get(atom)) is not None:
            return known
        if isinstance(atom, Range):
            slot, low, high = range_keys(atom)
            row = kernels.RANGE, (terms.slot(slot), 0, 0), (low, high), (0.0, 0.0, 0.0, 0.0)
        elif isinstance(atom, Sequence):
            first = len(self.sequence_words)
            self.sequence_words.extend(terms.word(word) for word in atom.words)
            self.sequence_offsets.extend(atom.offsets)
            row = kernels.SEQUENCE, (first, len(self.sequence_words), atom.slop), (0, 0), (0.0, 0.0, 0.0, 0.0)
        elif isinstance(atom.region, Rectangle):
            box = atom.region
            row = kernels.RECTANGLE, (0, 0, 0), (0, 0), (box.west, box.south, box.east, box.north)
        else:
            row = kernels.CIRCLE, (0, 0, 0), (0, 0), (atom.region.lon, atom.region.lat, atom.region.radius_m, 0.0)
        for column, value in zip((self.kinds, self.arguments, self.keys, self.areas), row, strict=True):
            column.append(value)  # type: ignore[attr-defined]
        return self._known.setdefault(atom, len(self.kinds) - 1)

    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """As the kernels take them: kinds, arguments, keys, areas, words and offsets of sequences."""
        return (
            np.array(self.kinds, dtype=np.int8),
            np.array(self.arguments, dtype=np.int32).reshape(-1, 3),
            np.array(self.keys, dtype=np.int64).reshape(-1, 2),
            np.array(self.areas, dtype=np.float64).reshape(-1, 4),
            np.array(self.sequence_words, dtype=np.int32),
            np.array(self.sequence_offsets, dtype=np.int32),
        )


def range_keys(asked: Range) -> tuple[Slot, int, int]:
    """The column of numbers that a range is about, and its bounds, both included."""
    low, high = closed(asked)
    if isinstance(low, datetime) and isinstance(high, datetime):
        return (asked.name, True), instant_key(low), instant_key(high)
    return (asked.name, False), number_key(float(low)), number_key(float(high))  # type: ignore[arg-type]


class Filer:
    """Files conjunctions: the cheapest admissible guard by the sample, the rest rarest first."""

    def __init__(self, terms: Dictionary, predicates: Predicates, sample: Sample) -> None:
        self._terms = terms
        self._predicates = predicates
        self._sample = sample

    def file(self, conjunction: Conjunction) -> Filing:
        costs: dict[int, float] = {}
        areas: list[tuple[float, Range | Within]] = []
        others: list[int] = []
        for atom in conjunction.required:
            self._require(atom, costs, areas, others)
        for atom in conjunction.forbidden:
            others.append(self._forbidden(atom))
        rarest_first = sorted(costs, key=lambda term: costs[term])
        cheapest_area = min(areas, key=lambda area: area[0], default=None)
        if cheapest_area and (not rarest_first or cheapest_area[0] < costs[rarest_first[0]]):
            return _filing(self._cover(cheapest_area[1]), rarest_first, others)
        return _filing(tuple(rarest_first[:1]), rarest_first[1:], others)

    def _require(
        self, atom: ResolvedAtom, costs: dict[int, float], areas: list[tuple[float, Range | Within]], others: list[int]
    ) -> None:
        """Add what a required atom asks: terms with their cost, areas that can be covered, predicates."""
        if isinstance(atom, Sequence):
            costs.update((self._terms.word(word), self._sample.word(word)) for word in atom.words)
            if len(atom.words) > 1:
                others.append(self._predicate(atom, negated=False))
        elif isinstance(atom, Range):
            areas.append((self._sample.number_range(*range_keys(atom)), atom))
            others.append(self._predicate(atom, negated=False))
        elif isinstance(atom, Within):
            areas.append((self._sample.region(atom.region), atom))
            others.append(self._predicate(atom, negated=False))
        else:
            costs[self._terms.term(atom)] = self._sample.term(atom)

    def _forbidden(self, atom: ResolvedAtom) -> int:
        if isinstance(atom, Range | Within) or (isinstance(atom, Sequence) and len(atom.words) > 1):
            return self._predicate(atom, negated=True)
        term = self._terms.word(atom.words[0]) if isinstance(atom, Sequence) else self._terms.term(atom)
        return -(2 * term) - 1

    def _predicate(self, atom: Sequence | Range | Within, negated: bool) -> int:
        number = self._predicates.number(atom, self._terms)
        return -(4 * number + 2 * negated + 1) - 1

    def _cover(self, atom: Range | Within) -> tuple[int, ...]:
        if isinstance(atom, Within):
            return tuple(self._terms.cell(label) for label in cells.cover(atom.region, MAX_COVER))
        slot, low_key, high_key = range_keys(atom)
        if low_key > high_key:  # no number lies between: filed nowhere
            return ()
        low, high = (_interval_number(bound) for bound in closed(atom))
        return tuple(self._terms.interval(slot, label) for label in intervals.cover(low, high, MAX_COVER))


def _interval_number(bound: float | datetime) -> float:
    """The number whose interval stands for a bound; instants in microseconds, rounded alike for bounds and values."""
    return float(instant_key(bound)) if isinstance(bound, datetime) else bound


def _filing(guards: tuple[int, ...], terms: list[int], others: list[int]) -> Filing:
    if terms:
        return Filing(guards, terms[0], (*terms[1:], *others))
    return Filing(guards, kernels.ALWAYS, tuple(others))
