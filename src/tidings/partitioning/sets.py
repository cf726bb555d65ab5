"""Where does a publication go, and where does a subscription live? Sets of matchers, a bit for each matcher."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidings.analysis.vocabulary import TermSets
from tidings.arrays import IntArray
from tidings.partitioning import kernels
from tidings.partitioning.mapping import HashArray, Owners

WordArray = npt.NDArray[np.uint64]
_WORD_BITS = 64


@dataclass(frozen=True, slots=True, eq=False)
class MatcherSets:
    """Set i has matcher m if bit ``m % 64`` of ``words[i, m // 64]`` is set: uint64[sets, 1 for 64 matchers each].

    >>> sets = MatcherSets(np.array([[0b101], [0], [0b100]], dtype=np.uint64))
    >>> [matchers.tolist() for matchers in sets.pairs()], sets.with_matcher(2).tolist()
    ([[0, 0, 2], [0, 2, 2]], [0, 2])
    """

    words: WordArray

    @classmethod
    def empty(cls, count: int, matchers: int) -> MatcherSets:
        """So many sets of no matchers."""
        return cls(np.zeros((count, _width(matchers)), dtype=np.uint64))

    @classmethod
    def owning(cls, terms: TermSets, owners: Owners, matchers: int) -> MatcherSets:
        """For each set of terms the matchers that own one of them, all versions of a split one; -1 is nobody's."""
        sets = cls.empty(len(terms), matchers)
        kernels.mark(terms.offsets, terms.ids, owners.offsets, owners.matchers, sets.words)
        return sets

    @classmethod
    def reached(cls, terms: TermSets, keys: HashArray, owners: Owners, matchers: int) -> MatcherSets:
        """The same with one version only of each split term: which one, the key of the set decides."""
        sets = cls.empty(len(terms), matchers)
        kernels.mark_versions(terms.offsets, terms.ids, owners.offsets, owners.matchers, keys, sets.words)
        return sets

    def __len__(self) -> int:
        return len(self.words)

    def taken(self, numbers: IntArray) -> MatcherSets:
        """Some of them, in that order."""
        return MatcherSets(self.words[numbers])

    def sizes(self) -> IntArray:
        """How many matchers each set has."""
        sizes: IntArray = np.bitwise_count(self.words).sum(axis=1, dtype=np.int64)
        return sizes

    def without(self, others: MatcherSets) -> MatcherSets:
        """Of each set the matchers that its neighbour has not."""
        return MatcherSets(self.words & ~others.words)

    def first(self) -> IntArray:
        """The lowest matcher of each set; none of them is empty.

        >>> MatcherSets(np.array([[0b110, 1], [0, 4]], dtype=np.uint64)).first().tolist()
        [1, 66]
        """
        column = (self.words != 0).argmax(axis=1)
        words = self.words[np.arange(len(self)), column]
        lowest: IntArray = _WORD_BITS * column + np.bitwise_count((words & (~words + np.uint64(1))) - np.uint64(1))
        return lowest

    def with_matcher(self, matcher: int) -> IntArray:
        """The numbers of the sets that have a matcher, in order."""
        column = self.words[:, matcher // _WORD_BITS]
        return np.flatnonzero(column & (np.uint64(1) << np.uint64(matcher % _WORD_BITS)))

    def pairs(self) -> tuple[IntArray, IntArray]:
        """All numbers of sets and their matchers side by side, both rising: each matcher of a set once."""
        bits = np.unpackbits(self.words.astype("<u8", copy=False).view(np.uint8), axis=1, bitorder="little")
        sets, matchers = np.nonzero(bits)
        return sets, matchers

    def meet_below(self, others: MatcherSets, matcher: int) -> npt.NDArray[np.bool_]:
        """Whether each set has, in common with its neighbour, a matcher of a lower number than that."""
        below = np.array([_low_bits(matcher - _WORD_BITS * i) for i in range(self.words.shape[1])], dtype=np.uint64)
        return np.asarray((self.words & others.words & below).any(axis=1))

    def column(self) -> pa.FixedSizeBinaryArray:
        """The sets as a column that can travel beside their rows; nothing is copied."""
        words = np.ascontiguousarray(self.words)
        return pa.Array.from_buffers(pa.binary(8 * words.shape[1]), len(words), [None, pa.py_buffer(words)])

    @classmethod
    def from_column(cls, column: pa.Array | pa.ChunkedArray, matchers: int) -> MatcherSets:
        """The sets that :meth:`column` gave for so many matchers, also where they have become plain binary."""
        width = _width(matchers)
        column = column.cast(pa.binary(8 * width))
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        words = np.frombuffer(column.buffers()[1] or b"", dtype=np.uint64)
        return cls(words[width * column.offset :][: width * len(column)].reshape(len(column), width))


def _width(matchers: int) -> int:
    return -(-matchers // _WORD_BITS)


def _low_bits(count: int) -> int:
    return (1 << min(max(count, 0), _WORD_BITS)) - 1
