"""What can be asked? The tree of a query, as values.

A tree is canonical by construction: an ``And`` inside an ``And`` is flattened, and no node can be built that the
language could not write. ``tidings.parse`` makes trees from text; ``tidings.to_text`` writes them back.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import datetime

from tidings.model.errors import QueryError
from tidings.model.habits import word_habit
from tidings.model.names import UNWRITABLE, check_name
from tidings.model.networks import network_text
from tidings.model.region import Region
from tidings.model.tags import is_tag
from tidings.model.values import utc

_NEVER = r"""\s\x00-\x1f\x7f\ud800-\udfff()\[\]{}"“”„:*~^<>=|\\"""
BARE_WORD = rf"[^{_NEVER}!&+\-‐‑‒–—―−][^{_NEVER}]*"
"""What a word may look like in a query without quotes (regular expression)."""

KEYWORDS = frozenset({"AND", "OR", "NOT"})
MAX_WORD_CHARS = 256
MAX_PHRASE_CHARS = 2_048
_BARE_WORD = re.compile(BARE_WORD)
_ESCAPED = re.compile(r"\\.", re.DOTALL)
_ESCAPED_SLASH = re.compile(r"\\(?:(/)|.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the text, analysed as posts are. One that analysis cuts in several is a phrase of them."""

    text: str

    def __post_init__(self) -> None:
        if self.text in KEYWORDS:
            raise QueryError(f'{self.text} needs something on each side; to look for the word, quote it: "{self.text}"')
        if self.text.upper() in {"OR", "NOT"}:
            raise QueryError(f"{self.text!r} is a stop word; write {self.text.upper()} to join, or quote it")
        if self.text.startswith(("AND-", "OR-", "NOT-")):
            raise QueryError(f"{self.text!r} is one word; put a space before '-', or quote it")
        _check_length(self.text, "a word", MAX_WORD_CHARS)
        if not _BARE_WORD.fullmatch(self.text):
            raise QueryError(f'{self.text!r} is not one plain word; quote it: "{self.text}"')
        if habit := word_habit(self.text):
            raise QueryError(habit)


@dataclass(frozen=True, slots=True)
class Tag:
    """A ``#topic``, ``$STOCK`` or ``@name`` in the text; letters have any case."""

    text: str

    def __post_init__(self) -> None:
        if not is_tag(self.text):
            raise QueryError(f"{self.text!r} is no tag like #fire, $BHP or @nswrfs")


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words in a row; with ``slop`` n > 0 as in Lucene: up to n others between them, or some of them moved."""

    text: str
    slop: int = 0

    def __post_init__(self) -> None:
        _check_writable(self.text)
        _check_length(self.text, "a phrase", MAX_PHRASE_CHARS)
        if not self.text.strip():
            raise QueryError('a phrase needs a word between its quotes, as in "white house"')
        if re.search(r"\w\*", self.text):
            raise QueryError("a '*' inside quotes completes no word; take it out, or write the word without quotes")
        if not 0 <= self.slop <= 100:
            raise QueryError(f"the distance after '~' is between 0 and 100, got {self.slop}")


@dataclass(frozen=True, slots=True)
class Prefix:
    """Any word of the text that begins so, before stemming."""

    text: str

    def __post_init__(self) -> None:
        _check_length(self.text, "a word", MAX_WORD_CHARS)
        if not _BARE_WORD.fullmatch(self.text):
            raise QueryError(f"{self.text!r} is not the beginning of one plain word")
        if habit := word_habit(self.text):
            raise QueryError(habit)


@dataclass(frozen=True, slots=True)
class Equals:
    """An attribute equal to a literal by canonical text (``tidings.model.values``); ``folded``: letters of any case."""

    name: str
    value: str
    folded: bool = False

    def __post_init__(self) -> None:
        check_name(self.name)
        _check_writable(self.value)


@dataclass(frozen=True, slots=True)
class _Piece:
    name: str
    value: str
    folded: bool = False

    def __post_init__(self) -> None:
        check_name(self.name)
        _check_writable(self.value)
        if not self.value:
            raise QueryError(f"a '*' needs text beside it, as in {self.name}:Mc*; has:{self.name} asks for any value")


class StartsWith(_Piece):
    """A text attribute that begins so; letters compare exactly unless ``folded``."""

    __slots__ = ()


class EndsWith(_Piece):
    """A text attribute that ends so; letters compare exactly unless ``folded``."""

    __slots__ = ()


class Contains(_Piece):
    """A text attribute with this inside; letters compare exactly unless ``folded``."""

    __slots__ = ()


ANY, ONE = "*", "?"
"""In a wildcard: any characters, also none; and any one character."""


@dataclass(frozen=True, slots=True)
class Wildcard:
    """A text attribute that is all of these, one behind another: texts, and the marks in ``signs`` between them.

    ``texts[0] signs[0] texts[1] …``: a text may be empty. What a piece can say is written as one.

    >>> Wildcard("name", ("Mc", "d", "n"), ("*", "?"))
    Wildcard(name='name', texts=('Mc', 'd', 'n'), signs=('*', '?'), folded=False)
    """

    name: str
    texts: tuple[str, ...]
    signs: tuple[str, ...]
    folded: bool = False

    def __post_init__(self) -> None:
        check_name(self.name)
        for text in self.texts:
            _check_writable(text)
        if len(self.texts) != len(self.signs) + 1 or not self.signs or not {*self.signs} <= {ANY, ONE}:
            raise QueryError("a wildcard is texts with '*' or '?' between them, as in name:Mc*d?n")
        if self._is_piece():
            raise QueryError(
                f"a '*' beside one text is a piece, as in {self.name}:Mc*, {self.name}:*son, {self.name}:*o*"
            )
        if any(not text and sign == ANY for text, sign in zip(self.texts[1:-1], self.signs, strict=False)):
            raise QueryError("of several '*' side by side one is enough; '?' stands before '*'")
        if not any(self.texts):
            object.__setattr__(self, "folded", False)

    def _is_piece(self) -> bool:
        """Whether there are only '*', before or behind one text at most."""
        return {*self.signs} == {ANY} and len([text for text in self.texts if text]) == 1


MAX_PATTERN_CHARS = 1_024


@dataclass(frozen=True, slots=True)
class Regex:
    """A text attribute that is all of a regular expression (``tidings.language.regular``); a ``/`` is not escaped."""

    name: str
    pattern: str
    folded: bool = False

    def __post_init__(self) -> None:
        check_name(self.name)
        _check_writable(self.pattern)
        object.__setattr__(self, "pattern", _ESCAPED_SLASH.sub(lambda found: found[1] or found[0], self.pattern))
        _check_length(self.pattern, "a regular expression", MAX_PATTERN_CHARS)
        if not self.pattern:
            raise QueryError(f'an empty regular expression finds the empty text: write {self.name}:""')
        if _ESCAPED.sub("", self.pattern).endswith("\\"):
            raise QueryError("a regular expression does not end with a backslash")


Bound = float | datetime


@dataclass(frozen=True, slots=True)
class InNetwork:
    """A text attribute that is an address, or a network, in a network of IPv4 or IPv6.

    >>> InNetwork("ip", "2001:DB8:0::/32")
    InNetwork(name='ip', network='2001:db8::/32')
    """

    name: str
    network: str

    def __post_init__(self) -> None:
        check_name(self.name)
        network = network_text(self.network)
        if network is None:
            raise QueryError(f"{self.network!r} is no network like 10.0.0.0/8 or 2001:db8::/32")
        object.__setattr__(self, "network", network)


@dataclass(frozen=True, slots=True)
class Range:
    """A number (compared as float64) or an instant between two bounds; None leaves a side open."""

    name: str
    low: Bound | None = None
    high: Bound | None = None
    low_included: bool = True
    high_included: bool = True

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.low is None and self.high is None:
            raise QueryError(f"a range needs at least one bound; to ask whether it is there, write has:{self.name}")
        for side in ("low", "high"):
            object.__setattr__(self, side, _checked_bound(self.name, getattr(self, side)))
            if getattr(self, side) is None:
                object.__setattr__(self, f"{side}_included", True)
        if self.low is None or self.high is None:
            return
        if isinstance(self.low, datetime) != isinstance(self.high, datetime):
            raise QueryError("the bounds of a range are two numbers or two dates, not one of each")
        if self.low > self.high:  # type: ignore[operator]  # both of one kind, as checked above
            raise QueryError(f"the range of {self.name} is reversed: the smaller bound comes first")
        if self.low == self.high and not (self.low_included and self.high_included):
            raise QueryError(f"the range of {self.name} is empty: its bounds are equal and one is excluded")


@dataclass(frozen=True, slots=True)
class Present:
    """An attribute or field that the publication has, whatever it holds."""

    name: str

    def __post_init__(self) -> None:
        if self.name not in ("text", "topic"):
            check_name(self.name)


@dataclass(frozen=True, slots=True)
class Within:
    """A publication whose place lies in a region."""

    region: Region


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic or one below it; a step ``*`` stands for any one step: ``("sports", "*", "final")``."""

    path: tuple[str, ...]

    def __post_init__(self) -> None:
        if isinstance(self.path, str):
            raise QueryError(f"the path of a topic is a tuple of steps, got the text {self.path!r}")
        object.__setattr__(self, "path", tuple(self.path))
        _check_writable("/".join(self.path))
        if not self.path or any(not step or "/" in step for step in self.path):
            raise QueryError(f"a topic is a path of non-empty steps like sports/soccer, got {'/'.join(self.path)!r}")
        if any("*" in step and step != "*" for step in self.path):
            raise QueryError(f"a '*' in a topic stands for one whole step, as in sports/*, got {'/'.join(self.path)!r}")
        if all(step == "*" for step in self.path):
            raise QueryError("a topic needs at least one step that is not '*'")


@dataclass(frozen=True, slots=True)
class Near:
    """Words of an attribute that is a text, near each other; ``slop`` is 1 to 100, as in a :class:`Phrase`."""

    name: str
    text: str
    slop: int

    def __post_init__(self) -> None:
        check_name(self.name)
        Phrase(self.text, self.slop)
        if self.slop == 0:
            raise QueryError(f'words side by side are written without a distance: {self.name}:"white house"')


@dataclass(frozen=True, slots=True)
class Anywhere:
    """Words in the text, or in a value of any attribute, analysed as the text is; ``slop`` as in a :class:`Phrase`."""

    text: str
    slop: int = 0

    def __post_init__(self) -> None:
        Phrase(self.text, self.slop)


Piece = StartsWith | EndsWith | Contains | Wildcard | Regex
"""What is asked of the text of an attribute."""

Atom = Word | Tag | Phrase | Prefix | Anywhere | Equals | Piece | Near | InNetwork | Range | Present | Within | Topic


@dataclass(frozen=True, slots=True)
class Not:
    child: Query


@dataclass(frozen=True, slots=True)
class And:
    """All of at least two children; nested ones are flattened.

    >>> And((Word("a1"), And((Word("b1"), Word("c1"))))).children
    (Word(text='a1'), Word(text='b1'), Word(text='c1'))
    """

    children: tuple[Query, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "children", _flattened(And, self.children))


@dataclass(frozen=True, slots=True)
class Or:
    """Any of at least two children; nested ones are flattened."""

    children: tuple[Query, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "children", _flattened(Or, self.children))


Query = Atom | Not | And | Or


def _flattened(kind: type[And] | type[Or], children: tuple[Query, ...]) -> tuple[Query, ...]:
    flat: list[Query] = []
    for child in children:
        flat.extend(child.children if isinstance(child, kind) else (child,))
    if len(flat) < 2:
        raise QueryError(f"{kind.__name__.upper()} joins at least two queries, got {len(flat)}")
    return tuple(flat)


def _checked_bound(name: str, bound: Bound | None) -> Bound | None:
    if bound is None:
        return None
    try:
        checked = utc(bound) if isinstance(bound, datetime) else float(bound)
    except (TypeError, ValueError, OverflowError) as error:
        raise QueryError(f"a bound of {name} is a number of float64's range or an instant: {error}") from None
    if isinstance(checked, float) and not math.isfinite(checked):
        raise QueryError(f"the bounds of {name} are finite numbers, got {checked}")
    return checked


def _check_writable(text: str) -> None:
    if bad := UNWRITABLE.search(text):
        raise QueryError(f"{bad[0]!r} is no character that a query can have; remove it")


def _check_length(text: str, what: str, most: int) -> None:
    if len(text) > most:
        raise QueryError(f"{what} has at most {most:,} characters, got {len(text):,}: {text[:20]!r}…")
