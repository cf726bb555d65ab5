"""Which hierarchy does a value belong to, and how is a node of it written?

Dewey labels, after [LSM] 6.2.2 (variable granularity): one look-up per ancestor finds what is above a node, and one
range scan finds what is below it. Two kinds obey the same laws:

- A *bit label* is a node of a binary tree of depth 62 at most, as one unsigned 64-bit integer: the path from the root
  (0 left, 1 right), then a sentinel bit 1, then zeros, as in S2 cell ids. A quadtree goes two bits a step.
- A *path label* is a topic such as ``sports/soccer``, as bytes: each step in UTF-8, closed by a zero byte.

For both, ``b`` is ``a`` or below it if and only if it lies in the range of ``a``'s descendants, and labels sort as
their bytes do, every subtree in one piece.

Departs from the paper: its dotted numbers do not sort as text once a node has ten children (1.10 < 1.2), these do; and
its range finds descendants only, so a caller who matches in both directions looks up the ancestors too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

MAX_DEPTH = 62
"""The depth of the leaves: 31 levels of a quadtree."""

ROOT = 1 << 63
"""The bit label of the whole tree."""

_LEAF_SENTINEL = 1 << (63 - MAX_DEPTH)


def bit_label(prefix: int, depth: int) -> int:
    """The node that the ``depth`` bits of ``prefix`` lead to, the first step in the highest bit.

    >>> f"{bit_label(0b101, depth=3):064b}"[:8], bit_label(0, depth=0) == ROOT
    ('10110000', True)
    """
    if not 0 <= depth <= MAX_DEPTH:
        raise ValueError(f"the depth of a label is between 0 and {MAX_DEPTH}, got {depth}")
    if not 0 <= prefix < 1 << depth:
        raise ValueError(f"a prefix of {depth} bits is between 0 and {(1 << depth) - 1}, got {prefix}")
    return prefix << (64 - depth) | 1 << (63 - depth)


def depth_of(label: int) -> int:
    """How many steps below the root a node is.

    >>> depth_of(ROOT), depth_of(bit_label(0b101, depth=3))
    (0, 3)
    """
    return 64 - _sentinel(label).bit_length()


def ancestor(label: int, depth: int) -> int:
    """The node at ``depth`` on the way from the root to ``label``; at its own depth, the node itself.

    >>> ancestor(bit_label(0b101, depth=3), depth=2) == bit_label(0b10, depth=2)
    True
    """
    if not 0 <= depth <= depth_of(label):
        raise ValueError(f"a label of depth {depth_of(label)} has no ancestor at depth {depth}")
    sentinel = 1 << (63 - depth)
    return label & -(2 * sentinel) | sentinel


def ancestors_at(labels: NDArray[np.uint64], depth: int) -> NDArray[np.uint64]:
    """:func:`ancestor` of many labels at once: uint64 in and out, of one shape.

    >>> ancestors_at(np.array([bit_label(5, 3), bit_label(2, 2)], np.uint64), depth=2) == bit_label(2, 2)
    array([ True,  True])
    """
    if not 0 <= depth <= MAX_DEPTH:
        raise ValueError(f"the depth of a label is between 0 and {MAX_DEPTH}, got {depth}")
    sentinel = 1 << (63 - depth)
    at_or_under_sentinel = np.uint64(2 * sentinel - 1)
    if not np.all(labels & at_or_under_sentinel):
        raise ValueError(f"some labels are less deep than {depth} and have no ancestor there")
    return labels & ~at_or_under_sentinel | np.uint64(sentinel)


def ancestors(label: int, step: int = 1) -> Iterator[int]:
    """The nodes above ``label``, its parent first and the root last; ``step`` bits lead from a parent to a child.

    >>> [depth_of(node) for node in ancestors(bit_label(0b1011, depth=4), step=2)]
    [2, 0]
    """
    return (ancestor(label, depth) for depth in range(depth_of(label) - step, -1, -step))


def common_ancestor(a: int, b: int, step: int = 1) -> int:
    """The deepest node that contains both, at a multiple of ``step`` bits.

    >>> common_ancestor(bit_label(0b1011, 4), bit_label(0b1000, 4)) == bit_label(0b10, 2)
    True
    """
    shared = 64 - (a ^ b).bit_length()
    depth = min(shared, depth_of(a), depth_of(b))
    return ancestor(a, depth - depth % step)


def children(label: int, step: int = 1) -> Sequence[int]:
    """The ``2**step`` nodes right below ``label``, in order; none below a leaf.

    >>> [depth_of(child) for child in children(ROOT, step=2)]
    [2, 2, 2, 2]
    """
    own, theirs = _sentinel(label), _sentinel(label) >> step
    if theirs < _LEAF_SENTINEL:
        return range(0)
    return range(label - own + theirs, label + own, 2 * theirs)


def descendants(label: int) -> tuple[int, int]:
    """The first and the last label of the subtree, both included; the node itself lies between. Both are leaves.

    >>> first, last = descendants(bit_label(0b10, depth=2))
    >>> first <= bit_label(0b101, depth=3) <= last, first <= bit_label(0b1, depth=1) <= last
    (True, False)
    """
    reach = _sentinel(label) - _LEAF_SENTINEL
    return label - reach, label + reach


def contains(a: int, b: int) -> bool:
    """Whether ``b`` is ``a`` or below it.

    >>> contains(ROOT, bit_label(1, depth=1)), contains(bit_label(1, depth=1), ROOT)
    (True, False)
    """
    first, last = descendants(a)
    return first <= b <= last


def to_bytes(label: int) -> bytes:
    """Eight bytes that sort as labels do.

    >>> to_bytes(ROOT).hex()
    '8000000000000000'
    """
    return label.to_bytes(8, "big")


def from_bytes(data: bytes) -> int:
    """The label that :func:`to_bytes` wrote."""
    label = int.from_bytes(data, "big")
    if len(data) != 8 or label == 0 or _sentinel(label) < _LEAF_SENTINEL:
        raise ValueError(f"a bit label is eight bytes, even and not zero, got {data.hex() or 'none'}")
    return label


def path_label(*steps: str) -> bytes:
    """The label of a topic, given step by step from the top.

    >>> path_label("sports", "soccer")
    b'sports\\x00soccer\\x00'
    """
    if not steps:
        raise ValueError("a path has at least one step")
    for step in steps:
        if not step or "/" in step or "\0" in step:
            raise ValueError(f"a step of a path is text that is not empty, without '/' and NUL, got {step!r}")
    return b"".join(step.encode() + b"\0" for step in steps)


def path_ancestors(label: bytes) -> Iterator[bytes]:
    """The paths above ``label``, its parent first and the topmost step last.

    >>> list(path_ancestors(path_label("sports", "soccer", "final")))
    [b'sports\\x00soccer\\x00', b'sports\\x00']
    """
    end = label.rfind(b"\0", 0, -1)
    while end >= 0:
        yield label[: end + 1]
        end = label.rfind(b"\0", 0, end)


def path_descendants(label: bytes) -> tuple[bytes, bytes]:
    """Start (included) and end (excluded) of the keys that are the label or below it, in a store sorted by bytes.

    >>> path_descendants(path_label("sports"))
    (b'sports\\x00', b'sports\\x01')
    """
    return label, label[:-1] + b"\1"


def path_contains(a: bytes, b: bytes) -> bool:
    """Whether ``b`` is ``a`` or below it.

    >>> path_contains(path_label("sports"), path_label("sports", "soccer"))
    True
    >>> path_contains(path_label("sports"), path_label("sportswear"))
    False
    """
    return b.startswith(a)


def _sentinel(label: int) -> int:
    return label & -label
