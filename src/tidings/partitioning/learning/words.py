"""What is placed? Words: a term, or each version of one that is split, in the sets of a sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidings.analysis.vocabulary import TermSets
from tidings.arrays import IdArray, IntArray
from tidings.partitioning.learning import kernels
from tidings.partitioning.learning.incidence import Incidence
from tidings.partitioning.mapping import Mapping, Owners


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """The words of some publications, equal sets once with a weight, and the sets of each word.

    Term t is the words ``first[t]`` … ``first[t + 1] - 1``, which have to be apart; one that is everywhere has none of
    its own: word m < ``matchers`` stands for all such terms, and is at matcher m. Word w is in the sets
    ``rows[starts[w] : starts[w + 1]]``, ``frequencies[w]`` publications.
    """

    matchers: int
    names: pa.Array
    first: IntArray
    sets: TermSets
    weights: IntArray
    starts: IntArray
    rows: IdArray
    frequencies: IntArray

    @classmethod
    def of(cls, incidence: Incidence, matchers: int, versions: IntArray) -> Words:
        """The words of an incidence whose terms have so many ``versions``. Cost: some 2 µs a publication."""
        own = np.where((versions == matchers) & (matchers > 1), 0, versions)
        first = matchers + np.concatenate([[0], np.cumsum(own)])
        sets, weights = _merged(_versions(incidence, first, matchers), incidence.weights)
        starts, rows = np.zeros(first[-1] + 1, dtype=np.int64), np.empty(len(sets.ids), dtype=np.int32)
        kernels.transpose(sets.offsets, sets.ids, starts, rows)
        frequencies = np.bincount(sets.ids, np.repeat(weights, np.diff(sets.offsets)), minlength=int(first[-1]))
        return cls(matchers, incidence.names, first, sets, weights, starts, rows, frequencies.astype(np.int64))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def terms(self) -> IdArray:
        """The term of each word that is not everywhere, from word ``matchers`` on."""
        return np.repeat(np.arange(len(self.names), dtype=np.int32), np.diff(self.first))

    def occur(self) -> npt.NDArray[np.bool_]:
        """Whether each term occurs; one that is everywhere does."""
        occur: npt.NDArray[np.bool_] = np.diff(self.first) == 0
        occur[self.terms()[self.frequencies[self.matchers :] > 0]] = True
        return occur

    def siblings(self) -> tuple[IntArray, IntArray]:
        """Of each word the first of its term, and the first of the next one."""
        homes = np.arange(self.matchers)
        terms = self.terms()
        return np.concatenate([homes, self.first[terms]]), np.concatenate([homes + 1, self.first[terms + 1]])

    def start(self) -> IdArray:
        """The matcher of each word before anything is placed: -1, but for those that are fixed."""
        placed = np.full(len(self), -1, dtype=np.int32)
        placed[: self.matchers] = np.arange(self.matchers)
        return placed

    def order(self) -> IntArray:
        """The words that are to be placed, those of terms that occur, by falling frequency."""
        order = np.argsort(-self.frequencies[self.matchers :], kind="stable")
        return self.matchers + order[self.occur()[self.terms()[order]]]

    def apart(self, placed: IdArray) -> IdArray:
        """The same with versions of a term at different matchers: one that is not alone goes where least is placed."""
        placed = placed.copy()
        sums = np.bincount(placed[placed >= 0], self.frequencies[placed >= 0], minlength=self.matchers)
        for term in np.flatnonzero(np.diff(self.first) > 1):
            taken: set[int] = set()
            for word in range(self.first[term], self.first[term + 1]):
                if int(placed[word]) in taken:
                    sums[placed[word]] -= self.frequencies[word]
                    placed[word] = min(set(range(self.matchers)) - taken, key=lambda m: (sums[m], m))
                    sums[placed[word]] += self.frequencies[word]
                taken.add(int(placed[word]))
        return placed

    def mapping(self, placed: IdArray) -> Mapping:
        """The mapping that has the words at these matchers; a term that never occurred is left to the hash."""
        counts = np.diff(self.first)
        everywhere = counts == 0
        counts[everywhere] = self.matchers
        terms = np.repeat(np.arange(len(counts)), counts)
        matchers = np.empty(len(terms), dtype=np.int32)
        matchers[everywhere[terms]] = np.tile(np.arange(self.matchers, dtype=np.int32), int(everywhere.sum()))
        matchers[~everywhere[terms]] = placed[self.matchers :]
        numbers = np.flatnonzero(self.occur())
        return Mapping.learned(
            self.names.take(pa.array(numbers)), Owners.of_counts(counts, matchers).taken(numbers), self.matchers
        )


def _versions(incidence: Incidence, first: IntArray, matchers: int) -> TermSets:
    sets = incidence.sets
    offsets, ids = np.zeros(len(sets) + 1, dtype=np.int64), np.empty(len(sets.ids), dtype=np.int32)
    count = kernels.to_words(sets.offsets, sets.ids, incidence.keys, first, matchers, offsets, ids)
    return TermSets(offsets, ids[:count])


def _merged(sets: TermSets, weights: IntArray) -> tuple[TermSets, IntArray]:
    """Each set once, in order of appearance, with the weight of all that equal it."""
    hashes = np.empty(len(sets), dtype=np.uint64)
    kernels.hash_sets(sets.offsets, sets.ids, hashes)
    _, firsts, numbers = np.unique(hashes, return_index=True, return_inverse=True)
    totals = np.bincount(numbers, weights, minlength=len(firsts)).astype(np.int64)
    order = np.argsort(firsts)
    kept = np.zeros(len(sets), dtype=np.bool_)
    kept[firsts] = True
    lengths = np.diff(sets.offsets)
    ids = sets.ids[np.repeat(kept, lengths)]
    return TermSets(np.concatenate([[0], np.cumsum(lengths[kept])]), ids), totals[order]
