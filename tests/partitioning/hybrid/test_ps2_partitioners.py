"""What every partitioner of [PS2] keeps, and what the hybrid is for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.partitioning.hybrid.toys import COSTS, GRID, NOWHERE, Post, Query, workload, workloads
from tidings.model import DataError
from tidings.partitioning import Mapping
from tidings.partitioning.gridt import Gridt
from tidings.partitioning.hybrid import Hybrid, KdtLeaves, PaperHybrid, Space, Text, Workload, measure
from tidings.partitioning.hybrid.ground import Ground
from tidings.partitioning.load import LoadCosts
from tidings.partitioning.mapping import hash_names

SMALL = LoadCosts(pair=0.01, post=1, insertion=2, deletion=1)
PARTITIONERS: dict[str, Callable[[Workload, int], KdtLeaves]] = {
    "frequency": Text(method="frequency", costs=SMALL).leaves,
    "hypergraph": Text(method="hypergraph", costs=SMALL).leaves,
    "metric": Text(costs=SMALL).leaves,
    "grid": Space(method="grid", level=3, costs=SMALL).leaves,
    "kd-tree": Space(costs=SMALL).leaves,
    "r-tree": Space(method="r-tree", costs=SMALL).leaves,
    "kd-tree, at home": Space(costs=SMALL, homed=True).leaves,
    "hybrid": Hybrid(costs=SMALL, level=3).leaves,
    "as in the paper": PaperHybrid(costs=SMALL, fewest=2, level=3).leaves,
}


def gridt_of(mapping: Mapping) -> Gridt:
    assert isinstance(mapping.parcels, Gridt)
    return mapping.parcels


def places_of(mapping: Mapping, work: Workload) -> tuple[list[set[int]], list[set[int]]]:
    """The matchers of each post and of each query, one by one as [PS2] IV-C says."""
    gridt, hashes = gridt_of(mapping), hash_names(work.names)

    def matcher(region: int, word: int) -> int:
        parcel = gridt.parcels_of(np.array([region], np.int32), hashes[word : word + 1])[0]
        return int(mapping.owner[parcel])

    subscribed: set[tuple[int, int]] = set()
    homes: list[set[int]] = [set() for _ in range(work.insertions)]
    for query, word, box in zip(work.entry_query, work.entry_word, work.entry_box, strict=True):
        has_box = not np.isnan(box[0])
        regions = gridt.regions_of(box[None] if has_box else np.zeros((0, 4)), np.array([0, int(has_box)])).ids
        for region in regions.tolist():
            subscribed.add((region, int(word)))
            homes[query].add(matcher(region, int(word)))
    routes = []
    cells = gridt.grid.cells(work.lon, work.lat).tolist()
    for i, cell in enumerate(cells):
        own = {0, int(gridt.region[cell]) if cell >= 0 else 0}
        own |= {beside for region in own for beside in range(*gridt.borders[region : region + 2].tolist())}
        pairs = {(region, word) for region in own for word in (0, *work.posts.row(i).tolist())}
        routes.append({matcher(*pair) for pair in pairs & subscribed})
    return routes, homes


def meeting(work: Workload, word: int, box: npt.NDArray[np.float64]) -> list[int]:
    """The posts that have the word and lie in the box."""
    west, south, east, north = box
    places = zip(work.lon, work.lat, strict=True)
    inside = [bool(np.isnan(west)) or (west <= lon <= east and south <= lat <= north) for lon, lat in places]
    return [i for i, own in enumerate(inside) if own and (word == 0 or word in work.posts.row(i))]


@pytest.mark.parametrize("name", PARTITIONERS)
@examples(15)
@given(work=workloads(), matchers=st.sampled_from([1, 2, 3, 8, 20]))
def test_posts_meet_what_they_answer_and_are_counted_so(name: str, work: Workload, matchers: int) -> None:
    if name == "hypergraph":
        pytest.importorskip("pymetis")
    mapping = PARTITIONERS[name](work, matchers).mapping()
    routes, homes = places_of(mapping, work)
    for query, word, box in zip(work.entry_query, work.entry_word, work.entry_box, strict=True):
        for i in meeting(work, word, box):
            assert routes[i] & homes[query]
    found = measure(mapping, work)
    assert found.posts.tolist() == [sum(m in route for route in routes) for m in range(matchers)]
    assert found.queries.tolist() == [sum(m in home for home in homes) for m in range(matchers)]
    assert found.dropped == sum(not route for route in routes)
    again = PARTITIONERS[name](work, matchers).mapping()
    assert again == mapping and hash(again) == hash(mapping)


@pytest.mark.parametrize("name", PARTITIONERS)
@examples(15)
@given(learned=workloads(), work=workloads(), matchers=st.sampled_from([2, 3, 8]))
def test_posts_meet_what_they_answer_by_a_mapping_that_was_learned_from_others(
    name: str, learned: Workload, work: Workload, matchers: int
) -> None:
    if name == "hypergraph":
        pytest.importorskip("pymetis")
    routes, homes = places_of(PARTITIONERS[name](learned, matchers).mapping(), work)
    for query, word, box in zip(work.entry_query, work.entry_word, work.entry_box, strict=True):
        for i in meeting(work, word, box):
            assert routes[i] & homes[query]


@pytest.mark.parametrize("name", PARTITIONERS)
@examples(15)
@given(work=workloads(), matchers=st.integers(1, 9))
def test_leaves_promise_what_is_measured(name: str, work: Workload, matchers: int) -> None:
    if name == "hypergraph":
        pytest.importorskip("pymetis")
    leaves = PARTITIONERS[name](work, matchers)
    posts: list[set[int]] = [set() for _ in range(matchers)]
    queries: list[set[int]] = [set() for _ in range(matchers)]
    for node, m in zip(leaves.nodes, leaves.owner.tolist(), strict=True):
        posts[m] |= set(node.sent.tolist())
        queries[m] |= set(node.queries.tolist())
    found = measure(leaves.mapping(), work)
    assert found.queries.tolist() == list(map(len, queries))
    assert all(own <= len(told) for own, told in zip(found.posts.tolist(), posts, strict=True))


def two_regions() -> tuple[list[Post], list[Query]]:
    """[PS2] Fig. 2. West: wide boxes, and rare words beside a frequent one. East: one word, and small boxes."""
    west: list[Post] = [(x + 0.5, y + 0.5, word + "g") for x in range(4) for y in range(8) for word in "abcdef"]
    east: list[Post] = [(x + 0.5, y + 0.5, "h") for x in range(4, 8) for y in range(8) for _ in range(6)]
    wide: list[Query] = [[(word, (0.0, 0.0, 3.4, 8.0))] for word in "abcdef" for _ in range(32)]
    small: list[Query] = [
        [("h", (x + 0.2, y + 0.2, x + 0.8, y + 0.8))] for x in range(4, 8) for y in range(8) for _ in range(6)
    ]
    return west + east, wide + small


@pytest.mark.parametrize(
    "partitioner", [Hybrid(costs=COSTS, level=3), PaperHybrid(costs=COSTS, dissimilar=0.9, fewest=10, level=3)]
)
def test_the_hybrid_divides_words_in_one_region_and_places_in_the_other(partitioner: Hybrid | PaperHybrid) -> None:
    work = workload(*two_regions())
    leaves = partitioner.leaves(work, 4)
    found = measure(leaves.mapping(), work)
    assert found.post_copies == found.query_copies == 1 and found.dropped == 0  # nothing can be better
    loads = found.loads(COSTS)
    assert loads.max() / loads.min() <= 1.1
    by_text = [node for node in leaves.nodes if node.words is not None]
    by_space = [node for node in leaves.nodes if node.is_whole]
    assert by_text and all(node.block is not None and node.block[2] <= 3 for node in by_text)
    assert sum(node.block is not None and node.block[0] >= 3 for node in by_space) > 1
    for base in (Text(costs=COSTS), Space(costs=COSTS)):
        other = measure(base.partition(work, 4), work).loads(COSTS)
        assert other.max() > 1.2 * loads.max()


def test_a_query_at_home_is_kept_once_and_posts_near_the_border_are_sent_to_both_sides() -> None:
    posts: list[Post] = [(x + 0.5, 0.5, "a") for x in range(8)]
    small: list[Query] = [[("a", (x + 0.2, 0.0, x + 0.8, 0.9))] for x in (0, 1, 4, 6, 7)]
    across: Query = [("a", (2.2, 0.0, 4.8, 0.9))]  # the columns 2 to 4, so home is in 3
    work = workload(posts, [*small, across])
    expected = {False: ([4, 3], [3, 4]), True: ([5, 3], [3, 3])}  # posts and queries in the west and in the east
    for homed, (sent, kept) in expected.items():
        field = Ground(work, GRID, COSTS, homed=homed)
        nodes = [field.within(field.map(), block) for block in ((0, 0, 3, 7), (4, 0, 7, 7))]
        assert [len(node.sent) for node in nodes] == sent and [len(node.queries) for node in nodes] == kept
        mapping = KdtLeaves(field, nodes, np.arange(2, dtype=np.int32), 2).mapping()
        found = measure(mapping, work)
        assert found.posts.tolist() == sent and found.queries.tolist() == kept
        # The other way round nothing reached beyond its home: there is no border, and both sides keep it.
        other: Query = [("a", (3.2, 0.0, 5.8, 0.9))]
        assert measure(mapping, workload(posts, [other])).queries.tolist() == [1, 1]


def test_where_posts_and_queries_are_dissimilar_the_paper_divides_words_even_if_places_are_cheaper() -> None:
    posts = [(x + 0.5, y + 0.5, "ab") for x in range(8) for y in range(8)]
    queries: list[Query] = [[("a", (p[0], p[1], p[0], p[1]))] for p in posts]
    queries.append([("b", (0.0, 0.0, 0.1, 0.1))])
    work = workload(posts, queries)
    strict = PaperHybrid(costs=COSTS, dissimilar=1, minor=2, level=3).leaves(work, 2)
    ours = Hybrid(costs=COSTS, level=3).leaves(work, 2)
    assert all(node.words is not None for node in strict.nodes) and all(node.is_whole for node in ours.nodes)
    assert measure(ours.mapping(), work).loads(COSTS).max() < measure(strict.mapping(), work).loads(COSTS).max()


def test_nodes_are_cut_until_the_loads_are_even_or_there_are_too_many() -> None:
    posts: list[Post] = [(x + 0.5, 0.5, "a") for x in range(8) for _ in range(1 + 5 * (x < 3))]
    work = workload(posts, [[("a", (0.0, 0.0, 8.0, 1.0))]])
    few, many = (
        PaperHybrid(costs=COSTS, dissimilar=0, level=3, most=most, uneven=1.01).leaves(work, 3) for most in (1, 9)
    )
    assert len(few.nodes) == 3 < len(many.nodes) <= 27
    assert measure(many.mapping(), work).loads(COSTS).max() <= measure(few.mapping(), work).loads(COSTS).max()


@pytest.mark.parametrize("name", PARTITIONERS)
def test_nothing_to_learn_from_gives_a_mapping_for_all_that_may_come(name: str) -> None:
    if name == "hypergraph":
        pytest.importorskip("pymetis")
    for empty in (workload([], []), workload([(1, 1, "a")], []), workload([], [[("a", None)]])):
        mapping = PARTITIONERS[name](empty, 5).mapping()
        parcels = gridt_of(mapping).parcels_of(
            np.zeros(64, np.int32), hash_names(pa.array([str(n) for n in range(64)]))
        )
        assert len(set(mapping.owner[parcels].tolist())) == 5  # words that come later are divided between all


def test_a_region_without_posts_and_boxes_over_the_earth_are_at_home_somewhere() -> None:
    earth, far = (-180.0, -90.0, 180.0, 90.0), (-180.0, 80.0, 180.0, 90.0)
    posts: list[Post] = [(x + 0.5, y + 0.5, "ab") for x in range(8) for y in range(8)]
    queries: list[Query] = [[("a", earth)], [("b", far)], [("b", (1.0, 1.0, 2.0, 2.0))], [("c", None)]]
    work = workload([*posts, (NOWHERE, NOWHERE, "abc")], queries)
    for name, leaves in PARTITIONERS.items():
        if name == "hypergraph":
            pytest.importorskip("pymetis")
        found = measure(leaves(work, 4).mapping(), work)
        assert found.queries.sum() >= 4 and found.posts.sum() >= 65


def test_more_matchers_than_leaves_leave_some_without_work() -> None:
    work = workload([(1, 1, "a")], [[("a", (1.0, 1.0, 1.0, 1.0))]])
    for leaves in PARTITIONERS.values():
        mapping = leaves(work, 9).mapping()
        assert mapping.matchers == 9 and np.count_nonzero(measure(mapping, work).posts) == 1


def test_numbers_and_methods_that_cannot_be_are_refused() -> None:
    work = workload([], [])
    for partitioner in (Text(), Space(), Hybrid(), PaperHybrid()):
        with pytest.raises(DataError, match="1 to 256 matchers"):
            partitioner.leaves(work, 0)
    with pytest.raises(DataError, match="frequency, hypergraph, metric"):
        Text(method="length")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="grid, kd-tree, r-tree"):
        Space(method="quadtree")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="between 0 and 1"):
        PaperHybrid(dissimilar=2)
    with pytest.raises(DataError, match="1 leaf or more"):
        Hybrid(most=0)
    with pytest.raises(DataError, match="NamedParcels"):
        measure(Mapping.hashed(4), work)


def test_a_grid_is_over_the_posts_and_of_the_given_level() -> None:
    work = workload([(1, 1, "a"), (3, 2, "a")], [])
    assert Ground.of(work, COSTS, 5).grid.side == 32 and Ground.of(work, COSTS, 5).grid.east == 3
