from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tests.partitioning.hybrid.toys import workload
from tidings.model import DataError
from tidings.partitioning.hybrid import Workload


def entries(*queries: str) -> list[tuple[int, str, list[float]]]:
    posts = pa.table({"id": ["a", "b", "c"], "text": ["fire smoke", "fires", "smoke fire rain"]})
    work = Workload.of(posts, pa.table({"query": pa.array(queries, pa.string())}))
    names = work.names.to_pylist()
    return [
        (int(query), names[word], box[~np.isnan(box)].tolist())
        for query, word, box in zip(work.entry_query, work.entry_word, work.entry_box, strict=True)
    ]


def test_each_conjunction_is_filed_under_its_rarest_word_in_its_box() -> None:
    assert entries("fire smoke", "fire bounding_box:[0 1 2 3]") == [(0, "smoke", []), (1, "fire", [0, 1, 2, 3])]
    assert entries("(fire OR smoke rain) bounding_box:[0 1 2 3]") == [
        (0, "fire", [0, 1, 2, 3]),
        (0, "rain", [0, 1, 2, 3]),
    ]
    assert entries('"smoke fire" -rain', "wind") == [(0, "smoke", []), (1, "wind", [])]


def test_what_has_no_word_is_filed_under_the_empty_one_and_circles_over_the_date_line_are_two_boxes() -> None:
    assert entries("bounding_box:[0 1 2 3]", "has:price") == [(0, "", [0, 1, 2, 3]), (1, "", [])]
    (first, second) = entries("fire point_radius:[180 0 100km]")
    assert first[:2] == second[:2] == (0, "fire")
    assert sorted([first[2][0] > 179, second[2][0] > 179]) == [False, True]


def test_posts_without_a_place_and_rows_that_are_none_are_told_apart() -> None:
    posts = pa.table(
        {"id": ["a", None, "c"], "text": ["fire", "fire", None], "lon": [1.0, 1.0, None], "lat": [2.0, 2.0, None]}
    )
    work = Workload.of(posts, pa.table({"query": ["fire"]}))
    assert len(work.posts) == 2 and work.lon[0] == 1 and np.isnan(work.lon[1]) and work.posts.row(1).tolist() == []
    assert work.insertions == work.deletions == 1
    assert Workload.of(posts, pa.table({"query": ["fire"]}), deletions=0).deletions == 0


def test_some_posts_are_taken_with_all_queries() -> None:
    work = workload([(1, 1, "a"), (2, 2, "bc")], [[("a", None)]]).taken(np.array([1]))
    assert work.lon.tolist() == [2] and work.posts.row(0).tolist() == [2, 3] and work.insertions == 1


def test_arrays_that_do_not_fit_are_refused() -> None:
    work = workload([(1, 1, "a")], [[("a", None)]])
    parts = {name: getattr(work, name) for name in Workload.__slots__}
    for name, value in [
        ("lon", np.zeros(2)),
        ("entry_word", np.array([99], np.int32)),
        ("entry_query", np.array([1])),
        ("deletions", -1),
        ("names", pa.array(["a"])),
    ]:
        with pytest.raises(DataError):
            Workload(**parts | {name: value})
