import numpy as np
import pyarrow as pa
import pytest

from tidings.analysis.fast import FastAnalyser
from tidings.analysis.vocabulary import TermSets, Vocabulary
from tidings.terms.statistics import Statistics


def sets_of(*rows: list[int]) -> TermSets:
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return TermSets(offsets, np.array([i for row in rows for i in row], dtype=np.int32))


def test_ids_are_dense_and_stay() -> None:
    vocabulary = Vocabulary(["b", "a", "b"])
    assert (vocabulary.add("c"), vocabulary.add("b"), len(vocabulary), list(vocabulary)) == (2, 0, 3, ["b", "a", "c"])
    assert "a" in vocabulary and "z" not in vocabulary and vocabulary.find("z") == -1


def test_document_frequency_counts_publications_not_occurrences() -> None:
    fast = FastAnalyser()
    statistics = Statistics()
    statistics.update(fast.analyse(pa.array(["fire fire", "fire smoke", ""])))
    assert statistics.publications == 3
    assert statistics.frequency(fast.vocabulary.find("fire")) == 2
    assert statistics.frequency(fast.vocabulary.find("smoke")) == 1


def test_a_sample_in_parts_counts_as_the_whole() -> None:
    whole, first, second = Statistics(), Statistics(), Statistics()
    whole.update(sets_of([0, 1], [1], [1, 5]))
    first.update(sets_of([0, 1], [1]))
    second.update(sets_of([1, 5]))
    first.merge(second)
    assert first.publications == whole.publications
    assert np.array_equal(first.frequencies, whole.frequencies)
    assert whole.frequency(99) == 0 and whole.frequency(-1) == 0


def test_decay_lets_the_past_weigh_less() -> None:
    statistics = Statistics()
    statistics.update(sets_of(*[[0]] * 10))
    statistics.decay(0.5)
    assert (statistics.publications, statistics.frequency(0)) == (5, 5)
    with pytest.raises(ValueError, match="between 0 and 1"):
        statistics.decay(2)
