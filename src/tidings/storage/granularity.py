"""Which labels meet? Equal ones, or in a hierarchy those of which one lies in the other.

Implements [LSM] 6.2. *Variable granularity* keeps one entry under its own label and looks both ways: a range scan
finds what lies below, look-ups find what lies above. *Fixed granularity*, its base, keeps a copy under each leaf.
Departs from the paper: the range of 6.2.2 alone finds descendants only, so a narrow subscription would never meet a
wide publication.

A circle is filed under the smallest cell around it, :func:`tidings.terms.cells.smallest_cell` ([LSM] 7.2.3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from tidings.terms import cells, labels

REMEMBERED = 1 << 13
"""The neighbours of so many cells are remembered: to compute them takes a third of an operation."""


class Granularity(Protocol):
    """Under which labels an entry is filed, and where an operation looks for what it meets."""

    def filed(self, label: bytes) -> Sequence[bytes]:
        """The labels under which an entry is kept."""

    def lists(self, label: bytes) -> Sequence[bytes]:
        """The labels whose lists are read."""

    def span(self, label: bytes) -> tuple[bytes, bytes] | None:
        """The range of labels that is read, its end excluded."""


@dataclass(frozen=True, slots=True)
class Flat:
    """No hierarchy: equal labels meet."""

    def filed(self, label: bytes) -> Sequence[bytes]:
        return (label,)

    def lists(self, label: bytes) -> Sequence[bytes]:
        return (label,)

    def span(self, label: bytes) -> tuple[bytes, bytes] | None:  # noqa: ARG002
        return None


@dataclass(frozen=True, slots=True)
class Variable:
    """One entry under its own label; ``above`` are the labels around one, ``below`` is the range of those in it."""

    above: Callable[[bytes], Iterable[bytes]]
    below: Callable[[bytes], tuple[bytes, bytes]]

    def filed(self, label: bytes) -> Sequence[bytes]:
        return (label,)

    def lists(self, label: bytes) -> Sequence[bytes]:
        return tuple(self.above(label))

    def span(self, label: bytes) -> tuple[bytes, bytes] | None:
        return self.below(label)


@dataclass(frozen=True, slots=True)
class Fixed:
    """A copy under each leaf; ``leaves`` are those in a label."""

    leaves: Callable[[bytes], Sequence[bytes]]

    def filed(self, label: bytes) -> Sequence[bytes]:
        return self.leaves(label)

    def lists(self, label: bytes) -> Sequence[bytes]:
        return self.leaves(label)

    def span(self, label: bytes) -> tuple[bytes, bytes] | None:  # noqa: ARG002
        return None


@lru_cache(REMEMBERED)
def cells_above(label: bytes) -> tuple[bytes, ...]:
    """The cells around a cell."""
    return tuple(map(labels.to_bytes, cells.ancestors(labels.from_bytes(label))))


@lru_cache(REMEMBERED)
def cells_below(label: bytes) -> tuple[bytes, bytes]:
    """The range of a cell and those in it."""
    first, last = labels.descendants(labels.from_bytes(label))
    return labels.to_bytes(first), labels.to_bytes(last + 1)


def fixed_cells(level: int) -> Fixed:
    """Fixed granularity with the cells of a level as leaves.

    >>> [len(fixed_cells(5).filed(labels.to_bytes(cells.cell(151.2, -33.9, level)))) for level in (5, 4, 2)]
    [1, 4, 64]
    """

    @lru_cache(REMEMBERED)
    def leaves(label: bytes) -> Sequence[bytes]:
        found = [labels.from_bytes(label)]
        for _ in range(level - cells.level_of(found[0])):
            found = [child for cell in found for child in labels.children(cell, step=2)]
        return [labels.to_bytes(cell) for cell in found]

    return Fixed(leaves)


FLAT = Flat()
TOPICS = Variable(labels.path_ancestors, labels.path_descendants)
CELLS = Variable(cells_above, cells_below)
