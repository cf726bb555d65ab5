"""Does the rule of covers keep its law for any area, and do the compiled covers follow the rule?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.examples import examples
from tests.terms.plain_cover import Span, Touched, bounded_cover
from tests.terms.test_cells import regions
from tests.terms.test_intervals import ranges
from tidings.model import Circle, Rectangle, Region
from tidings.terms import cells, intervals
from tidings.terms.cover import bounded_covers
from tidings.terms.labels import (
    MAX_DEPTH,
    ROOT,
    bit_label,
    children,
    common_ancestor,
    contains,
    depth_of,
    descendants,
)

SMALL_DEPTH = 6
"""Areas are unions of the 64 nodes at this depth, so that an area can be asked exhaustively."""


@dataclass(frozen=True)
class Tiles:
    tiles: frozenset[int]
    step: int

    def tightest(self, label: int) -> int | None:
        ends = [end for tile in self.tiles for end in descendants(tile) if contains(label, end)]
        return reduce(lambda a, b: common_ancestor(a, b, self.step), ends) if ends else None

    def holds(self, label: int) -> bool:
        if depth_of(label) >= SMALL_DEPTH:
            return any(contains(tile, label) for tile in self.tiles)
        return all(self.holds(child) for child in children(label))


@st.composite
def areas(draw: st.DrawFn) -> Tiles:
    numbers = draw(st.sets(st.integers(0, 2**SMALL_DEPTH - 1), min_size=1))
    tiles = frozenset(bit_label(number, SMALL_DEPTH) for number in numbers)
    return Tiles(tiles, draw(st.sampled_from([1, 2])))


sizes = st.integers(1, 70)


def covered(cover: list[int], label: int) -> bool:
    return any(contains(node, label) for node in cover)


@given(areas(), sizes)
def test_a_cover_covers_everything_within_its_bound(area: Tiles, max_nodes: int) -> None:
    cover = bounded_cover(area, max_nodes, area.step)
    assert 1 <= len(cover) <= max_nodes
    assert all(covered(cover, tile) for tile in area.tiles)


@given(areas(), sizes)
def test_a_cover_is_sorted_disjoint_and_made_of_whole_steps(area: Tiles, max_nodes: int) -> None:
    cover = bounded_cover(area, max_nodes, area.step)
    assert all(descendants(a)[1] < descendants(b)[0] for a, b in pairwise(cover))
    assert all(depth_of(node) % area.step == 0 for node in cover)


@given(areas(), sizes, sizes)
def test_a_larger_bound_never_makes_a_cover_looser(area: Tiles, fewer: int, more: int) -> None:
    loose = bounded_cover(area, fewer, area.step)
    tight = bounded_cover(area, fewer + more, area.step)
    assert all(covered(loose, node) for node in tight)


@given(areas())
def test_with_room_enough_a_cover_is_the_area(area: Tiles) -> None:
    assert all(area.holds(node) for node in bounded_cover(area, 2**SMALL_DEPTH, area.step))


@given(areas(), sizes)
def test_siblings_that_are_all_there_are_merged(area: Tiles, max_nodes: int) -> None:
    cover = set(bounded_cover(area, max_nodes, area.step))
    parents = {common_ancestor(a, b, area.step) for a in cover for b in cover if a < b}
    assert not any(cover.issuperset(children(parent, area.step)) for parent in parents)


def test_splits_that_took_nothing_away_are_undone() -> None:
    all_but_the_first = Tiles(frozenset(bit_label(number, SMALL_DEPTH) for number in range(1, 64)), step=2)
    assert bounded_cover(all_but_the_first, 4, step=2) == [ROOT]


def test_the_cover_of_everything_is_the_root_and_that_of_nothing_is_empty() -> None:
    everything = Tiles(frozenset(bit_label(number, SMALL_DEPTH) for number in range(64)), step=1)
    assert bounded_cover(everything, 1) == [ROOT]
    assert bounded_cover(Tiles(frozenset(), step=1), 1) == []


def test_one_leaf_is_its_own_cover() -> None:
    leaf = bit_label(5, MAX_DEPTH)
    assert bounded_cover(Tiles(frozenset({leaf}), step=2), 8, step=2) == [leaf]


@examples(1000)  # numba compiles at the first call
@given(regions, sizes)
@example(Circle(179.9, 10, 50_000), 8)
@example(Rectangle(-90, -45, 90, 90), 8)
def test_the_compiled_cover_of_a_region_is_the_plain_one(region: Region, max_cells: int) -> None:
    assert cells.cover(region, max_cells) == bounded_cover(Touched.by(region), max_cells, step=2)


@examples(1000)
@given(ranges(), sizes)
def test_the_compiled_cover_of_a_range_is_the_plain_one(
    ends: tuple[float | None, float | None], max_intervals: int
) -> None:
    first, last = descendants(ROOT)
    low, high = ends
    span = Span(first if low is None else intervals.interval(low), last if high is None else intervals.interval(high))
    assert intervals.cover(low, high, max_intervals) == bounded_cover(span, max_intervals)


def test_an_area_of_no_blocks_has_no_cover() -> None:
    nothing = np.empty((0, 4), np.int64)
    assert bounded_covers(nothing, nothing, np.array([0, 0]), 8, dims=2).offsets.tolist() == [0, 0]


def test_a_cover_of_no_nodes_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one node"):
        cells.cover(Rectangle(0, 0, 1, 1), 0)
    with pytest.raises(ValueError, match="at least one node"):
        intervals.cover(0, 1, 0)
