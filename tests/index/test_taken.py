"""Does an index give back what it was given? Whoever moves subscriptions elsewhere takes them from it."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from tidings.index import GuardIndex
from tidings.index.guard import FEW
from tidings.index.subscribers import table_of


@pytest.mark.parametrize("count", [30, FEW])
def test_an_index_gives_back_the_living_as_they_came(count: int) -> None:
    rng, index = random.Random(count), GuardIndex()
    rows = {f"s{n}": (f"s{n}", f"of {n}", "t" * (n % 3), f"fire w{n % 9}", n, n, 10**6 + n) for n in range(count)}
    index.change(table_of(list(rows.values())), [])
    rows["s1"] = ("s1", "another", "", "rain", 7, -5, 5)
    index.change(table_of([rows["s1"]]), ["s2", "s3"])
    asked = [f"s{n}" for n in rng.sample(range(count), count // 2)] + ["s1", "s2", "nobody"]
    expected = [rows[name] for name in sorted(set(asked) - {"s2", "s3", "nobody"})]
    for _ in range(2):
        found = index.subscriptions(pa.array(sorted(set(asked)), pa.large_string())).sort_by("id")
        assert list(zip(*(column.to_pylist() for column in found.columns), strict=True)) == expected
        index.compact()
