"""One publication: kernels that are given addresses must be given the right ones, and see the same as for many."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from tidings.arrays.packs import Pack
from tidings.index import GuardIndex
from tidings.language import parse
from tidings.model import Publication, Subscription
from tidings.terms.reader import POST

QUERIES = (
    "fire", "fire smoke rain", "smoke -wind", '"fire smoke"', "has:volume", "volume:>3", "volume:>3 fire", "topic:news",
    "volume:<3 volume:>800", "volume:[2 TO 3]", "volume:[1 TO 6] -symbol:B", "volume:{3 TO 901}", "symbol:A symbol:B",
    "fi*", "symbol:A", "bounding_box:[0 0 10 10]", "fire bounding_box:[0 0 10 10]", "point_radius:[5 5 100km] OR wind",
)  # fmt: skip
POSTS = [
    Publication("words", "Fire, smoke and rain"),
    Publication("nothing"),
    Publication("place", "fire", lon=5.0, lat=5.0),
    Publication("far", "wind", lon=50.0, lat=5.0),
    Publication("number", "fire smoke", attributes={"volume": 5, "symbol": "A"}),
    Publication("low", attributes={"volume": 1}, topics=("news/sports",)),
    Publication("several", "fire", attributes={"volume": (1, 5, 900), "symbol": ("B", "A", "A")}),
    Publication("several low", "fire", attributes={"volume": (1, 2), "symbol": ("B",)}),
]


@pytest.mark.parametrize(
    "array",
    [np.zeros(3, dtype=np.int32), np.zeros((2, 6), dtype=np.int64)[:, ::2]],
    ids=["another type", "not side by side"],
)
def test_a_pack_refuses_what_a_kernel_would_misread(array: npt.NDArray[Any]) -> None:
    with pytest.raises(TypeError, match="contiguous array of int64"):
        Pack(POST[:1], [array])


def test_a_pack_keeps_its_arrays() -> None:
    numbers = np.arange(3)
    pack = Pack(POST[:1], [numbers])
    assert pack.arrays[0] is numbers and pack.at.tolist() == [numbers.ctypes.data, 3]


@pytest.mark.parametrize("is_old", [False, True], ids=["recent", "in a segment"])
def test_each_kind_of_query_is_found_by_one_publication_as_by_many(is_old: bool) -> None:
    index = GuardIndex()
    index.add([Subscription(query, parse(query)) for query in QUERIES])
    if is_old:
        index.compact()
    table = pa.table(
        {
            "id": [post.id for post in POSTS],
            "text": [post.text for post in POSTS],
            "lon": [post.lon for post in POSTS],
            "lat": [post.lat for post in POSTS],
            "volume": pa.array([post.values("volume") for post in POSTS], pa.list_(pa.int64())),
            "symbol": [post.values("symbol") for post in POSTS],
            "topic": [post.topics[0] if post.topics else None for post in POSTS],
        }
    )
    together = {(POSTS[row].id, name) for row, name in index.match(table).pairs()}
    for _ in range(2):  # the second time nothing may be left of the first
        singly = [(match.publication_id, match.subscription_id) for post in POSTS for match in index.match_one(post)]
        assert sorted(singly) == sorted(together)
    assert len(index.match(table)) == len(together)
    assert {query for _, query in together} >= {"fire smoke rain", '"fire smoke"', "volume:>3 fire", "symbol:A"}


def test_one_publication_with_more_matches_than_there_is_room_for_has_them_all() -> None:
    index = GuardIndex()
    index.add([Subscription(f"s{i}", parse(f"fire -w{i}")) for i in range(50)])
    scratch = index._readers.scratch(index.snapshot.state.terms)
    scratch.widen(4)
    assert len(index.match_one(Publication("p", "fire"))) == 50
