"""Are divisions made better, and never worse, by moving and cutting leaves? And are nested leaves a mapping?"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.partitioning.hybrid.test_nodes import asked, counted
from tests.partitioning.hybrid.toys import COSTS, GRID, ground, workloads
from tidings.partitioning.gridt.gridt import Block, Gridt
from tidings.partitioning.hybrid import space, text
from tidings.partitioning.hybrid.ground import Ground, Node
from tidings.partitioning.hybrid.growing import cheapest_halves, grown
from tidings.partitioning.hybrid.leaves import KdtLeaves, tiles
from tidings.partitioning.hybrid.merging import refined
from tidings.partitioning.hybrid.workload import Workload
from tidings.partitioning.load import LoadCosts
from tidings.partitioning.mapping import hash_names


def parts(field: Ground) -> list[Node]:
    return [leaf for part in space.kd_tree(field, field.map(), 4) for leaf in text.divided(field, part, 2)]


def test_a_leaf_moves_to_where_its_queries_are() -> None:
    posts = [(x + 0.5, 1.0, word) for x, word in ((0, "a"), (2, "a"), (4, "b"), (6, "b"))]
    field = ground(posts, asked("a", "b"), LoadCosts(pair=0, post=1, insertion=10, deletion=0))
    root = field.map()
    leaves = [leaf for x in (0, 2, 4, 6) for leaf in text.divided(field, field.within(root, (x, 0, x + 1, 7)), 2)]
    leaves = [leaf for leaf in leaves if len(leaf.sent)]
    found = refined(
        field, leaves, 2, np.array([0, 1, 0, 1], dtype=np.int32)
    )  # each matcher has both queries: 22 and 22
    assert found.loads.tolist() == [12, 12] and len({tuple(found.owner[:2]), tuple(found.owner[2:])}) == 2


@examples(60)
@given(workloads(), st.integers(1, 5), st.integers(0, 99))
def test_moves_never_raise_the_sum_of_powers_and_loads_are_those_of_their_sets(
    work: Workload, matchers: int, seed: int
) -> None:
    field = Ground(work, GRID, COSTS)
    leaves = parts(field)
    owner = np.random.default_rng(seed).integers(matchers, size=len(leaves)).astype(np.int32)
    found = refined(field, leaves, matchers, owner)
    assert found.loads.tolist() == pytest.approx(counted(field, leaves, found.owner.tolist(), matchers))
    power = np.sum(np.array(counted(field, leaves, owner.tolist(), matchers)) ** 6)
    assert np.sum(found.loads**6) <= power * (1 + 1e-9) + 1e-9
    stages = list(grown(field, leaves, found.owner, matchers, 16))
    powers = [np.sum(found.loads**6), *(np.sum(more.loads**6) for _, more in stages)]
    assert all(after <= before * (1 + 1e-9) + 1e-9 for before, after in pairwise(powers))
    sizes = [len(nodes) for nodes, _ in stages]
    assert sizes[0] == len(leaves) and sizes[-1] <= max(16, len(leaves)) and sizes == sorted(set(sizes))
    assert all(after >= 2 * before for before, after in pairwise(sizes[:-1]))


def test_new_words_are_divided_as_known_words_are() -> None:
    field = ground([(1, 1, "a")], asked(*"abcdefgh"))
    nodes = text.divided(field, field.map(), 8)
    owner = np.array([0] * 7 + [1], dtype=np.int32)
    mapping = KdtLeaves(field, nodes, owner, 2).mapping()
    assert len(nodes) == 8 and isinstance(mapping.parcels, Gridt)
    new = hash_names(pa.array([f"new {n}" for n in range(1_000)], pa.large_string()))
    own = mapping.owner[mapping.parcels.parcels_of(np.full(1_000, mapping.parcels.region[0], dtype=np.int32), new)]
    assert np.count_nonzero(own) == pytest.approx(1_000 * (1 + 1) / (8 + 2), abs=50)  # 1 word of 8, and one more each
    for n, node in enumerate(nodes):
        hashes = hash_names(field.workload.names.take(pa.array(node.words)))
        regions = np.full(len(hashes), mapping.parcels.region[0], dtype=np.int32)
        assert np.all(mapping.owner[mapping.parcels.parcels_of(regions, hashes)] == owner[n])


def test_what_cannot_be_cut_is_left_alone() -> None:
    field = ground([(1, 1, "a")], asked("a", box=(1.0, 1.0, 1.0, 1.0)))
    cell = field.within(field.map(), (1, 1, 1, 1))
    assert cheapest_halves(field, cell) == []
    [(nodes, found)] = grown(field, [cell], np.zeros(1, dtype=np.int32), 2, 9)
    assert nodes == [cell] and np.count_nonzero(found.loads) == 1


def cells(block: Block) -> set[tuple[int, int]]:
    west, south, east, north = block
    return {(x, y) for x in range(west, east + 1) for y in range(south, north + 1)}


@given(workloads(), st.integers(2, 9))
def test_tiles_have_every_cell_once_and_each_leaf_has_all_of_a_tile_or_nothing(work: Workload, count: int) -> None:
    field = Ground(work, GRID, COSTS)
    halves = text.divided(field, field.map(), 2)
    leaves = [leaf for half in halves for leaf in space.kd_tree(field, half, count)]
    placed = [(n, leaf.block) for n, leaf in enumerate(leaves) if leaf.block is not None]
    found = tiles((0, 0, 7, 7), placed)
    assert sum(len(cells(block)) for block, _ in found) == 64 == len(set().union(*(cells(b) for b, _ in found)))
    for block, own in found:
        for n, other in placed:
            assert (n in own) == bool(cells(block) & cells(other)) == (cells(block) <= cells(other))
