"""Are the posts that are kept a fair sample, bounded, and the same when a batch is run again?"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.cluster.notes import Notes, note
from tidings.cluster.seen import Sampler, Seen
from tidings.partitioning.mapping import hash_names


def posts(count: int, start: int = 0) -> pa.Table:
    return pa.table({"id": [f"p{n}" for n in range(start, start + count)], "text": ["fire"] * count})


def ids(table: pa.Table | None) -> list[str]:
    assert table is not None
    names: list[str] = table["id"].to_pylist()
    return names


@given(most=st.integers(1, 40), cuts=st.lists(st.integers(1, 60), min_size=1, max_size=8))
def test_a_sample_does_not_depend_on_how_posts_were_cut_into_batches(most: int, cuts: list[int]) -> None:
    total = sum(cuts)
    whole, pieces = Sampler(most), Sampler(most)
    whole.add(posts(total))
    start = 0
    for count in cuts:
        pieces.add(posts(count, start))
        start += count
    assert sorted(ids(pieces.table())) == sorted(ids(whole.table()))
    assert len(set(ids(whole.table()))) == min(most, total)


def test_a_sample_has_posts_of_all_versions_of_a_split_term() -> None:
    sampler = Sampler(800)
    sampler.add(posts(20_000))
    parts = hash_names(pa.array(ids(sampler.table()))) >> np.uint64(61)
    counts = np.bincount(parts.astype(np.int64), minlength=8)
    assert counts.min() > 60 and counts.sum() == 800


def test_nothing_and_long_texts_are_not_kept() -> None:
    none, sampler = Sampler(0), Sampler(5)
    none.add(posts(3))
    sampler.add(pa.table({"id": ["long", "short", "null"], "text": ["x" * 5_000, "x", None]}))
    assert none.table() is None and ids(sampler.table()) == ["short", "null"]


def test_samples_come_back_in_notes_as_they_were() -> None:
    table = posts(10).append_column("likes", pa.array(range(10), pa.int32()))
    assert Notes.read([note(table)]).seen == (table,)


def test_kept_posts_are_bounded_and_the_oldest_go_first(tmp_path: Path) -> None:
    seen = Seen(tmp_path, most=5_000)
    for batch in range(40):
        seen.put([posts(300, 600 * batch), posts(300, 600 * batch + 300)], batch)
        seen.put([posts(7)], batch)  # run again
    assert 5_000 <= seen.rows <= 6_000
    found = ids(seen.table())
    assert len(found) == len(set(found)) == seen.rows and found[-1] == "p23999"


@pytest.mark.thorough
def test_many_small_batches_become_few_files(tmp_path: Path) -> None:
    seen = Seen(tmp_path)
    for batch in range(450):
        seen.put([posts(3, 3 * batch)], batch)
    assert len(list(tmp_path.iterdir())) <= 101
    assert sorted(ids(seen.table())) == sorted(f"p{n}" for n in range(1350))


def test_columns_that_come_and_go_do_not_stop_it(tmp_path: Path) -> None:
    seen = Seen(tmp_path)
    seen.put([posts(5)], 0)
    seen.put([posts(5, 5).append_column("likes", pa.array([1] * 5))], 1)
    seen.put([posts(5, 10).append_column("likes", pa.array(["many"] * 5))], 2)
    table = seen.table()
    assert ids(table) == [f"p{n}" for n in range(10, 15)]
