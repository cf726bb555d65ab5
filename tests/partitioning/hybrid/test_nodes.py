"""Hand-worked examples of how nodes are weighed, cut, divided and merged."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.partitioning.hybrid.toys import COSTS, GRID, NOWHERE, Query, ground, workloads
from tidings.partitioning.hybrid import space, text
from tidings.partitioning.hybrid.ground import Ground, Node
from tidings.partitioning.hybrid.merging import Merged, merged, numbers_of_parts
from tidings.partitioning.hybrid.workload import Workload
from tidings.partitioning.load import LoadCosts

ALL = (0.0, 0.0, 8.0, 8.0)


def asked(*words: str, box: tuple[float, float, float, float] | None = ALL) -> list[Query]:
    return [[(word, box)] for word in words]


def blocks(nodes: list[Node]) -> list[object]:
    return [node.block for node in nodes]


def words_of(nodes: list[Node]) -> list[list[int]]:
    return [[] if node.words is None else node.words.tolist() for node in nodes]


# ---------------------------------------------------------------------------------------------------------- nodes


def test_only_posts_with_a_word_that_is_asked_for_there_count() -> None:
    field = ground([(1, 1, "ab"), (1, 1, "c"), (6, 6, "a"), (NOWHERE, NOWHERE, "a")], asked("a", "b"))
    node = field.map()
    assert node.sent.tolist() == [0, 2] and node.queries.tolist() == [0, 1]
    assert node.load == 0.01 * 2 * 2 + 1 * 2 + 2 * 2
    south_west = field.within(node, (0, 0, 3, 3))
    assert south_west.sent.tolist() == [0] and south_west.queries.tolist() == [0, 1]


def test_a_query_without_a_word_counts_every_post_and_one_with_several_conjunctions_once() -> None:
    field = ground([(1, 1, "ab"), (1, 1, "c"), (1, 1, "")], [[("", ALL), ("a", ALL)]])
    assert field.map().sent.tolist() == [0, 1, 2] and field.map().queries.tolist() == [0]


def test_what_asks_for_no_place_is_everywhere_and_meets_posts_without_one() -> None:
    field = ground([(1, 1, "a"), (NOWHERE, NOWHERE, "a")], [*asked("a"), *asked("a", box=None)])
    assert field.map().queries.tolist() == [0] and field.map().sent.tolist() == [0]
    assert field.everywhere().queries.tolist() == [1] and field.everywhere().sent.tolist() == [0, 1]


def test_similarity_is_the_cosine_of_counts() -> None:
    field = ground([(1, 1, "a"), (1, 1, "a"), (1, 1, "b")], asked("a", "b", "b"))
    assert field.similarity(field.map()) == pytest.approx(0.8)  # (2, 1) and (1, 2)
    empty = field.within(field.map(), (5, 5, 6, 6))
    assert field.similarity(empty) == 0.0


def test_deletions_are_counted_with_the_queries_that_they_are_of() -> None:
    posts, queries = [(1.0, 1.0, "a")], asked("a", "a")
    field = ground(posts, queries, LoadCosts(pair=0, post=1, insertion=2, deletion=3))
    deleted = Ground(replace(field.workload, deletions=1), GRID, field.costs)
    assert deleted.map().load == field.costs.load(1, 2, 1) == field.map().load + 3


@given(workloads())
def test_every_other_post_and_query_stand_for_two(work: Workload) -> None:
    field = Ground(work, GRID, COSTS)
    one, other = field.every_other(0), field.every_other(1)
    assert len(one.workload.posts) + len(other.workload.posts) == len(work.posts)
    assert len(one.workload.queries) + len(other.workload.queries) == len(work.queries)
    own = [np.flatnonzero(work.entry_query % 2 == n) for n in (0, 1)]
    for half, entries in zip((one, other), own, strict=True):
        assert half.workload.entry_word.tolist() == work.entry_word[entries].tolist()
        assert half.workload.entry_query.tolist() == (work.entry_query[entries] // 2).tolist()
    assert one.load(3, 5) == pytest.approx(replace(field, workload=one.workload).load(6, 10))


@given(workloads())
def test_at_home_each_query_is_in_one_leaf_and_all_posts_that_it_meets_are_sent_there(work: Workload) -> None:
    field = Ground(work, GRID, COSTS, homed=True)
    leaves = space.kd_tree(field, field.map(), 4)
    entries = np.concatenate([leaf.entries for leaf in leaves])
    assert sorted(entries.tolist()) == sorted(np.flatnonzero(~np.isnan(work.entry_box[:, 0])).tolist())
    for leaf in leaves:
        for west, south, east, north in work.entry_box[leaf.entries]:
            (inside,) = np.nonzero((west <= work.lon) & (work.lon <= east) & (south <= work.lat) & (work.lat <= north))
            asked = set(work.entry_word[leaf.entries].tolist())
            for post in inside.tolist():
                words = {0, *work.posts.row(post).tolist()}
                own = leaf.entries[[work.entry_word[e] in words for e in leaf.entries]]
                boxes = work.entry_box[own]
                meets = (boxes[:, 0] <= work.lon[post]) & (work.lon[post] <= boxes[:, 2])
                meets &= (boxes[:, 1] <= work.lat[post]) & (work.lat[post] <= boxes[:, 3])
                assert not (asked & words and meets.any()) or post in leaf.sent


# ---------------------------------------------------------------------------------------------------------- space


def test_a_kd_tree_cuts_where_loads_are_equal_and_the_fewest_queries_lie_across() -> None:
    posts = [(x + 0.5, y + 0.5, "a") for x in (0, 1, 6, 7) for y in (0, 1, 6, 7)]
    tall = [[("a", (x, 0.0, x + 0.9, 8.0))] for x in (0.0, 1.0, 6.0, 7.0)]
    field = ground(posts, tall)
    leaves = space.kd_tree(field, field.map(), 2)  # a cut along y would cost every query twice
    assert sorted(len(leaf.sent) for leaf in leaves) == [8, 8]
    assert [len(leaf.queries) for leaf in leaves] == [2, 2]
    assert blocks(leaves) == [(0, 0, 1, 7), (2, 0, 7, 7)]
    assert len(space.kd_tree(field, field.map(), 4)) == 4


def test_a_kd_tree_of_three_has_leaves_of_equal_loads() -> None:
    posts = [(x + 0.5, 4.0, "a") for x in range(6) for _ in range(10)]
    field = ground(posts, asked("a"), LoadCosts(pair=0, post=1, insertion=0, deletion=0))
    assert sorted(leaf.load for leaf in space.kd_tree(field, field.map(), 3)) == [20, 20, 20]


def test_a_cell_is_not_cut_and_a_node_has_no_more_leaves_than_cells() -> None:
    field = ground([(1, 1, "a")] * 9, asked("a"))
    cell = field.within(field.map(), (1, 1, 1, 1))
    assert space.cut(field, cell) is None and space.kd_tree(field, cell, 5) == [cell]
    assert len(space.kd_tree(field, field.within(field.map(), (1, 1, 2, 1)), 5)) == 2


def test_an_r_tree_has_tiles_of_equally_many_posts_and_no_gaps() -> None:
    posts = [(x + 0.5, y + 0.5, "a") for x in range(4) for y in range(8)]
    field = ground(posts, asked("a"))
    leaves = space.r_tree(field, field.map(), 4)
    assert [len(leaf.posts) for leaf in leaves] == [8, 8, 8, 8]
    assert blocks(leaves) == [(0, 0, 1, 3), (0, 4, 1, 7), (2, 0, 7, 3), (2, 4, 7, 7)]


def test_a_grid_has_every_cell_once_and_matchers_take_neighbours() -> None:
    posts = [(x + 0.5, y + 0.5, "a") for x in range(8) for y in range(8)]
    field = ground(posts, asked("a"), LoadCosts(pair=0, post=1, insertion=0, deletion=0))
    leaves = space.cells(field, field.map())
    assert sorted(map(str, blocks(leaves))) == sorted(str((x, y, x, y)) for x in range(8) for y in range(8))
    owner = space.in_turn(leaves, 4)
    assert np.bincount(owner).tolist() == [16, 16, 16, 16]
    first = [leaf.block for leaf, m in zip(leaves, owner, strict=True) if m == 0 and leaf.block is not None]
    assert max(block[0] for block in first) < 4 and max(block[1] for block in first) < 4  # a quarter of the map


def test_a_median_cut_has_half_the_posts_on_either_side() -> None:
    field = ground([(x + 0.5, 1, "a") for x in range(8)], asked("a"))
    (along,) = [pair for pair in space.median_cuts(field, field.map()) if pair[0].block == (0, 0, 3, 7)]
    assert [len(half.posts) for half in along] == [4, 4]


# ---------------------------------------------------------------------------------------------------------- text


def test_by_frequency_each_word_goes_to_the_least_sum_so_far() -> None:
    posts = [(1, 1, word) for word, count in zip("abcd", (5, 4, 3, 3), strict=True) for _ in range(count)]
    field = ground(posts, asked(*"abcd"))
    leaves = text.divided(field, field.whole(), 2, text.by_frequency)
    assert words_of(leaves) == [[1, 4], [2, 3]]


def test_a_hypergraph_and_a_metric_keep_words_together_that_meet() -> None:
    posts = [(1, 1, "ab")] * 20 + [(1, 1, "cd")] * 20
    field = ground(posts, asked(*"abcd"))
    pytest.importorskip("pymetis")
    for divide in (text.by_hypergraph, text.by_metric):
        leaves = text.divided(field, field.whole(), 2, divide)
        assert sorted(words_of(leaves)) == [[1, 2], [3, 4]]
        assert [len(leaf.sent) for leaf in leaves] == [20, 20]
    assert sum(len(leaf.sent) for leaf in text.divided(field, field.whole(), 2, text.by_frequency)) == 80


def test_words_of_one_query_are_not_kept_together_since_those_to_come_have_others() -> None:
    # Each word has a post of its own. a and b file the same ten queries; c and d three and two others.
    both: Query = [("a", ALL), ("b", ALL)]
    field = ground([(1, 1, word) for word in "abcd"], [*[both] * 10, *asked(*"cccdd")])
    leaves = text.divided(field, field.whole(), 2)
    assert sorted(words_of(leaves)) == [[1, 3], [2, 4]]
    assert sorted(len(leaf.queries) for leaf in leaves) == [12, 13]


def test_a_metric_divides_queries_where_there_are_no_posts() -> None:
    field = ground([], asked(*"aabbccdd"))
    leaves = text.divided(field, field.whole(), 2, text.by_metric)
    assert [len(leaf.queries) for leaf in leaves] == [4, 4]


def test_there_are_no_more_shares_than_words() -> None:
    field = ground([(1, 1, "a")], asked("a", "b"))
    assert words_of(text.divided(field, field.map(), 5)) == [[1], [2]]
    one = text.divided(field, field.map(), 2)[0]
    assert text.divided(field, one, 2) == [one] and one.block == (0, 0, 7, 7) and not one.is_whole


# ---------------------------------------------------------------------------------------------------------- merging


def counted(field: Ground, leaves: list[Node], owner: list[int], matchers: int) -> list[float]:
    """The loads of matchers, by sets."""
    posts: list[set[int]] = [set() for _ in range(matchers)]
    queries: list[set[int]] = [set() for _ in range(matchers)]
    for leaf, m in zip(leaves, owner, strict=True):
        posts[m] |= set(leaf.sent.tolist())
        queries[m] |= set(leaf.queries.tolist())
    return [field.load(len(p), len(q)) for p, q in zip(posts, queries, strict=True)]


def test_two_leaves_of_a_matcher_have_a_query_once() -> None:
    wide, posts = [[("a", (0.0, 0.0, 8.0, 8.0))]], [(1.0, 1.0, "a"), (7.0, 1.0, "a"), (7.0, 7.0, "a")]
    field = ground(posts, wide, LoadCosts(pair=0, post=1, insertion=10, deletion=0))
    leaves = [field.within(field.map(), block) for block in ((0, 0, 3, 7), (4, 0, 7, 3), (4, 4, 7, 7))]
    assert [leaf.load for leaf in leaves] == [11, 11, 11]
    found = merged(field, leaves, 1)
    assert found.loads.tolist() == [13] and found.owner.tolist() == [0, 0, 0]


def test_a_leaf_goes_where_the_load_grows_least_unless_that_is_less_even() -> None:
    # Leaf 0 (6 posts) and leaf 2 (2 posts) have query a, leaf 1 (5 posts) and leaf 3 (1 post) query b.
    posts = [
        (x + 0.5, 1.0, word) for x, word, n in ((0, "a", 6), (2, "b", 5), (4, "a", 2), (6, "b", 1)) for _ in range(n)
    ]
    field = ground(posts, asked("a", "b"), LoadCosts(pair=0, post=1, insertion=10, deletion=0))
    root = field.map()
    leaves = [leaf for x in (0, 2, 4, 6) for leaf in text.divided(field, field.within(root, (x, 0, x + 1, 7)), 2)]
    leaves = [leaf for leaf in leaves if len(leaf.sent)]
    assert [leaf.load for leaf in leaves] == [16, 15, 12, 11]
    found = merged(field, leaves, 2)
    # 16 and 15 first; 12 to matcher 0 grows by 2 (18:15 is less even than 16:15), so to the least loaded: 15 + 12;
    # 11 to matcher 1 grows by 1 (28:16, less even), so to matcher 0: 16 + 11.
    assert found.owner.tolist() == [0, 1, 1, 0] and found.loads.tolist() == [27, 27]
    assert found.unevenness == 1.0


@examples(60)
@given(workloads(), st.integers(1, 9))
def test_loads_of_merged_leaves_are_those_of_their_sets(work: Workload, matchers: int) -> None:
    field = Ground(work, GRID, COSTS)
    leaves = [leaf for part in space.kd_tree(field, field.map(), 3) for leaf in text.divided(field, part, 2)]
    found = merged(field, leaves, matchers)
    assert found.loads.tolist() == pytest.approx(counted(field, leaves, found.owner.tolist(), matchers))
    assert np.count_nonzero(found.loads) == min(matchers, sum(leaf.load > 0 for leaf in leaves))


def test_unevenness_without_any_load_is_none() -> None:
    assert Merged(np.zeros(0, np.int32), np.zeros(3)).unevenness == 1.0
    assert Merged(np.zeros(0, np.int32), np.array([0.0, 2.0])).unevenness == np.inf


# ---------------------------------------------------------------------------------------------------------- parts


@given(st.data())
def test_the_dynamic_programme_finds_what_trying_all_finds(data: st.DataObject) -> None:
    nodes = data.draw(st.integers(1, 4))
    parts = data.draw(st.integers(nodes, nodes + 4))
    most = parts - nodes + 1
    costs = np.array(
        data.draw(st.lists(st.lists(st.integers(0, 99), min_size=most, max_size=most), min_size=nodes, max_size=nodes))
    )
    numbers = numbers_of_parts(costs.astype(np.float64), parts)
    every = [ks for ks in product(range(1, most + 1), repeat=nodes) if sum(ks) == parts]
    least = min(sum(costs[i, k - 1] for i, k in enumerate(ks)) for ks in every)
    assert numbers.sum() == parts and sum(costs[i, k - 1] for i, k in enumerate(numbers)) == least


def test_blocks_of_space_partitionings_are_apart_and_have_all_cells() -> None:
    rng = np.random.default_rng(1)
    field = ground([(*rng.uniform(0, 8, 2).tolist(), "a") for _ in range(50)], asked("a"))
    for leaves in (space.kd_tree(field, field.map(), 7), space.r_tree(field, field.map(), 9)):
        cells = [
            {(x, y) for x in range(w, e + 1) for y in range(s, n + 1)}
            for w, s, e, n in (leaf.block for leaf in leaves if leaf.block is not None)
        ]
        assert sum(map(len, cells)) == 64 and all(not a & b for a, b in combinations(cells, 2))
