"""Which conditions does no single term decide? Ranges, regions and sequences of words, each stored once.

A *box* is one or two ranges of keys that must hold together: a range of numbers, or of longitude and latitude.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from tidings.arrays.distinct import distinct_lists
from tidings.arrays.growing import Growing
from tidings.arrays.runs import runs
from tidings.index.kernels import ACCEPT
from tidings.index.predicate_kernels import BOX, CIRCLE, FORMULA, POLYGON, SEQUENCE
from tidings.language import Sequence
from tidings.language.covering import closed
from tidings.model.query import Range, Within
from tidings.model.region import EARTH_RADIUS_M, Circle, Polygon, Rectangle, hull
from tidings.tables.columns import LAT, LON, Slot, instant_key, number_key, number_keys
from tidings.terms.dictionary import Dictionary

PredicateArrays = tuple[npt.NDArray[Any], ...]

_HAIR = 1e-13
_SAVED = 4

FIELDS = ("kinds", "slots", "keys", "shapes", "sequence_words", "sequence_offsets")


@dataclass(slots=True)
class Predicates:
    """Numbered conditions in arrays that grow.

    ``kinds`` int8, ``slots`` int32[2], ``keys`` int64[4] by predicate. A box compares the numbers of two slots with the
    keys low, high, low, high; a plain range says the same twice. A circle is ``shapes[slots[0]]``, float64[8]: its
    lon, lat and radius, the unit vector of its centre, and the squares of two straight lines from there: what is no
    farther than the first is inside, what is farther than the second is outside (:func:`with_vectors`). A polygon has
    the edges ``shapes[slots[0] : slots[1]]``, of each the lon and lat of both ends. A sequence
    has the words ``sequence_words[slots[0] : slots[1]]`` at ``sequence_offsets``, and its slop in ``keys[0]``. A
    formula has its steps in the same two arrays: what each asks, coded as in a stream, and in one number the steps
    that follow. Its codes name terms and other predicates.
    """

    kinds: Growing
    slots: Growing
    keys: Growing
    shapes: Growing
    sequence_words: Growing
    sequence_offsets: Growing
    has_sequences: bool
    _known: dict[object, int]
    _arrays: PredicateArrays | None

    def __init__(self) -> None:
        self.kinds, self.slots, self.keys = Growing(np.int8), Growing(np.int32, 2), Growing(np.int64, 4)
        self.shapes = Growing(np.float64, 8)
        self.sequence_words, self.sequence_offsets = Growing(np.int32), Growing(np.int32)
        self.has_sequences = False
        self._known = {}
        self._arrays: PredicateArrays | None = None

    def __len__(self) -> int:
        return len(self.kinds)

    def number(self, atom: Sequence | Range | Within, terms: Dictionary) -> int:
        """The number of the predicate that an atom asks; equal ones are one."""
        if (known := self._known.get(atom)) is not None:
            return known
        if isinstance(atom, Range):
            slot, low, high = range_keys(atom)
            column = terms.slot(slot)
            added = self._add(BOX, (column, column), (low, high, low, high))
        elif isinstance(atom, Sequence):
            first = len(self.sequence_words)
            self.sequence_words.extend([terms.word(word) for word in atom.words])
            self.sequence_offsets.extend(atom.offsets)
            added = self._add(SEQUENCE, (first, len(self.sequence_words)), (atom.slop, 0, 0, 0))
        elif isinstance(box := atom.region, Rectangle):
            keys = number_keys(np.array([box.west, box.east, box.south, box.north], dtype=np.float64))
            added = self._add(BOX, (LON, LAT), tuple(keys.tolist()))
        else:
            first = len(self.shapes)
            self.shapes.extend(_shape(box))
            kind = CIRCLE if isinstance(box, Circle) else POLYGON
            added = self._add(kind, (first, len(self.shapes)), (0, 0, 0, 0))
        return self._known.setdefault(atom, added)

    def hull(self, atom: Range | Within, terms: Dictionary) -> int:
        """The number of a box that holds all that an area does: itself, or the box around it."""
        if isinstance(atom, Within) and not isinstance(atom.region, Rectangle):
            atom = Within(hull(atom.region))
        return self.number(atom, terms)

    def formula(self, steps: tuple[tuple[int, int, int], ...]) -> int:
        """The number of the formula of some steps; equal ones are one."""
        if (known := self._known.get(steps)) is None:
            first = len(self.sequence_words)
            self.sequence_words.extend([code for code, _, _ in steps])
            ways = np.array([(yes & ACCEPT) << 16 | no & ACCEPT for _, yes, no in steps], dtype=np.uint32)
            self.sequence_offsets.extend(ways.view(np.int32))
            known = self._known[steps] = self._add(FORMULA, (first, len(self.sequence_words)), (0, 0, 0, 0))
        return known

    def is_formula(self, code: int) -> bool:
        """Whether a code of a stream asks for a formula."""
        return code < 0 and (-code - 1) & 1 == 1 and self.kinds.array[(-code - 1) >> 2] == FORMULA

    def boxes(self, slots: npt.NDArray[np.int32], keys: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        """The numbers of many new boxes, ``slots`` int32[n, 2] and ``keys`` int64[n, 4]; equal ones are one."""
        values = np.column_stack([slots, keys]).astype(np.int64)
        firsts, number = distinct_lists(values.ravel(), np.full(len(values), values.shape[1]))
        begin = len(self)
        self._arrays = None
        self.slots.extend(slots[firsts])
        self.keys.extend(keys[firsts])
        self.kinds.extend(np.full(len(firsts), BOX, dtype=np.int8))
        return (number + begin).astype(np.int32)

    def arrays(self) -> PredicateArrays:
        """As the kernels take them, in the order of FIELDS; longer than what is there."""
        if self._arrays is None:
            self._arrays = tuple(getattr(self, name).view for name in FIELDS)
        return self._arrays

    def filled(self) -> dict[str, npt.NDArray[Any]]:
        """What is there, as it is saved: shapes without what is computed from them."""
        return {name: getattr(self, name).filled for name in FIELDS} | {"shapes": self.shapes.filled[:, :_SAVED]}

    def extend(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Append what :meth:`filled` gave elsewhere, over the same terms and slots."""
        self._arrays = None
        slots = arrays["slots"].copy()
        shapes = np.zeros((len(arrays["shapes"]), 8))
        shapes[:, :_SAVED] = arrays["shapes"]
        circles = slots[arrays["kinds"] == CIRCLE, 0]
        shapes[circles] = with_vectors(shapes[circles, :3])
        slots[_has_shapes(arrays["kinds"])] += len(self.shapes)
        slots[_has_words(arrays["kinds"])] += len(self.sequence_words)
        self.has_sequences |= bool((arrays["kinds"] == SEQUENCE).any())
        for name, array in (arrays | {"slots": slots, "shapes": shapes}).items():
            getattr(self, name).extend(array)

    def part(self, numbers: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[Any]]:
        """Some predicates, by rising number, as :meth:`filled` would give them had only they been added."""
        kinds, slots = self.kinds.filled[numbers], self.slots.filled[numbers].copy()
        shapes, words = _packed(slots, _has_shapes(kinds)), _packed(slots, _has_words(kinds))
        return {
            "kinds": kinds,
            "slots": slots,
            "keys": self.keys.filled[numbers],
            "shapes": self.shapes.filled[shapes, :_SAVED],
            "sequence_words": self.sequence_words.filled[words],
            "sequence_offsets": self.sequence_offsets.filled[words],
        }

    def _add(self, kind: int, slots: tuple[int, ...], keys: tuple[int, ...]) -> int:
        self._arrays = None
        self.has_sequences |= kind == SEQUENCE
        self.slots.append(slots)
        self.keys.append(keys)
        return self.kinds.append(kind)


def _has_words(kinds: npt.NDArray[np.int8]) -> npt.NDArray[np.bool_]:
    """Which predicates have a part of the arrays of words: sequences and formulas."""
    found: npt.NDArray[np.bool_] = (kinds == SEQUENCE) | (kinds == FORMULA)
    return found


def _has_shapes(kinds: npt.NDArray[np.int8]) -> npt.NDArray[np.bool_]:
    """Which predicates have a part of the array of shapes."""
    found: npt.NDArray[np.bool_] = (kinds == CIRCLE) | (kinds == POLYGON)
    return found


def _packed(slots: npt.NDArray[np.int32], chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Which rows of an array the chosen slots name, from the first to before the last; then they name these alone."""
    begins, ends = slots[chosen].T.astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(ends - begins)])
    slots[chosen] = np.column_stack([offsets[:-1], offsets[1:]])
    return runs(begins, ends - begins)


def _shape(region: Circle | Polygon) -> npt.NDArray[np.float64]:
    """A circle or polygon as the kernels take it."""
    if isinstance(region, Circle):
        return with_vectors(np.array([(region.lon, region.lat, region.radius_m)]))
    return np.pad(np.array([*region.edges()]), ((0, 0), (0, 4)))


def range_keys(asked: Range) -> tuple[Slot, int, int]:
    """The column of numbers that a range is about, and its bounds, both included."""
    low, high = closed(asked)
    if isinstance(low, datetime) and isinstance(high, datetime):
        return (asked.name, True), instant_key(low), instant_key(high)
    return (asked.name, False), number_key(float(low)), number_key(float(high))  # type: ignore[arg-type]


def with_vectors(circles: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Circles by lon, lat and radius, float64[n, 3], as the kernels take them.

    A straight line between unit vectors, and :func:`tidings.model.region.distance_m` seen as one, are both off by less
    than 1e-14: within _HAIR, the latter decides.
    """
    turn, up = np.radians(circles[:, 0]), np.radians(circles[:, 1])
    most = 2 * np.sin(circles[:, 2] / EARTH_RADIUS_M / 2)
    surely_inside = np.where(most > _HAIR, (most - _HAIR) ** 2, -1)
    vectors = np.cos(up) * np.cos(turn), np.cos(up) * np.sin(turn), np.sin(up)
    return np.column_stack([circles, *vectors, surely_inside, (most + _HAIR) ** 2])
