"""Does one query ask for everything that another asks for? Covering, as content-based routing needs it ([PADRES] 2.1).

``covers(a, b)`` is sound: it says yes only if every publication that answers b answers a. It is complete for two
conjunctions of words, equalities, ranges, rectangles and topics; beyond that it may say no where yes is true.

How: what b requires is boiled down to *facts* (the possible texts of a value, the narrowest interval of a number or an
instant, words, topics). An atom is implied if the facts leave no other way. A place is two numbers, ``lat`` and
``lon``. An attribute may have several values, and each condition on it may be fulfilled by another one: ``n:>5 n:<3``
is no contradiction, and what one condition says of its value says nothing of the others. A field (``id``, ``ts``,
``lat``, ``lon``) has one value, which fulfils all conditions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from tidings.analysis import ENGLISH, Analyser
from tidings.language.atoms import (
    EXACT_FLOAT,
    AttributeWords,
    FieldPrefix,
    FieldWords,
    FoldedTag,
    FormPrefix,
    ResolvedAtom,
    Sequence,
    asked_texts,
    has_piece,
    is_below,
    is_equal,
    is_in_network,
)
from tidings.language.evaluation import stands
from tidings.language.formulas import Formula
from tidings.language.normal import Conjunction, normal_form
from tidings.model.query import (
    Bound,
    Contains,
    EndsWith,
    Equals,
    InNetwork,
    Piece,
    Present,
    Query,
    Range,
    Regex,
    StartsWith,
    Topic,
    Wildcard,
    Within,
)
from tidings.model.region import Circle, Polygon, Rectangle, Region, distance_m
from tidings.model.values import instant_text, number_text, read_instant, read_number

_DOMAINS = {"lat": (-90.0, 90.0), "lon": (-180.0, 180.0)}
SINGLE_VALUED = frozenset({"id", "ts", *_DOMAINS})
"""Fields of which a publication has one value at most."""
_SLACK_M = 0.01
_LARGEST = math.nextafter(math.inf, 0)

Interval = tuple[Bound, Bound]
"""A closed interval of numbers or of instants; empty if the first is greater than the second."""


def covers(a: Query, b: Query, analyser: Analyser = ENGLISH) -> bool:
    """Whether every publication that answers ``b`` answers ``a``. Never yes wrongly.

    >>> from tidings.language import parse
    >>> covers(parse("symbol:YHOO volume:>1000"), parse("symbol:YHOO volume:[2000 TO 3000] price:>1"))
    True
    >>> covers(parse("fire"), parse("fire OR smoke"))
    False
    """
    return form_covers(normal_form(a, analyser), normal_form(b, analyser))


def form_covers(a: tuple[Conjunction, ...], b: tuple[Conjunction, ...]) -> bool:
    """As :func:`covers`, of two queries in normal form."""
    return all(any(_covers(ours, theirs) for ours in a) for theirs in b)


def _covers(a: Conjunction, b: Conjunction) -> bool:
    if is_impossible(b):
        return True
    facts = _Facts(b.required)
    return all(facts.imply(atom) for atom in a.required) and all(_excludes(b, atom) for atom in a.forbidden)


def is_impossible(conjunction: Conjunction) -> bool:
    """Whether surely nothing answers a conjunction."""
    facts = _Facts(conjunction.required)
    return facts.impossible or any(facts.imply(atom) for atom in conjunction.forbidden)


def _excludes(b: Conjunction, atom: ResolvedAtom) -> bool:
    """Whether nothing that answers ``b`` can fulfil ``atom``."""
    alone = _Facts((atom,))
    return any(alone.imply(forbidden) for forbidden in b.forbidden) or _Facts((*b.required, atom)).impossible


class _Facts:
    """What a set of required atoms says about any publication that fulfils them all."""

    def __init__(self, atoms: Iterable[ResolvedAtom]) -> None:
        self.atoms = tuple(atoms)
        self.fields: dict[str, _Value] = {}
        self.values: list[_Value] = []
        for atom in self.atoms:
            self._learn(atom)
        if self.fields.keys() & _DOMAINS.keys():
            for name, (low, high) in _DOMAINS.items():
                self._field(name).narrow(Range(name, low, high))
        if "ts" in self.fields:  # always an instant
            self.fields["ts"].narrow(Range("ts", low=datetime.min))

    @property
    def impossible(self) -> bool:
        """Whether no publication can fulfil the atoms."""
        return any(value.impossible for value in (*self.fields.values(), *self.values))

    def imply(self, atom: ResolvedAtom) -> bool:
        """Whether ``atom`` holds for every publication that fulfils the atoms."""
        match atom:
            case Formula(is_all, parts):
                joined = all if is_all else any
                return atom in self.atoms or joined(is_wanted and self.imply(own) for is_wanted, own in parts)
            case Sequence():
                return any(isinstance(own, Sequence) and _sequence_implies(own, atom) for own in self.atoms)
            case FormPrefix(beginning):
                return any(isinstance(own, FormPrefix) and own.beginning.startswith(beginning) for own in self.atoms)
            case FieldWords(name, sequence):
                own = [known for known in self.atoms if isinstance(known, FieldWords) and known.name == name]
                return any(_sequence_implies(known.sequence, sequence) for known in own)
            case AttributeWords(sequence):
                known = [own.sequence for own in self.atoms if isinstance(own, AttributeWords | FieldWords)]
                return any(_sequence_implies(own, sequence) for own in known)
            case FieldPrefix() | FoldedTag():
                return atom in self.atoms
            case Topic(path):
                return any(isinstance(own, Topic) and is_below(own.path, path) for own in self.atoms)
            case Within(region):
                return atom in self.atoms or self._imply_region(region)
            case _:
                return any(value.implies(atom) for value in self._values(atom.name))

    def _learn(self, atom: ResolvedAtom) -> None:
        if isinstance(atom, Within):
            boxes = atom.region.bounds()
            lat, lon = self._field("lat"), self._field("lon")
            if len(boxes) == 1:
                lat.narrow(Range("lat", boxes[0].south, boxes[0].north))
                lon.narrow(Range("lon", boxes[0].west, boxes[0].east))
        elif isinstance(atom, _ValueAtom):
            if atom.name in SINGLE_VALUED:
                self._field(atom.name).learn(atom)
            else:
                self.values.append(_Value(atom.name))
                self.values[-1].learn(atom)

    def _field(self, name: str) -> _Value:
        return self.fields.setdefault(name, _Value(name))

    def _values(self, name: str) -> list[_Value]:
        """The values that the atoms ask for under a name."""
        if name in SINGLE_VALUED:
            return [self.fields[name]] if name in self.fields else []
        return [value for value in self.values if value.name == name]

    def _imply_region(self, region: Region) -> bool:
        if isinstance(region, Polygon):
            return False
        if isinstance(region, Rectangle):
            sides = (Range("lat", region.south, region.north), Range("lon", region.west, region.east))
            return all(self.imply(side) for side in sides)
        own = [atom.region for atom in self.atoms if isinstance(atom, Within) and isinstance(atom.region, Circle)]
        return any(
            distance_m(circle.lon, circle.lat, region.lon, region.lat) + circle.radius_m + _SLACK_M <= region.radius_m
            for circle in own
        )


_ValueAtom = Equals | Range | Present | Piece | InNetwork


class _Value:
    """What some atoms say of one value that fulfils them all."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._atoms: list[_ValueAtom] = []
        self._texts: frozenset[str] | None = None
        self._numbers: Interval | None = None
        self._instants: Interval | None = None

    def learn(self, atom: _ValueAtom) -> None:
        self._atoms.append(atom)
        if isinstance(atom, Equals) and not atom.folded:
            texts = asked_texts(atom)
            self._texts = texts if self._texts is None else self._texts & texts
        elif isinstance(atom, Range):
            self.narrow(atom)

    def narrow(self, asked: Range) -> None:
        low, high = closed(asked)
        if isinstance(low, datetime):
            own_low, own_high = self._instants or (low, high)
            self._instants = max(low, own_low), min(high, own_high)
        else:
            own_low, own_high = self._numbers or (low, high)
            self._numbers = max(low, own_low), min(high, own_high)

    @property
    def impossible(self) -> bool:
        """Whether no value can fulfil the atoms."""
        intervals = [interval for interval in (self._numbers, self._instants) if interval is not None]
        return (
            any(low > high for low, high in intervals)  # type: ignore[operator]  # both of one kind
            or len(intervals) == 2
            or self._possible_texts() == frozenset()
            or (self.name == "id" and bool(intervals))  # always text
        )

    def implies(self, atom: _ValueAtom) -> bool:
        """Whether ``atom`` holds for every value that fulfils the atoms."""
        match atom:
            case Present():
                return True
            case Range():
                return self._implies_range(atom)
            case Equals():
                texts = self._possible_texts()
                return atom in self._atoms or (texts is not None and all(is_equal(atom, text) for text in texts))
            case InNetwork():
                return self._implies_network(atom)
            case _:
                return atom in self._atoms or self._implies_piece(atom)

    def _possible_texts(self) -> frozenset[str] | None:
        """The texts that the value can have, if they can be told one by one."""
        interval = self._numbers or self._instants
        if self._texts is not None:
            return self._texts if interval is None else frozenset(t for t in self._texts if _in_interval(interval, t))
        if interval is None or interval[0] != interval[1]:
            return None
        value = interval[0]
        if isinstance(value, datetime):
            return frozenset({instant_text(value)})
        # Beyond 2^53 several whole numbers are one float64.
        return frozenset({number_text(value)}) if abs(value) < EXACT_FLOAT else None

    def _implies_range(self, asked: Range) -> bool:
        low, high = closed(asked)
        known = self._instants if isinstance(low, datetime) else self._numbers
        if known is None:
            return False
        if self._texts is not None:
            return all(_in_interval((low, high), text) for text in self._possible_texts() or ())
        return low <= known[0] and known[1] <= high  # type: ignore[operator]  # all of one kind

    def _implies_network(self, asked: InNetwork) -> bool:
        if any(isinstance(own, InNetwork) and is_in_network(asked, own.network) for own in self._atoms):
            return True
        texts = self._possible_texts() if self._texts is not None else None
        return texts is not None and all(_surely_text(text) and is_in_network(asked, text) for text in texts)

    def _implies_piece(self, asked: Piece) -> bool:
        texts = self._possible_texts() if self._texts is not None else None
        if texts is not None and all(_surely_text(text) and has_piece(asked, text) for text in texts):
            return True
        if isinstance(asked, Wildcard | Regex):
            return False
        pieces = [own for own in self._atoms if isinstance(own, StartsWith | EndsWith | Contains)]
        comparable = (own for own in pieces if isinstance(asked, Contains | type(own)) and asked.folded >= own.folded)
        return any(has_piece(asked, own.value) for own in comparable)


def _in_interval(interval: Interval, text: str) -> bool:
    """Whether a value with this text, of the kind that the interval asks for, lies in it."""
    low, high = interval
    value: Bound | None
    if isinstance(low, datetime):
        instant = read_instant(text)
        value = None if instant is None or instant_text(instant) != text else instant
    else:
        number = read_number(text)
        value = None if number is None or number_text(number) != text else float(number)
    return value is not None and low <= value <= high  # type: ignore[operator]  # all of one kind


def closed(asked: Range) -> Interval:
    """The same range with both borders inside: values are float64 or microseconds, so the next one exists."""
    if isinstance(asked.low, datetime) or isinstance(asked.high, datetime):
        return _closed_instants(asked)
    low = -_LARGEST if asked.low is None else asked.low
    high = _LARGEST if asked.high is None else asked.high
    return (
        low if asked.low_included else math.nextafter(low, math.inf),
        high if asked.high_included else math.nextafter(high, -math.inf),
    )


def _closed_instants(asked: Range) -> Interval:
    step = timedelta(microseconds=1)
    low = asked.low if isinstance(asked.low, datetime) else datetime.min.replace(tzinfo=UTC)
    high = asked.high if isinstance(asked.high, datetime) else datetime.max.replace(tzinfo=UTC)
    last, first = datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)
    if (not asked.low_included and low == last) or (not asked.high_included and high == first):
        return last, first
    return (low if asked.low_included else low + step), (high if asked.high_included else high - step)


def _sequence_implies(own: Sequence, asked: Sequence) -> bool:
    """Where a word of ``own`` may stand by its slop, that of ``asked`` must have room for it."""
    if len(asked.words) == 1:
        return asked.words[0] in own.words
    room = asked.slop - own.slop
    return room >= 0 and stands(asked, room, zip(own.words, own.offsets, strict=True))


def _surely_text(text: str) -> bool:
    """Whether a value with this canonical text can only be text."""
    return read_number(text) is None and read_instant(text) is None and text not in ("true", "false")
