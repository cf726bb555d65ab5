"""Do both kinds of labels obey the laws of a hierarchy?"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tidings.terms.labels import (
    MAX_DEPTH,
    ROOT,
    ancestor,
    ancestors,
    ancestors_at,
    bit_label,
    children,
    common_ancestor,
    contains,
    depth_of,
    descendants,
    from_bytes,
    path_ancestors,
    path_contains,
    path_descendants,
    path_label,
    to_bytes,
)


@st.composite
def bit_labels(draw: st.DrawFn, max_depth: int = MAX_DEPTH) -> int:
    depth = draw(st.integers(0, max_depth))
    bits = int.from_bytes(draw(st.binary(min_size=8, max_size=8)))  # plain integers would be mostly small
    return bit_label(bits >> (64 - depth), depth)


@st.composite
def kin(draw: st.DrawFn) -> tuple[int, int]:
    """Two labels below a common ancestor, or one of them that ancestor."""
    a = draw(bit_labels())
    top = ancestor(a, draw(st.integers(0, depth_of(a))))
    first, last = descendants(top)
    leaf = bit_label(draw(st.integers(first >> 2, last >> 2)), MAX_DEPTH)
    b = draw(st.just(top) | st.integers(depth_of(top), MAX_DEPTH).map(lambda depth: ancestor(leaf, depth)))
    return draw(st.sampled_from([(a, b), (b, a)]))


pairs = kin() | st.tuples(bit_labels(4), bit_labels(4))
steps = st.text(st.sampled_from("ab\x01\x7f\xffé\U0001f600"), min_size=1, max_size=3)
paths = st.lists(steps, min_size=1, max_size=4).map(tuple)


def test_a_bit_label_is_written_as_prefix_sentinel_and_zeros() -> None:
    assert bit_label(0, 0) == ROOT == 1 << 63
    assert bit_label(0b101, 3) == 0b1011 << 60
    assert bit_label((1 << 62) - 1, 62) == (1 << 64) - 2


@pytest.mark.parametrize(("prefix", "depth"), [(0, -1), (0, 63), (2, 1), (1, 0), (-1, 5)])
def test_a_bit_label_that_does_not_exist_is_refused(prefix: int, depth: int) -> None:
    with pytest.raises(ValueError, match="between"):
        bit_label(prefix, depth)


@given(st.integers(0, MAX_DEPTH), st.data())
def test_the_depth_is_the_one_the_label_was_made_with(depth: int, data: st.DataObject) -> None:
    assert depth_of(bit_label(data.draw(st.integers(0, (1 << depth) - 1)), depth)) == depth


@given(st.integers(0, MAX_DEPTH), st.data())
def test_an_ancestor_has_the_first_bits_of_the_prefix(depth: int, data: st.DataObject) -> None:
    prefix = data.draw(st.integers(0, (1 << depth) - 1))
    above = data.draw(st.integers(0, depth))
    assert ancestor(bit_label(prefix, depth), above) == bit_label(prefix >> (depth - above), above)


@given(pairs)
def test_in_the_range_of_descendants_if_and_only_if_an_ancestor_or_oneself(pair: tuple[int, int]) -> None:
    a, b = pair
    first, last = descendants(a)
    assert (first <= b <= last) == (a == b or a in ancestors(b)) == contains(a, b)


@given(bit_labels())
def test_the_range_of_descendants_begins_and_ends_with_a_leaf_below(label: int) -> None:
    for end in descendants(label):
        assert depth_of(end) == MAX_DEPTH
        assert ancestor(end, depth_of(label)) == label


@given(bit_labels(), st.sampled_from([1, 2]))
def test_ancestors_go_from_the_parent_up_a_step_at_a_time(label: int, step: int) -> None:
    depths = [depth_of(node) for node in ancestors(label, step)]
    assert depths == list(range(depth_of(label) - step, -1, -step))


@given(bit_labels(), st.sampled_from([1, 2]))
@example(bit_label(5, MAX_DEPTH), 1)
@example(bit_label(5, MAX_DEPTH - 1), 2)
def test_children_are_the_nodes_whose_parent_it_is_side_by_side(label: int, step: int) -> None:
    below = children(label, step)
    if depth_of(label) + step > MAX_DEPTH:
        assert not below
        return
    assert len(below) == 2**step
    assert all(next(ancestors(child, step)) == label for child in below)
    ranges = [descendants(child) for child in below]
    assert (ranges[0][0], ranges[-1][1]) == descendants(label)
    assert list(below) == sorted(set(below))


@given(pairs, st.sampled_from([1, 2]))
def test_the_common_ancestor_is_the_deepest_node_that_contains_both(pair: tuple[int, int], step: int) -> None:
    a, b = pair
    both = [node for node in (a, *ancestors(a)) if contains(node, b) and depth_of(node) % step == 0]
    assert common_ancestor(a, b, step) == common_ancestor(b, a, step) == both[0]


@given(pairs)
def test_bytes_sort_as_bit_labels_do(pair: tuple[int, int]) -> None:
    a, b = pair
    assert (a < b) == (to_bytes(a) < to_bytes(b))
    assert len(to_bytes(a)) == 8
    assert from_bytes(to_bytes(a)) == a


@pytest.mark.parametrize("data", [b"", b"\x80", bytes(8), bytes(7) + b"\x01", b"\x80" + bytes(8)])
def test_bytes_that_are_no_label_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="eight bytes"):
        from_bytes(data)


@given(st.lists(bit_labels(), max_size=20), st.data())
def test_ancestors_of_an_array_are_those_of_its_labels(labels: list[int], data: st.DataObject) -> None:
    depth = data.draw(st.integers(0, min(map(depth_of, labels), default=MAX_DEPTH)))
    found = ancestors_at(np.array(labels, np.uint64), depth)
    assert found.dtype == np.uint64
    assert found.tolist() == [ancestor(label, depth) for label in labels]


@pytest.mark.parametrize("depth", [-1, 3, 63])
def test_a_node_has_no_ancestor_below_itself_or_above_the_root(depth: int) -> None:
    label = bit_label(2, 2)
    with pytest.raises(ValueError, match=r"depth|deep"):
        ancestor(label, depth)
    with pytest.raises(ValueError, match=r"depth|deep"):
        ancestors_at(np.array([bit_label(5, 3), label], np.uint64), depth)


@pytest.mark.parametrize("steps", [(), ("",), ("a", ""), ("a/b",), ("a\0b",)])
def test_a_path_of_steps_that_cannot_be_told_apart_is_refused(steps: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="step"):
        path_label(*steps)


@given(paths, paths)
def test_a_path_lies_in_the_range_if_and_only_if_its_steps_begin_alike(a: tuple[str, ...], b: tuple[str, ...]) -> None:
    start, end = path_descendants(path_label(*a))
    below = b[: len(a)] == a
    assert (start <= path_label(*b) < end) == path_contains(path_label(*a), path_label(*b)) == below


@given(paths, paths)
def test_what_extends_a_path_lies_in_its_range(a: tuple[str, ...], more: tuple[str, ...]) -> None:
    start, end = path_descendants(path_label(*a))
    assert start == path_label(*a) < path_label(*a, *more) < end
    assert path_contains(path_label(*a), path_label(*a, *more))


@given(paths)
def test_ancestors_of_a_path_drop_the_last_step_again_and_again(path: tuple[str, ...]) -> None:
    expected = [path_label(*path[:length]) for length in range(len(path) - 1, 0, -1)]
    assert list(path_ancestors(path_label(*path))) == expected


@given(paths, paths)
def test_path_labels_sort_step_by_step(a: tuple[str, ...], b: tuple[str, ...]) -> None:
    assert (a < b) == (path_label(*a) < path_label(*b))
