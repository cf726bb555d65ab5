"""Which conditions does a shape have, and which atom does each become with its values?

A condition on text is asked of the parser, once for each distinct value: what stands around the value in the shape is
put around it again. Numbers are not: their conditions are columns.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidings.analysis import Analyser
from tidings.arrays import IntArray
from tidings.language.atoms import Sequence, SimpleAtom, resolve
from tidings.language.formulas import Formula
from tidings.language.plain import PlainWords
from tidings.language.reader import QueryReader
from tidings.language.shapes.kernels import NUMBER, QUOTED, VALUE, WORD
from tidings.model.errors import QueryError
from tidings.model.query import And, Atom, Not, Or, Range, Within
from tidings.model.region import Rectangle

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

NOT_CARRIED, NOTHING = -1, -2
"""In place of the number of an atom: this value is left to the parser; it is a stop word and asks for nothing."""

AREA = -1
"""In place of the number of its terms: an atom that no term decides, a range of instants or a circle."""

MAX_CONDITIONS = 32

MAX_KNOWN = 1 << 16
"""So many texts are remembered from one column to the next, with what they ask: a word takes 40 µs to read."""

_LARGEST = math.nextafter(math.inf, 0)
_NUMBER, _TEXT = chr(NUMBER), f"[{chr(WORD)}{chr(QUOTED)}{chr(VALUE)}]"
_ITEM = f'{chr(WORD)}|"{chr(QUOTED)}"'
_NAME = r"[^\s()\[\]\":\-\x01-\x04][^\s()\[\]\":\x01-\x04]{0,63}"
_CONDITION = re.compile(
    rf"""
    bounding_box:\[\ ?(?P<box>{_NUMBER}(?:(?:\ |\ ?,\ ?){_NUMBER}){{3}})\ ?\]
  | (?P<compared>{_NAME}):(?P<sign>[<>]=?){_NUMBER}
  | (?P<between>{_NAME}):(?P<open>[\[{{])(?P<low>[*{_NUMBER}])\ TO\ (?P<high>[*{_NUMBER}])(?P<close>[\]}}])
  | (?P<listed>{_NAME}:)\((?P<items>(?:{_ITEM})(?:\ OR\ (?:{_ITEM}))*)\)
  | (?P<before>(?:{_NAME}:)?[<>=]*["*\[{{]?){_TEXT}(?P<after>["*\]}}]?(?:~[0-9]+)?)
    """,
    re.VERBOSE,
)
_JOINED = re.compile(r"(?:[ ()\-]|AND(?![^ ()])|OR(?![^ ()])|NOT(?![^ ()]))*")


@dataclass(frozen=True, slots=True)
class TextCondition:
    """A text that is cut out between two others: an atom for each text."""

    before: str
    after: str


_WORD = TextCondition("", "")


@dataclass(frozen=True, slots=True)
class RangeCondition:
    """A number between bounds; the bounds that there are come from the numbers of a text, in this order."""

    name: str
    has_low: bool
    has_high: bool
    low_included: bool = True
    high_included: bool = True


@dataclass(frozen=True, slots=True)
class BoxCondition:
    """A place in a rectangle: four numbers."""


Condition = TextCondition | RangeCondition | BoxCondition


def conditions_of(shape: str) -> tuple[Condition, ...] | None:
    """The conditions of a shape in the order of its marks; None for a shape that has others.

    >>> conditions_of("class:\\x03 high:>\\x04")
    (TextCondition(before='class:', after=''), RangeCondition(name='high', has_low=True, has_high=False, \
low_included=False, high_included=True))
    """
    found = tuple(condition for part in _CONDITION.finditer(shape) for condition in _conditions(part))
    if not found or len(found) > MAX_CONDITIONS or not _JOINED.fullmatch(_CONDITION.sub(" ", shape)):
        return None
    is_open = (isinstance(each, RangeCondition) and not (each.has_low or each.has_high) for each in found)
    return None if any(is_open) else found


def _conditions(found: re.Match[str]) -> list[Condition]:
    """One condition, or one for each item of a list."""
    if found["box"]:
        return [BoxCondition()]
    if found["compared"]:
        included = found["sign"].endswith("=")
        is_low = found["sign"].startswith(">")
        return [RangeCondition(found["compared"], is_low, not is_low, included or not is_low, included or is_low)]
    if found["between"]:
        has_low, has_high = found["low"] != "*", found["high"] != "*"
        sides = not has_low or found["open"] == "[", not has_high or found["close"] == "]"
        return [RangeCondition(found["between"], has_low, has_high, *sides)]
    if found["listed"]:
        quotes = ['"' if item.startswith('"') else "" for item in found["items"].split(" OR ")]
        return [TextCondition(found["listed"] + quote, quote) for quote in quotes]
    return [TextCondition(found["before"], found["after"])]


class Atoms:
    """The atoms of texts, each once, and the number of each."""

    def __init__(self, texts: pa.LargeStringArray, analyser: Analyser) -> None:
        self.atoms: list[SimpleAtom] = []
        self._texts = texts
        self._analyser = analyser
        self._known: dict[SimpleAtom, int] = {}
        self._numbers: dict[TextCondition, IntArray] = {}

    def numbers(self, condition: TextCondition, texts: IntArray) -> IntArray:
        """The numbers of the atoms that a condition becomes with these texts; NOT_CARRIED or NOTHING for some."""
        unread = NOT_CARRIED - 2
        known = self._numbers.setdefault(condition, np.full(len(self._texts), unread, dtype=np.int64))
        asked = np.zeros(len(known), dtype=np.bool_)
        asked[texts] = True
        new = np.flatnonzero(asked & (known == unread))
        known[new] = [self._number(condition, text) for text in self._texts.take(pa.array(new)).to_pylist()]
        return known[texts]

    def _number(self, condition: TextCondition, text: str) -> int:
        atom = _atom_of(condition.before, text, condition.after, self._analyser)
        return atom if isinstance(atom, int) else self._known_number(atom)

    def _known_number(self, atom: SimpleAtom) -> int:
        number = self._known.setdefault(atom, len(self.atoms))
        if number == len(self.atoms):
            self.atoms.append(atom)
        return number

    def sizes(self) -> IntArray:
        """How many terms fulfil each atom: a sequence has its words, an area AREA, any other atom 1."""
        return np.array([_size(atom) for atom in self.atoms], dtype=np.int64)


@lru_cache(MAX_KNOWN)
def _atom_of(before: str, text: str, after: str, analyser: Analyser) -> SimpleAtom | int:
    """The atom of a text between two others; NOT_CARRIED or NOTHING where it has none."""
    if not before and not after and (words := PlainWords(analyser).read(text)):
        return Sequence(tuple(words))
    try:
        atom = QueryReader(before + text + after).read()
        if isinstance(atom, And | Or | Not) or _is_column(atom):
            return NOT_CARRIED
        resolved = resolve(atom, analyser)
    except QueryError:
        return NOT_CARRIED
    if isinstance(resolved, Formula):
        return NOT_CARRIED
    return NOTHING if resolved is None else resolved


def _size(atom: SimpleAtom) -> int:
    if isinstance(atom, Sequence):
        return len(atom.words)
    return AREA if isinstance(atom, Range | Within) else 1


def _is_column(atom: Atom) -> bool:
    """Whether an atom may be equal to one of a column of numbers, which has no number here."""
    if isinstance(atom, Range):
        return not isinstance(atom.high if atom.low is None else atom.low, datetime)
    return isinstance(atom, Within) and isinstance(atom.region, Rectangle)


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """A column of conditions on text: the numbers of their atoms."""

    atoms: IntArray

    def taken(self, rows: IntArray) -> Texts:
        return Texts(self.atoms[rows])

    def values(self) -> Iterator[IntArray]:
        """Columns of int64 that are equal where the conditions are."""
        yield self.atoms


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """A column of ranges of one attribute, ``condition`` says which bounds they have; ``low`` and ``high`` float64."""

    condition: RangeCondition
    low: FloatArray
    high: FloatArray

    def taken(self, rows: IntArray) -> Ranges:
        return Ranges(self.condition, self.low[rows], self.high[rows])

    def values(self) -> Iterator[IntArray]:
        yield from (bounds.view(np.int64) for bounds in (self.low, self.high))

    @property
    def are_carried(self) -> BoolArray:
        """Those that hold several numbers: of the others one is an equality, and none is refused or filed nowhere."""
        low, high = self.closed()
        carried: BoolArray = low < high
        return carried

    def closed(self) -> tuple[FloatArray, FloatArray]:
        """The bounds as :func:`tidings.language.covering.closed` gives them."""
        low = self.low if self.condition.low_included else np.nextafter(self.low, math.inf)
        return low, self.high if self.condition.high_included else np.nextafter(self.high, -math.inf)

    def atom(self, row: int) -> Range:
        condition = self.condition
        low = float(self.low[row]) if condition.has_low else None
        high = float(self.high[row]) if condition.has_high else None
        return Range(condition.name, low, high, condition.low_included, condition.high_included)


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """A column of rectangles: ``sides`` float64[rows, 4], west, south, east and north in degrees."""

    sides: FloatArray

    def taken(self, rows: IntArray) -> Boxes:
        return Boxes(self.sides[rows])

    def values(self) -> Iterator[IntArray]:
        yield from self.sides.T.copy().view(np.int64)

    @property
    def are_carried(self) -> BoolArray:
        west, south, east, north = self.sides.T
        carried: BoolArray = (west <= east) & (south <= north)
        carried &= (west >= -180) & (east <= 180) & (south >= -90) & (north <= 90)
        return carried

    def atom(self, row: int) -> Within:
        return Within(Rectangle(*self.sides[row].tolist()))


Column = Texts | Ranges | Boxes


def number_column(condition: RangeCondition | BoxCondition, numbers: Iterable[FloatArray]) -> Ranges | Boxes:
    """The column of a condition with its numbers: a column for each mark."""
    columns = [*numbers]
    if isinstance(condition, BoxCondition):
        return Boxes(np.column_stack(columns))
    low = columns[0] if condition.has_low else np.full(len(columns[0]), -_LARGEST)
    return Ranges(condition, low, columns[-1] if condition.has_high else np.full(len(low), _LARGEST))


def number_count(condition: Condition) -> int:
    """How many numbers a condition takes."""
    if isinstance(condition, RangeCondition):
        return condition.has_low + condition.has_high
    return 4 if isinstance(condition, BoxCondition) else 0
