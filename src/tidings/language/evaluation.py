"""Does this publication answer this query? The reference semantics: plain, slow, what every index must equal.

:func:`evaluate` walks the tree as it was written; nothing of it passes through the normal form.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from tidings.analysis import ENGLISH, Analyser, Token, tags
from tidings.language.atoms import (
    NOTHING_LEFT,
    AttributeWords,
    FieldPrefix,
    FieldWords,
    FoldedTag,
    FormPrefix,
    ResolvedAtom,
    Sequence,
    has_piece,
    is_below,
    is_equal,
    is_in_network,
    resolve,
)
from tidings.language.formulas import Formula
from tidings.model.errors import PublicationError, QueryError
from tidings.model.publication import Publication
from tidings.model.query import (
    And,
    Equals,
    InNetwork,
    Not,
    Or,
    Piece,
    Present,
    Query,
    Range,
    Topic,
    Within,
)
from tidings.model.values import Value, value_text


@dataclass(frozen=True, slots=True)
class Content:
    """A publication with its text analysed: what queries are evaluated on."""

    publication: Publication
    tokens: tuple[Token, ...]
    analyser: Analyser = ENGLISH

    @classmethod
    def of(cls, publication: Publication, analyser: Analyser) -> Content:
        if not isinstance(publication, Publication):
            raise PublicationError(f"a tidings.Publication is expected, got {publication!r}")
        return cls(publication, tuple(analyser.tokens(publication.text)), analyser)

    def of_field(self, name: str) -> list[list[Token]]:
        """The words of each value of an attribute that is a text."""
        return [self.analyser.tokens(value_text(value)) for value in self.publication.values(name)]


def evaluate(query: Query, publication: Publication, analyser: Analyser = ENGLISH) -> bool:
    """Whether the publication answers the query.

    >>> from tidings.language import parse
    >>> evaluate(parse('"white house" -drill'), Publication("p1", "The White House says"))
    True
    """
    if not isinstance(query, Query):
        raise QueryError(f"a query is what tidings.parse gives, got {query!r}")
    return evaluate_content(query, Content.of(publication, analyser), analyser)


def evaluate_content(query: Query, content: Content, analyser: Analyser) -> bool:
    """As :func:`evaluate`, on a publication that was analysed before."""
    answer = _answer(query, content, analyser)
    if answer is None:
        raise QueryError(NOTHING_LEFT)
    return answer


def _answer(query: Query, content: Content, analyser: Analyser) -> bool | None:
    """True, False, or None for a part that means nothing and so is left out."""
    if isinstance(query, Not):
        answer = _answer(query.child, content, analyser)
        return None if answer is None else not answer
    if isinstance(query, And | Or):
        answers = [_answer(child, content, analyser) for child in query.children]
        known = [answer for answer in answers if answer is not None]
        if not known:
            return None
        return all(known) if isinstance(query, And) else any(known)
    atom = resolve(query, analyser)
    return None if atom is None else holds(atom, content)


def holds(atom: ResolvedAtom, content: Content) -> bool:
    """Whether one condition holds; one on an attribute does if any of the attribute's values fulfils it."""
    match atom:
        case Formula():
            return atom.holds(lambda own: holds(own, content))
        case Sequence():
            return has_sequence(atom, content.tokens)
        case FormPrefix():
            return has_form(atom, content.tokens)
        case FieldWords(name, sequence):
            return any(has_sequence(sequence, tokens) for tokens in content.of_field(name))
        case FieldPrefix(name, word):
            return any(has_form(word, tokens) for tokens in content.of_field(name))
        case AttributeWords(sequence):
            names = content.publication.attributes
            return any(has_sequence(sequence, tokens) for name in names for tokens in content.of_field(name))
        case FoldedTag(tag):
            return tag in tags(content.publication.text)
        case Within(region):
            lon, lat = content.publication.lon, content.publication.lat
            return lon is not None and lat is not None and region.contains(lon, lat)
        case Topic(path):
            return any(is_below(topic.split("/"), path) for topic in content.publication.topics)
        case _:
            return any(_value_holds(atom, value) for value in content.publication.values(atom.name))


def has_form(prefix: FormPrefix, tokens: Iterable[Token]) -> bool:
    """Whether a word, and no stop word, begins so."""
    return any(token.word is not None and token.form.startswith(prefix.beginning) for token in tokens)


def has_sequence(sequence: Sequence, tokens: Iterable[Token]) -> bool:
    """Whether words stand as they are asked for."""
    placed = [(token.word, token.position) for token in tokens if token.word is not None]
    return stands(sequence, sequence.slop, placed)


def stands(sequence: Sequence, slop: int, placed: Iterable[tuple[str, int]]) -> bool:
    """Whether each word has a place of its own, none more than ``slop`` further to the right than another, seen from
    where the sequence has them. ``placed`` are words and their positions, in order.

    A beginning of the sequence is tried; where a word comes too late, the next one that could be early enough.
    """
    wanted = frozenset(sequence.words)
    places: dict[str, list[int]] = {word: [] for word in wanted}
    for word, position in placed:
        if word in wanted:
            places[word].append(position)
    begin: int | None = -sequence.offsets[-1] - slop
    while begin is not None:
        later = _first_begin(begin, sequence, slop, places)
        if later == begin:
            return True
        begin = later
    return False


def _first_begin(begin: int, sequence: Sequence, slop: int, places: dict[str, list[int]]) -> int | None:
    """``begin`` if the sequence stands from there, else one before which it does not; None if it never does.

    Each word takes the first place that is free. Windows are equally long, so no other choice finds more.
    """
    taken = dict.fromkeys(places, 0)
    for word, offset in zip(sequence.words, sequence.offsets, strict=True):
        own = places[word]
        k = max(bisect_left(own, begin + offset), taken[word])
        if k == len(own):
            return None
        if own[k] > begin + offset + slop:
            return own[k] - offset - slop
        taken[word] = k + 1
    return begin


def _value_holds(atom: Equals | Piece | InNetwork | Range | Present, value: Value) -> bool:
    match atom:
        case Present():
            return True
        case Equals():
            return is_equal(atom, value_text(value))
        case Range():
            return in_range(atom, value)
        case InNetwork():
            return isinstance(value, str) and is_in_network(atom, value)
        case _:
            return isinstance(value, str) and has_piece(atom, value)


def in_range(asked: Range, value: Value) -> bool:
    """Whether a value lies in a range: numbers in ranges of numbers (as float64), instants in ranges of instants."""
    bounds = [bound for bound in (asked.low, asked.high) if bound is not None]
    if isinstance(value, str | bool) or isinstance(value, datetime) != isinstance(bounds[0], datetime):
        return False
    place = value if isinstance(value, datetime) else float(value)
    # All of one kind, as checked above.
    above = asked.low is None or place > asked.low or (asked.low_included and place == asked.low)  # type: ignore[operator]
    below = asked.high is None or place < asked.high or (asked.high_included and place == asked.high)  # type: ignore[operator]
    return above and below
