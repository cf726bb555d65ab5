"""Which terms stand for labels, one by one and many at once."""

from __future__ import annotations

import numpy as np

from tidings.terms.dictionary import Dictionary


def test_many_labels_have_the_terms_of_one_by_one() -> None:
    labels = np.random.default_rng(1).integers(1, 2**62, 500, dtype=np.uint64) * np.uint64(2)
    terms, others = Dictionary(), Dictionary()
    known = [terms.cell(label) for label in labels[:100].tolist()]
    found = terms.many_cells(np.concatenate([labels, labels[:50]]))
    assert found[:100].tolist() == known and found[500:].tolist() == known[:50]
    assert found.tolist() == [terms.cell(label) for label in [*labels.tolist(), *labels[:50].tolist()]]
    assert len(terms) == 1 + len(set(labels.tolist())) == 1 + len(set(found.tolist()))
    slot = ("volume", False)
    alone = [others.interval(slot, label) for label in labels.tolist()]
    assert others.many_intervals(slot, labels).tolist() == alone
    leaves = labels | np.uint64(2)
    for table in (terms.cells, others.intervals[slot]):
        rows, _ = table.above(leaves)
        assert len(np.unique(rows)) == len(np.unique(leaves[rows]))
