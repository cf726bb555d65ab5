"""Which subscriptions are covered by which? A partially ordered set; its top is the covering set ([PADRES] 2.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K")


class Poset(Generic[K]):
    """A directed acyclic graph: parents cover their children. The CSS are the nodes without a parent, in O(1).

    ``covers(a, b)`` has to be reflexive and transitive. Two that cover each other are ordered by arrival.
    ``excludes(a, b)`` says that nothing is below both: then what is below ``b`` is not compared with ``a``.

    >>> poset = Poset(lambda a, b: a <= b)  # a>5 covers a>9
    >>> for bound in (5, 9, 7, 3):
    ...     poset.add(bound)
    >>> poset.css, sorted(poset.children(5))
    ({3}, [7])
    >>> sorted(poset.remove(3))
    [5]
    """

    def __init__(self, covers: Callable[[K, K], bool], excludes: Callable[[K, K], bool] | None = None) -> None:
        self._covers = covers
        self._excludes = excludes
        self._parents: dict[K, set[K]] = {}
        self._children: dict[K, set[K]] = {}
        self._css: dict[K, None] = {}

    def copy(self) -> Poset[K]:
        """Another set with the same keys; no pair is compared again."""
        twin = Poset(self._covers, self._excludes)
        twin._parents = {key: set(parents) for key, parents in self._parents.items()}
        twin._children = {key: set(children) for key, children in self._children.items()}
        twin._css = dict(self._css)
        return twin

    @property
    def css(self) -> set[K]:
        return set(self._css)

    def is_top(self, key: K) -> bool:
        return key in self._css

    def __len__(self) -> int:
        return len(self._parents)

    def __contains__(self, key: object) -> bool:
        return key in self._parents

    def __iter__(self) -> Iterator[K]:
        return iter(self._parents)

    def children(self, key: K) -> set[K]:
        return set(self._children[key])

    def add(self, key: K) -> None:
        """Insert a key; nothing happens if it is there."""
        if key in self._parents:
            return
        parents = self._lowest_covering(key)
        children = self._highest_covered(key, parents)
        self._parents[key], self._children[key] = parents, children
        for child in children:
            self._css.pop(child, None)
            for parent in self._parents[child] & parents:
                self._children[parent].discard(child)
            self._parents[child] -= parents
            self._parents[child].add(key)
        for parent in parents:
            self._children[parent].add(key)
        if not parents:
            self._css[key] = None

    def remove(self, key: K) -> set[K]:
        """Take a key out; the result are those that come to the top by that."""
        parents, children = self._parents.pop(key), self._children.pop(key)
        self._css.pop(key, None)
        for parent in parents:
            self._children[parent].discard(key)
        risen = set()
        for child in children:
            self._parents[child].discard(key)
            for parent in parents:
                if not self._is_below(child, parent):
                    self._parents[child].add(parent)
                    self._children[parent].add(child)
            if not self._parents[child]:
                self._css[child] = None
                risen.add(child)
        return risen

    def covering(self, key: K) -> K | None:
        """One of the CSS that covers a key, which need not be in the set, and is another one."""
        return next((top for top in self._css if top != key and self._covers(top, key)), None)

    def _lowest_covering(self, key: K) -> set[K]:
        found: set[K] = set()
        seen: set[K] = set()
        pending = [top for top in self._css if self._covers(top, key)]
        while pending:
            node = pending.pop()
            if node in seen:
                continue
            seen.add(node)
            below = [child for child in self._children[node] if child in seen or self._covers(child, key)]
            if below:
                pending += below
            else:
                found.add(node)
        return found

    def _highest_covered(self, key: K, parents: set[K]) -> set[K]:
        """Those without anything between them and the key; they lie below all parents."""
        found: set[K] = set()
        seen: set[K] = set()
        pending = list(self._css) if not parents else [c for parent in parents for c in self._children[parent]]
        while pending:
            node = pending.pop()
            if node in seen:
                continue
            seen.add(node)
            if node not in parents and self._covers(key, node):
                found.add(node)
            elif self._excludes is None or not self._excludes(key, node):
                pending += self._children[node]
        return {node for node in found if not any(self._is_below(node, other) for other in found if other != node)}

    def _is_below(self, node: K, other: K) -> bool:
        """Whether there is a way down from ``other`` to ``node``."""
        seen: set[K] = set()
        pending = list(self._parents[node])
        while pending:
            parent = pending.pop()
            if parent == other:
                return True
            if parent not in seen:
                seen.add(parent)
                pending += self._parents[parent]
        return False
