"""Does one query ask for everything that another asks for? Covering, as content-based routing needs it ([PADRES] 2.1).

``covers(a, b)`` is sound: it says yes only if every publication that answers b answers a. It is complete for two
conjunctions of words, equalities, ranges, rectangles and topics; beyond that it may say no where yes is true.

How: what b requires is boiled down to *facts* (the possible texts of an attribute, the narrowest interval of a number
or an instant, words, topics). An atom is implied if the facts leave no other way. A place is two numbers, ``lat`` and
``lon``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from tidings.language.atoms import FormPrefix, ResolvedAtom, Sequence, has_piece, is_below
from tidings.language.normal import Conjunction, normal_form
from tidings.model.query import Bound, Contains, EndsWith, Equals, Present, Query, Range, StartsWith, Topic, Within
from tidings.model.region import Circle, Rectangle, distance_m
from tidings.model.values import equality_texts, instant_text, number_text, read_instant, read_number
from tidings.terms import ENGLISH, Analyser

_DOMAINS = {"lat": (-90.0, 90.0), "lon": (-180.0, 180.0)}
_EXACT_FLOAT = 2.0**53
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
    wide = normal_form(a, analyser)
    return all(any(_covers(ours, theirs) for ours in wide) for theirs in normal_form(b, analyser))


def _covers(a: Conjunction, b: Conjunction) -> bool:
    facts = _Facts(b.required)
    if facts.impossible or any(facts.imply(atom) for atom in b.forbidden):
        return True
    return all(facts.imply(atom) for atom in a.required) and all(_excludes(b, atom) for atom in a.forbidden)


def _excludes(b: Conjunction, atom: ResolvedAtom) -> bool:
    """Whether nothing that answers ``b`` can fulfil ``atom``."""
    alone = _Facts((atom,))
    return any(alone.imply(forbidden) for forbidden in b.forbidden) or _Facts((*b.required, atom)).impossible


class _Facts:
    """What a set of required atoms says about any publication that fulfils them all."""

    def __init__(self, atoms: Iterable[ResolvedAtom]) -> None:
        self.atoms = tuple(atoms)
        self.texts: dict[str, frozenset[str]] = {}
        self.numbers: dict[str, Interval] = {}
        self.instants: dict[str, Interval] = {}
        self.named: set[str] = set()
        for atom in self.atoms:
            self._learn(atom)
        if self.named & _DOMAINS.keys():
            for name, (low, high) in _DOMAINS.items():
                self._narrow(name, Range(name, low, high))
        if "ts" in self.named:  # always an instant
            self._narrow("ts", Range("ts", low=datetime.min))
        for name in self.texts.keys() & (self.numbers.keys() | self.instants.keys()):
            self.texts[name] = frozenset(text for text in self.texts[name] if self._in_interval(name, text))

    @property
    def impossible(self) -> bool:
        """Whether no publication can fulfil the atoms."""
        intervals = [*self.numbers.values(), *self.instants.values()]
        return (
            any(low > high for low, high in intervals)  # type: ignore[operator]  # both of one kind
            or not all(self.texts.values())
            or bool(self.numbers.keys() & self.instants.keys())
            or "id" in self.numbers.keys() | self.instants.keys()  # always text
        )

    def imply(self, atom: ResolvedAtom) -> bool:
        """Whether ``atom`` holds for every publication that fulfils the atoms."""
        match atom:
            case Sequence():
                return any(isinstance(own, Sequence) and _sequence_implies(own, atom) for own in self.atoms)
            case FormPrefix(beginning):
                return any(isinstance(own, FormPrefix) and own.beginning.startswith(beginning) for own in self.atoms)
            case Topic(path):
                return any(isinstance(own, Topic) and is_below(own.path, path) for own in self.atoms)
            case Within(region):
                return atom in self.atoms or self._imply_region(region)
            case Present(name):
                return name in self.named
            case Range(name):
                return self._imply_range(atom)
            case Equals(name, literal):
                return self._possible_texts(name) <= equality_texts(literal) if self._is_finite(name) else False
            case _:
                return atom in self.atoms or self._imply_piece(atom)

    def _learn(self, atom: ResolvedAtom) -> None:
        match atom:
            case Equals(name, literal):
                texts = equality_texts(literal)
                self.texts[name] = self.texts.get(name, texts) & texts
            case Range(name):
                self._narrow(name, atom)
            case Within(region):
                self._learn_place(region)
        if isinstance(atom, Equals | Range | Present | StartsWith | EndsWith | Contains):
            self.named.add(atom.name)

    def _learn_place(self, region: Rectangle | Circle) -> None:
        self.named.update(_DOMAINS)
        boxes = region.bounds()
        if len(boxes) == 1:
            self._narrow("lat", Range("lat", boxes[0].south, boxes[0].north))
            self._narrow("lon", Range("lon", boxes[0].west, boxes[0].east))

    def _narrow(self, name: str, asked: Range) -> None:
        low, high = closed(asked)
        known = self.instants if isinstance(low, datetime) else self.numbers
        own_low, own_high = known.get(name, (low, high))
        known[name] = max(low, own_low), min(high, own_high)

    def _interval(self, name: str) -> Interval | None:
        return self.numbers.get(name) or self.instants.get(name)

    def _in_interval(self, name: str, text: str) -> bool:
        """Whether a value with this text, of the kind that the interval asks for, lies in it."""
        value: Bound | None
        if name in self.numbers:
            number = read_number(text)
            value = None if number is None or number_text(number) != text else float(number)
        else:
            instant = read_instant(text)
            value = None if instant is None or instant_text(instant) != text else instant
        low, high = self.numbers.get(name) or self.instants[name]
        return value is not None and low <= value <= high  # type: ignore[operator]  # all of one kind

    def _is_finite(self, name: str) -> bool:
        return name in self.texts or self._single(name) is not None

    def _single(self, name: str) -> str | None:
        """The text of the only value that the interval leaves, if there is only one."""
        interval = self._interval(name)
        if interval is None or interval[0] != interval[1]:
            return None
        value = interval[0]
        if isinstance(value, datetime):
            return instant_text(value)
        # Beyond 2^53 several whole numbers are one float64.
        return number_text(value) if abs(value) < _EXACT_FLOAT else None

    def _possible_texts(self, name: str) -> frozenset[str]:
        single = self._single(name)
        return self.texts[name] if name in self.texts else frozenset({single} if single is not None else ())

    def _imply_range(self, asked: Range) -> bool:
        low, high = closed(asked)
        known = (self.instants if isinstance(low, datetime) else self.numbers).get(asked.name)
        if known is None:
            return False
        if asked.name in self.texts:
            return all(_Facts((asked,))._in_interval(asked.name, text) for text in self.texts[asked.name])
        return low <= known[0] and known[1] <= high  # type: ignore[operator]  # all of one kind

    def _imply_region(self, region: Rectangle | Circle) -> bool:
        if isinstance(region, Rectangle):
            sides = (Range("lat", region.south, region.north), Range("lon", region.west, region.east))
            return all(self._imply_range(side) for side in sides)
        own = [atom.region for atom in self.atoms if isinstance(atom, Within) and isinstance(atom.region, Circle)]
        return any(
            distance_m(circle.lon, circle.lat, region.lon, region.lat) + circle.radius_m + _SLACK_M <= region.radius_m
            for circle in own
        )

    def _imply_piece(self, asked: StartsWith | EndsWith | Contains) -> bool:
        texts = self.texts.get(asked.name)
        if texts is not None and all(_surely_text(text) and has_piece(asked, text) for text in texts):
            return True
        pieces = [own for own in self.atoms if isinstance(own, StartsWith | EndsWith | Contains)]
        same_side = [own for own in pieces if own.name == asked.name and isinstance(asked, Contains | type(own))]
        return any(has_piece(asked, own.value) for own in same_side)


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
    if asked.slop:
        enough = Counter(asked.words) <= Counter(own.words)
        return enough and own.window <= asked.window
    if len(asked.words) == 1:
        return asked.words[0] in own.words
    placed = set(zip(own.words, own.offsets, strict=True))
    wanted = list(zip(asked.words, asked.offsets, strict=True))
    return own.slop == 0 and any(all((w, at + o) in placed for w, o in wanted) for at in own.offsets)


def _surely_text(text: str) -> bool:
    """Whether a value with this canonical text can only be text."""
    return read_number(text) is None and read_instant(text) is None and text not in ("true", "false")
