"""What does one condition of a query mean, once its words are analysed?

An *atom* is a condition without AND, OR, NOT. Those on text are resolved by the analyser into a :class:`Sequence` or a
:class:`FormPrefix`; the others mean what they say. An atom of nothing but stop words means nothing: it is left out
of the query, as stop words are left out of posts.
"""

from __future__ import annotations

from collections.abc import Sequence as Steps
from dataclasses import dataclass, field, replace
from datetime import datetime

from tidings.analysis import FOLDED, TEXT, Analyser, tags
from tidings.language.formulas import Formula
from tidings.language.regular import node_of, program_of
from tidings.model.errors import QueryError
from tidings.model.networks import network_of
from tidings.model.query import (
    Anywhere,
    Atom,
    Contains,
    EndsWith,
    Equals,
    InNetwork,
    Near,
    Phrase,
    Piece,
    Prefix,
    Present,
    Range,
    Regex,
    StartsWith,
    Tag,
    Topic,
    Wildcard,
    Within,
    Word,
)
from tidings.model.values import equality_texts, instant_text, number_text

MIN_PREFIX_CHARS = 2
MAX_PHRASE_WORDS = 100
EXACT_FLOAT = 2.0**53
"""Below it no two whole numbers are one float64."""

NOTHING_LEFT = "nothing is left of it but stop words and signs, which are dropped from posts; add a telling word"


@dataclass(frozen=True, slots=True)
class Sequence:
    """Words (stems) at relative positions; one word is a sequence of length 1.

    With ``slop`` 0 they stand exactly so. With n > 0 a word may stand further to the right than its place, by up to n
    more than another does, as in Lucene: side by side but exchanged, two words need n = 2.
    ``source`` is the atom as it was written; it does not count for equality.
    """

    words: tuple[str, ...]
    offsets: tuple[int, ...] = (0,)
    slop: int = 0
    source: Atom | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FormPrefix:
    """Any form that begins so (folded, not stemmed)."""

    beginning: str
    source: Atom | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FoldedTag:
    """A tag with its sign, folded."""

    tag: str
    source: Atom | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FieldWords:
    """Words in an attribute that is a text."""

    name: str
    sequence: Sequence


@dataclass(frozen=True, slots=True)
class FieldPrefix:
    """A word that begins so in an attribute that is a text."""

    name: str
    word: FormPrefix


@dataclass(frozen=True, slots=True)
class AttributeWords:
    """Words in a value of any attribute."""

    sequence: Sequence


SimpleAtom = (
    Sequence
    | FoldedTag
    | FormPrefix
    | FieldWords
    | FieldPrefix
    | AttributeWords
    | Equals
    | Piece
    | InNetwork
    | Range
    | Present
    | Within
    | Topic
)
ResolvedAtom = SimpleAtom | Formula
"""What a conjunction is made of; a formula of simple atoms is verified as it was written."""


def resolve(atom: Atom, analyser: Analyser) -> ResolvedAtom | None:
    """What an atom means, or None if it is made of stop words alone. Only words anywhere mean a formula: one of two.

    >>> from tidings.model import Word
    >>> resolve(Word("covid-19"), Analyser())
    Sequence(words=('covid', '19'), offsets=(0, 1), slop=0)
    """
    if isinstance(atom, Range):
        atom = _one_value(atom)
    if analyser.fields.kinds and isinstance(atom, Equals | Piece | InNetwork | Near):
        kind = analyser.fields.kind(atom.name)
        if kind == TEXT:
            return _in_text(atom, analyser)
        if kind == FOLDED and not isinstance(atom, Near | InNetwork):
            atom = replace(atom, folded=True)
    match atom:
        case Word(text):
            return _sequence(text, 0, atom, analyser)
        case Phrase(text, slop):
            return _sequence(text, slop, atom, analyser)
        case Anywhere(text, slop):
            return _anywhere(_sequence(text, slop, atom, analyser), atom)
        case Tag(text):
            [tag] = tags(text)
            return FoldedTag(tag, atom)
        case Prefix(text):
            return _form_prefix(text, atom, analyser)
        case Regex():
            _check_pattern(atom)
            return atom
        case Near():
            raise QueryError(f"{atom.name!r} is no text of words: '~' needs a field of the kind text", None, atom)
        case _:
            return atom


def _one_value(asked: Range) -> Range | Equals:
    """``[x TO x]`` is the equality ``name:x``, which is found by its term."""
    value = asked.low
    if value is None or value != asked.high:
        return asked
    if isinstance(value, datetime):
        return Equals(asked.name, instant_text(value))
    return Equals(asked.name, number_text(value)) if abs(value) < EXACT_FLOAT else asked


def _sequence(text: str, slop: int, source: Atom, analyser: Analyser) -> Sequence | None:
    tokens = analyser.tokens(text)
    words = tuple([token.word for token in tokens if token.word is not None])
    if len(words) > MAX_PHRASE_WORDS:
        raise QueryError(f"a phrase has at most {MAX_PHRASE_WORDS} words, got {len(words)}", None, source)
    if len(words) == 1:
        return Sequence(words, source=source)
    if words:
        positions = [token.position for token in tokens if token.word is not None]
        return Sequence(words, tuple([position - positions[0] for position in positions]), slop, source)
    if "@" in text and not tokens:
        raise QueryError(f"{text!r}: @names are no words; ask for one without quotes, as in @nswrfs", None, source)
    return None


def _anywhere(words: Sequence | None, source: Anywhere) -> Formula | None:
    return None if words is None else Formula(False, ((True, words), (True, AttributeWords(words))), source)


def _in_text(atom: Equals | Piece | InNetwork | Near, analyser: Analyser) -> FieldWords | FieldPrefix | None:
    """What a condition on an attribute that is a text means."""
    match atom:
        case Equals(name, text) | Near(name, text):
            words = _sequence(text, atom.slop if isinstance(atom, Near) else 0, atom, analyser)
            return None if words is None else FieldWords(name, words)
        case StartsWith(name, text):
            return FieldPrefix(name, _form_prefix(text, atom, analyser))
        case _:
            raise QueryError(
                f"{atom.name!r} is a text of words: ask for a word ({atom.name}:fire), a phrase "
                f'({atom.name}:"white house") or a beginning ({atom.name}:fir*)',
                None,
                atom,
            )


def _check_pattern(asked: Regex) -> None:
    try:
        node_of(asked)
    except QueryError as error:
        raise QueryError(error.problem, None, asked) from None


def _form_prefix(text: str, source: Atom, analyser: Analyser) -> FormPrefix:
    forms = [token.form for token in analyser.tokens(text)]
    if len(forms) != 1:
        raise QueryError(
            f"'{text}*' is not the beginning of one word: before '*' stand only letters and digits", None, source
        )
    if len(forms[0]) < MIN_PREFIX_CHARS:
        raise QueryError(f"'{text}*' is too short: at least {MIN_PREFIX_CHARS} letters before '*'", None, source)
    return FormPrefix(forms[0], source)


def has_piece(piece: Piece, text: str) -> bool:
    """Whether a text begins, ends, continues or is as asked."""
    if isinstance(piece, Regex):
        return program_of(piece).accepts(text)
    if piece.folded:
        text = text.casefold()
    if isinstance(piece, Wildcard):
        return program_of(piece).accepts(text)
    part = piece.value.casefold() if piece.folded else piece.value
    match piece:
        case StartsWith():
            return text.startswith(part)
        case EndsWith():
            return text.endswith(part)
        case Contains():
            return part in text


def asked_texts(asked: Equals) -> frozenset[str]:
    """The canonical texts that fulfil an equality; folded, if letters may have any case."""
    texts = equality_texts(asked.value)
    return frozenset(text.casefold() for text in texts) if asked.folded else texts


def is_equal(asked: Equals, text: str) -> bool:
    """Whether a value of this canonical text fulfils an equality."""
    return (text.casefold() if asked.folded else text) in asked_texts(asked)


def is_in_network(asked: InNetwork, text: str) -> bool:
    """Whether a text is an address, or a network, in a network."""
    own, wider = network_of(text), network_of(asked.network)
    return own is not None and wider is not None and own.version == wider.version and own.subnet_of(wider)  # type: ignore[arg-type]


def is_below(topic: Steps[str], path: Steps[str]) -> bool:
    """Whether a topic, as steps, is at or below a path, in which ``*`` is any one step."""
    return len(topic) >= len(path) and all(step in ("*", own) for step, own in zip(path, topic, strict=False))
