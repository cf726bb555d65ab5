"""Which words does a text have? The exact analyser: plain, slow, and by definition right.

Posts and queries pass the same analysis, after [S3TM] 6: links and @names are dropped, the rest is cut into
words, folded, stripped of stop words and stemmed. The fast analyser (:mod:`tidings.analysis.fast`) must agree
with this one on every text; it sends whatever it has not seen yet through :func:`folded` and :meth:`Analyser.words_of`.

A text is read in two steps, so that the second depends on nothing but a short run of it:

1. It is cut into *chunks*: links (from ``http://`` or ``https://`` to the next space) and ``@names`` fall out; every
   Han letter is a chunk; so is every run of ASCII letters, digits, apostrophes and non-ASCII characters.
2. A chunk becomes *forms*: folded (Unicode case folding, NFKC), cut at whatever is no letter, digit or accent, without
   its outer apostrophes and without a possessive ``'s``. A form that is no stop word has a *stem*, its word.

Both steps take time linear in the text, whatever it holds. Chunks are folded together, some thousands in one go: what
separates them is a line feed, which no chunk has and which nothing is composed with.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress, count
from operator import not_
from typing import NamedTuple

import Stemmer

from tidings.analysis import stopwords
from tidings.analysis.fields import Fields
from tidings.model import TidingsError
from tidings.model.tags import written_tags

FOLDING = 2
"""The version of what is defined here. An index of another version has other words and is built again."""

MAX_FORM_CHARS = 64
"""Longer forms are dropped: they are encoded data, not words."""

MAX_RUN_CHARS = 256
"""Longer runs without a gap (space, punctuation, emoji) are dropped before they are folded, for the same reason: NFKC
makes up to 18 characters of one, and sorts the accents of a run in quadratic time."""

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
_GAP = re.compile(
    r"[\x80-\xa0\u1680\u2000-\u200b\u2010-\u2015\u201c-\u2023\u2028\u2029\u202f\u2030-\u2032\u2039-\u203b\u205f"
    r"\u2500-\u2775\u3000-\u3002\u3008-\u3011\U0001f300-\U0001f64f\U0001f680-\U0001f6ff\U0001f900-\U0001f9ff]+"
)
"""Characters that end a form and compose with nothing: what stands between two of them folds alone as it does in its
chunk."""

_ALIKE = {"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\u00b4": "'", "\u0149": "'n", "\u0130": "i"}
_SUBSCRIBED = re.compile(
    "[\u1f80-\u1faf\u1fb2-\u1fb4\u1fb7\u1fbc\u1fc2-\u1fc4\u1fc7\u1fcc\u1ff2-\u1ff4\u1ff7\u1ffc]"
    "[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+"
)
"""A Greek letter with an iota below it, and marks after it: folded, the iota is a letter, and comes after the marks."""

_DOTTED_I = "i\u0307"
"""What the Turkish capital I with a dot becomes in lower case elsewhere."""

_ALGORITHMS = {"english": "porter"}


class Token(NamedTuple):
    """One word of a text: ``form`` as written but folded, ``word`` its stem or None for a stop word."""

    form: str
    word: str | None
    position: int


class _Stemmers(threading.local):
    """PyStemmer's objects are not safe to share between threads: one each."""

    def __init__(self, algorithm: str) -> None:
        self.stem = Stemmer.Stemmer(algorithm, 0).stemWords  # without its cache, which takes longer than to stem


@dataclass(frozen=True)
class Analyser:
    """The exact analyser of one language.

    ``language`` is one of PyStemmer's (``tidings.terms.languages()``); English is stemmed by Porter's first
    algorithm, as in [S3TM]. ``stop_words`` replaces the default (a short list for English, none for any other
    language); ``stemming=False`` keeps forms as they are. ``fields`` says of which kind attributes are: names with
    ``exact``, ``folded`` or ``text``, as a mapping.

    >>> Analyser().words("RT @alice: The White House's firefighters — https://t.co/x1 don't smoke!")
    ['white', 'hous', 'firefight', 'smoke']
    """

    language: str = "english"
    stop_words: frozenset[str] | None = None
    stemming: bool = True
    fields: Fields = Fields()  # noqa: RUF009  # frozen

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", Fields.of(self.fields))
        if isinstance(self.stop_words, str):
            raise TidingsError(f"stop_words is a set of words, got the text {self.stop_words!r}")
        if bad := [word for word in self.stop_words or () if not isinstance(word, str)]:
            raise TidingsError(f"stop_words is a set of words, got {bad[0]!r} among them")
        if self.language not in languages():
            raise TidingsError(f"no stemmer for the language {self.language!r}; there are: {', '.join(languages())}")
        if self.stop_words is None:
            object.__setattr__(self, "stop_words", stopwords.default(self.language))
        else:
            object.__setattr__(self, "stop_words", frozenset(" ".join(folded([*self.stop_words])).split()))
        object.__setattr__(self, "_stemmers", _Stemmers(_ALGORITHMS.get(self.language, self.language)))

    def __reduce__(self) -> tuple[type[Analyser], tuple[object, ...]]:
        return Analyser, (self.language, self.stop_words, self.stemming, self.fields)

    def tokens(self, text: str) -> list[Token]:
        """The words of a text in order. Stop words keep their position; links and @names have none.

        >>> Analyser().tokens("State of the Union")  # doctest: +NORMALIZE_WHITESPACE
        [Token(form='state', word='state', position=0), Token(form='of', word=None, position=1),
         Token(form='the', word=None, position=2), Token(form='union', word='union', position=3)]
        """
        forms = " ".join(folded(chunks(text))).split()
        return [Token(*pair, position) for position, pair in enumerate(zip(forms, self.words_of(forms), strict=True))]

    def words(self, text: str) -> list[str]:
        """The set of words of a text, each once, in order of appearance."""
        return list(dict.fromkeys(token.word for token in self.tokens(text) if token.word is not None))

    def chunk_tokens(self, chunk: str) -> list[tuple[str, str | None]]:
        """The (form, word) pairs of one chunk; word is None for a stop word."""
        forms = folded([chunk])[0].split()
        return list(zip(forms, self.words_of(forms), strict=True))

    def word(self, form: str) -> str | None:
        """:meth:`words_of` for one."""
        return self.words_of([form])[0]

    def words_of(self, forms: Sequence[str]) -> list[str | None]:
        """The stem of each form, or None for a stop word; the form itself where stemming leaves nothing of it ("s")."""
        stop: frozenset[str] = self.stop_words  # type: ignore[assignment]  # a set once built
        stems: list[str] = self._stemmers.stem(forms) if self.stemming else list(forms)  # type: ignore[attr-defined]
        words: list[str | None] = [*stems]
        for k in compress(count(), map(not_, stems)):
            words[k] = forms[k]
        for k in compress(count(), map(stop.__contains__, forms)):
            words[k] = None
        return words


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
    """Case-folded and compatibility-composed, so that letters that read the same are the same.

    >>> fold("STRASSE"), fold("stra\u00dfe"), fold("\u0130STANBUL"), fold("\u03a3\u03c2")
    ('strasse', 'strasse', 'istanbul', '\u03c3\u03c3')
    """
    if text.isascii():
        return text.lower()
    text = _IGNORABLE.sub("", text)
    for letter, other in _ALIKE.items():
        text = text.replace(letter, other)
    text = _SUBSCRIBED.sub(_decomposed, unicodedata.normalize("NFKC", text))
    folded = text.casefold().replace(_DOTTED_I, "i")
    return text if folded == text else _composed(text.split("\n"), folded.split("\n"))


def _decomposed(found: re.Match[str]) -> str:
    return unicodedata.normalize("NFD", found[0])


def _composed(before: list[str], lines: list[str]) -> str:
    """The lines in NFKC, in which they were before their case was folded: those that have not changed still are."""
    odd = [k for k, line in enumerate(lines) if line != before[k] and not line.isascii()]
    composed = unicodedata.normalize("NFKC", "\n".join([lines[k] for k in odd])).split("\n")
    for k, line in zip(odd, composed, strict=False):  # none is one empty line
        lines[k] = line
    return "\n".join(lines)


def tags(text: str) -> list[str]:
    """The tags of a text, folded.

    >>> tags("#FIRE, @Alice")
    ['#fire', '@alice']
    """
    return [fold(tag) for tag in written_tags(text)]


def folded(chunks: Sequence[str]) -> list[str]:
    """The forms of each chunk (step 2 above), with spaces between them.

    >>> folded(["Fire", "\u2764O\u2019Brien\u2019s\u2764Caf\u00e9", "\u2764"])
    ['fire', "o'brien caf\u00e9", '']
    """
    if not chunks:
        return []
    if max(map(len, chunks)) > MAX_RUN_CHARS:
        chunks = [chunk if len(chunk) <= MAX_RUN_CHARS else _without_runs(chunk) for chunk in chunks]
    text = fold("\n".join(chunks))
    lines = text.split("\n")
    if not text.replace("\n", "").isalnum() or max(map(len, lines)) > MAX_FORM_CHARS:
        odd = [k for k, line in enumerate(lines) if not line.isalnum() or len(line) > MAX_FORM_CHARS]
        for k, forms in zip(odd, _cut("\n".join([lines[k] for k in odd])), strict=True):
            lines[k] = forms
    return lines


def _without_runs(chunk: str) -> str:
    return " ".join([run for run in _GAP.split(chunk) if len(run) <= MAX_RUN_CHARS])


class _WordCharacters(dict[int, int]):
    """For str.translate: a letter, digit, accent or apostrophe stays, anything else becomes a space."""

    def __missing__(self, code: int) -> int:
        character = chr(code)
        kept = character.isalnum() or character == "'" or unicodedata.category(character) in ("Mn", "Mc")
        self[code] = code if kept else ord(" ")
        return self[code]


_WORD_CHARACTERS = _WordCharacters({ord("\n"): ord("\n")})


def _cut(text: str) -> list[str]:
    """The forms of each line of a text."""
    lines = text.translate(_WORD_CHARACTERS).split("\n")
    return [line.strip(" ") if _is_clean(line) else " ".join(_forms(line.split())) for line in lines]


def _forms(pieces: list[str]) -> list[str]:
    """The forms that are left of some pieces."""
    most = MAX_FORM_CHARS
    return [form for piece in pieces if (form := piece if piece.isalnum() and len(piece) <= most else _trimmed(piece))]


def _is_clean(line: str) -> bool:
    """Whether all between spaces is surely a form."""
    bare = line.replace(" ", "")
    return bare.isalnum() and (len(bare) <= MAX_FORM_CHARS or max(map(len, line.split())) <= MAX_FORM_CHARS)


def _trimmed(piece: str) -> str:
    """Without possessive and outer apostrophes, however many; empty if no letter or digit is left, or too many."""
    form = piece
    if "'" in piece:
        form = piece.removesuffix("'s").strip("'")
        while form.endswith("'s"):
            form = form.removesuffix("'s").rstrip("'")
    if len(form) > MAX_FORM_CHARS or not form:
        return ""
    return form if form[0].isalnum() or any(map(str.isalnum, form)) else ""


ENGLISH = Analyser()
"""The analyser where none is given."""
