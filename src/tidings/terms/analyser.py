"""Which words does a text have? The exact analyser: plain, slow, and by definition right.

Posts and queries pass the same analysis, after [S3TM] 6: links and @names are dropped, the rest is cut into
words, folded, stripped of stop words and stemmed. The fast analyser (:mod:`tidings.terms.fast`) must agree
with this one on every text; it sends whatever it has not seen yet through :meth:`Analyser.chunk_tokens`.

A text is read in two steps, so that the second depends on nothing but a short run of it:

1. It is cut into *chunks*: links (from ``http://`` or ``https://`` to the next space) and ``@names`` fall out; every
   Han letter is a chunk; so is every run of ASCII letters, digits, apostrophes and non-ASCII characters.
2. A chunk becomes *forms*: folded (lower case, NFKC), cut at whatever is no letter, digit or accent, without its
   outer apostrophes and without a possessive ``'s``. A form that is no stop word has a *stem*, its word.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from dataclasses import dataclass
from typing import NamedTuple

import Stemmer

from tidings.model import TidingsError
from tidings.terms import stopwords

MAX_FORM_CHARS = 64
"""Longer forms are dropped: they are encoded data, not words."""

_SPACE = r"\x00-\x20\x7f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_HAN = r"\u3400-\u4dbf\u4e00-\u9fff"
_LINK_START = r"[hH][tT][tT][pP][sS]?://"
_CHUNK = re.compile(
    rf"{_LINK_START}[^{_SPACE}]*"
    r"|@[A-Za-z0-9_]*"
    rf"|(?P<chunk>[{_HAN}]|(?:(?!{_LINK_START})[A-Za-z0-9'\x80-\u33ff\u4dc0-\u4dff\ua000-\U0010ffff])+)"
)
_IGNORABLE = re.compile(
    r"[\xad\u034f\u061c\u180b-\u180f\u200c-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\u00b4": "'"})
_ALGORITHMS = {"english": "porter"}


class Token(NamedTuple):
    """One word of a text: ``form`` as written but folded, ``word`` its stem or None for a stop word."""

    form: str
    word: str | None
    position: int


class _Stemmers(threading.local):
    """PyStemmer's objects are not safe to share between threads: one each."""

    def __init__(self, algorithm: str) -> None:
        self.stem = Stemmer.Stemmer(algorithm, 0).stemWord  # without its cache, which takes longer than to stem


@dataclass(frozen=True)
class Analyser:
    """The exact analyser of one language.

    ``language`` is one of PyStemmer's (``tidings.terms.languages()``); English is stemmed by Porter's first
    algorithm, as in [S3TM]. ``stop_words`` replaces the default (a short list for English, none for any other
    language); ``stemming=False`` keeps forms as they are.

    >>> Analyser().words("RT @alice: The White House's firefighters — https://t.co/x1 don't smoke!")
    ['white', 'hous', 'firefight', 'smoke']
    """

    language: str = "english"
    stop_words: frozenset[str] | None = None
    stemming: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.stop_words, str):
            raise TidingsError(f"stop_words is a set of words, got the text {self.stop_words!r}")
        if bad := [word for word in self.stop_words or () if not isinstance(word, str)]:
            raise TidingsError(f"stop_words is a set of words, got {bad[0]!r} among them")
        if self.language not in languages():
            raise TidingsError(f"no stemmer for the language {self.language!r}; there are: {', '.join(languages())}")
        if self.stop_words is None:
            object.__setattr__(self, "stop_words", stopwords.default(self.language))
        else:
            object.__setattr__(self, "stop_words", frozenset(form for word in self.stop_words for form in _forms(word)))
        object.__setattr__(self, "_stemmers", _Stemmers(_ALGORITHMS.get(self.language, self.language)))

    def __reduce__(self) -> tuple[type[Analyser], tuple[object, ...]]:
        return Analyser, (self.language, self.stop_words, self.stemming)

    def tokens(self, text: str) -> list[Token]:
        """The words of a text in order. Stop words keep their position; links and @names have none.

        >>> Analyser().tokens("State of the Union")  # doctest: +NORMALIZE_WHITESPACE
        [Token(form='state', word='state', position=0), Token(form='of', word=None, position=1),
         Token(form='the', word=None, position=2), Token(form='union', word='union', position=3)]
        """
        pairs = [pair for chunk in chunks(text) for pair in self.chunk_tokens(chunk)]
        return [Token(form, word, position) for position, (form, word) in enumerate(pairs)]

    def words(self, text: str) -> list[str]:
        """The set of words of a text, each once, in order of appearance."""
        return list(dict.fromkeys(token.word for token in self.tokens(text) if token.word is not None))

    def chunk_tokens(self, chunk: str) -> list[tuple[str, str | None]]:
        """The (form, word) pairs of one chunk; word is None for a stop word."""
        return [(form, self.word(form)) for form in _forms(chunk)]

    def word(self, form: str) -> str | None:
        """The stem of a form, or None for a stop word; the form itself where stemming leaves nothing of it ("s")."""
        if form in self.stop_words:  # type: ignore[operator]  # a set once built
            return None
        return (self._stemmers.stem(form) or form) if self.stemming else form  # type: ignore[attr-defined]


def languages() -> tuple[str, ...]:
    """The languages there is a stemmer for.

    >>> "english" in languages() and "german" in languages()
    True
    """
    return tuple(sorted(Stemmer.algorithms()))


def chunks(text: str) -> list[str]:
    """The pieces of a text that are folded one by one (step 1 above).

    >>> chunks("Fire!👉https://t.co/x at @home, 白宫")
    ['Fire', '👉', 'at', '白', '宫']
    """
    return [found["chunk"] for found in _CHUNK.finditer(text) if found["chunk"] is not None]


def fold(text: str) -> str:
    """Lower case and compatibility-composed, so that letters that read the same are the same."""
    if text.isascii():
        return text.lower()
    composed = unicodedata.normalize("NFKC", _IGNORABLE.sub("", text).lower().translate(_APOSTROPHES))
    return composed.lower()


def _forms(chunk: str) -> list[str]:
    """The folded words of a chunk (step 2 above)."""
    folded = fold(chunk)
    pieces = [folded] if folded.isalnum() else folded.translate(_WORD_CHARACTERS).split()
    return [form for piece in pieces if (form := _trimmed(piece))]


class _WordCharacters(dict[int, str]):
    """For str.translate: a letter, digit, accent or apostrophe stays, anything else becomes a space."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        kept = character.isalnum() or character == "'" or unicodedata.category(character) in ("Mn", "Mc")
        self[code] = character if kept else " "
        return self[code]


_WORD_CHARACTERS = _WordCharacters()


def _trimmed(piece: str) -> str:
    """Without possessive and outer apostrophes, however many; empty if no letter or digit is left, or too many."""
    form = piece.removesuffix("'s").strip("'")
    while form.endswith("'s"):
        form = form.removesuffix("'s").strip("'")
    return form if len(form) <= MAX_FORM_CHARS and any(map(str.isalnum, form)) else ""


ENGLISH = Analyser()
"""The analyser where none is given."""
