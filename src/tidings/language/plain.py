"""Which queries of a column are nothing but words, and which words? The fast way in for millions of them.

A plain query is one to many ASCII words side by side, none of them an operator. Its conjunction is the set of its
words, which the fast analyser reads straight from the Arrow column: the general parser, far slower, would say the same
(a test holds that). Whatever is not surely plain is left to the parser, and so are all errors.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidings.analysis import Analyser
from tidings.analysis.fast import FastAnalyser
from tidings.analysis.vocabulary import TermSets

# 2,048 characters have at most 1,024 words, so no limit of the language is near.
_PLAIN = r"^[A-Za-z0-9]{1,64}( [A-Za-z0-9]{1,64})*$"
_OPERATOR = r"(^| )((?i:or|not)|AND)( |$)"
_MAX_CHARS = 2_048
_NO_WORD = ""
_PLAIN_PYTHON, _OPERATOR_PYTHON = re.compile(_PLAIN[1:-1]), re.compile(_OPERATOR)


@dataclass(frozen=True, slots=True)
class PlainQueries:
    """``is_plain`` bool[rows], and the set of words of each row, which is empty where it is not plain."""

    is_plain: npt.NDArray[np.bool_]
    words: TermSets


class PlainWords:
    """Reads plain queries one at a time, and remembers their words.

    >>> plain = PlainWords(Analyser())
    >>> plain.read("white houses of the white"), plain.read("fire OR smoke"), plain.read("the of")
    (['white', 'hous'], None, None)
    """

    def __init__(self, analyser: Analyser) -> None:
        self._analyser = analyser
        self._known: dict[str, str] = {}

    def __len__(self) -> int:
        """How many words it remembers, as they were written."""
        return len(self._known)

    def read(self, query: str) -> list[str] | None:
        """The words of a plain query, each once; None if it is not surely plain. Cost: 1 µs for known words."""
        written = query.split(" ")
        try:
            words = dict.fromkeys([self._known[word] for word in written])
        except KeyError:
            if not self._learn(query, written):
                return None
            words = dict.fromkeys([self._known[word] for word in written])
        words.pop(_NO_WORD, None)
        return list(words) if words and len(query) <= _MAX_CHARS else None

    def _learn(self, query: str, written: list[str]) -> bool:
        """Remember the words of a query; False if it is not plain."""
        if len(query) > _MAX_CHARS or not _PLAIN_PYTHON.fullmatch(query) or _OPERATOR_PYTHON.search(query):
            return False
        for word in (word for word in written if word not in self._known):
            [(_, stem)] = self._analyser.chunk_tokens(word)  # letters and digits alone are one form
            self._known[word] = stem or _NO_WORD
        return True


def plain_queries(queries: pa.Array | pa.ChunkedArray, fast: FastAnalyser) -> PlainQueries:
    """Read the plain ones among ``queries``; ``fast`` must give every word an id (``grow=True``).

    >>> fast = FastAnalyser()
    >>> found = plain_queries(pa.array(["white house", "fire OR smoke", "the of", "the fires"]), fast)
    >>> found.is_plain.tolist(), [fast.vocabulary[i] for i in found.words.row(3)]
    ([True, False, False, True], ['fire'])
    """
    if not pa.types.is_large_string(queries.type):
        queries = queries.cast(pa.large_string())
    short = pc.less_equal(pc.utf8_length(queries), _MAX_CHARS)
    plain = pc.and_not(pc.match_substring_regex(queries, _PLAIN), pc.match_substring_regex(queries, _OPERATOR))
    candidates = pc.fill_null(pc.and_(short, plain), False)
    words = fast.analyse(pc.if_else(candidates, queries, ""))  # nobody needs the words of the others
    if isinstance(candidates, pa.ChunkedArray):
        candidates = candidates.combine_chunks()
    return PlainQueries(candidates.to_numpy(zero_copy_only=False) & (np.diff(words.offsets) > 0), words)
