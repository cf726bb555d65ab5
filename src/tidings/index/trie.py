"""How do the words of many subscriptions share their beginnings? A trie, the matcher of the S³-TM paper.

Implements [S3TM] 4.1. The words of a conjunction, in lexicographic order, are a path; a child is visited if and only if
its word is in the publication, so at any visited node all words up to the root are. Departs from the paper: what is
no word (phrases, places, attributes, …) is kept at the node and verified there: the whole language is matched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from tidings.analysis import ENGLISH, Analyser
from tidings.index.matcher import Clock, SubscriptionList
from tidings.language import Conjunction, Content, ResolvedAtom, Sequence, holds, normal_form
from tidings.model import Publication, Subscription
from tidings.model.values import utc_now
from tidings.tables.checked import Listed
from tidings.tables.matches import Counters, Deliveries, Matches
from tidings.tables.rows import publications


@dataclass(slots=True)
class _Node:
    children: dict[str, _Node] = field(default_factory=dict)
    kept: dict[tuple[str, Conjunction], Subscription] = field(default_factory=dict)


class Trie:
    """Matches by a scoped walk, in plain Python.

    ``Counters.candidates`` counts look-ups of children, from which the cost of a matcher as a function of its words can
    be fitted ([S3TM] 4.2, Fig. 3).
    """

    def __init__(self, analyser: Analyser = ENGLISH, clock: Clock = utc_now) -> None:
        self._analyser = analyser
        self._clock = clock
        self._root = _Node()
        self._subscriptions: dict[str, Subscription] = {}

    def add(self, subscriptions: Iterable[Subscription]) -> None:
        for subscription in subscriptions:
            self.remove([subscription.id])
            self._subscriptions[subscription.id] = subscription
            for words, rest in self._paths(subscription):
                node = self._root
                for word in words:
                    node = node.children.setdefault(word, _Node())
                node.kept[subscription.id, rest] = subscription

    def remove(self, ids: Iterable[str]) -> None:
        for name in ids:
            subscription = self._subscriptions.pop(name, None)
            for words, rest in self._paths(subscription) if subscription else ():
                _prune(self._root, words, (name, rest))

    def match(self, table: pa.Table) -> Matches:
        good = {row: found for row, found in enumerate(publications(table)) if isinstance(found, Publication)}
        number_of = {name: number for number, name in enumerate(self._subscriptions)}
        rows: list[int] = []
        numbers: list[int] = []
        looked_up = verified = 0
        for row, publication in enumerate(good.values()):
            content = Content.of(publication, self._analyser)
            at = publication.ts or self._clock()
            words = sorted({token.word for token in content.tokens if token.word is not None})
            found: dict[str, None] = {}
            for node, probes in _visited(self._root, words):
                looked_up += probes
                for (name, rest), subscription in node.kept.items():
                    verified += 1
                    if subscription.valid_at(at) and _rest_holds(rest, content):
                        found[name] = None
            rows.extend([row] * len(found))
            numbers.extend(number_of[name] for name in found)
        posts = Listed(list(good.values()), np.array(list(good), dtype=np.int64))
        roster = SubscriptionList(list(self._subscriptions.values()))
        deliveries = Deliveries(posts, np.array(rows, dtype=np.int32), roster, np.array(numbers, dtype=np.int32))
        return Matches([deliveries], Counters(looked_up, verified, len(numbers)))

    def _paths(self, subscription: Subscription) -> Iterator[tuple[list[str], Conjunction]]:
        """Each conjunction as sorted words and the rest."""
        for conjunction in normal_form(subscription.query, self._analyser):
            words = sorted(atom.words[0] for atom in conjunction.required if _is_word(atom))  # type: ignore[union-attr]
            rest = tuple(atom for atom in conjunction.required if not _is_word(atom))
            yield words, Conjunction(rest, conjunction.forbidden)


def _is_word(atom: ResolvedAtom) -> bool:
    return isinstance(atom, Sequence) and len(atom.words) == 1


def _visited(root: _Node, words: list[str]) -> Iterator[tuple[_Node, int]]:
    """The nodes whose words are all among ``words`` (sorted), each with the number of look-ups made from it."""
    stack = [(root, 0)]
    while stack:
        node, start = stack.pop()
        yield node, len(words) - start if node.children else 0
        if node.children:
            stack.extend(
                (child, at + 1)
                for at in range(start, len(words))
                if (child := node.children.get(words[at])) is not None
            )


def _rest_holds(rest: Conjunction, content: Content) -> bool:
    return all(holds(atom, content) for atom in rest.required) and not any(
        holds(atom, content) for atom in rest.forbidden
    )


def _prune(root: _Node, words: list[str], key: tuple[str, Conjunction]) -> None:
    """Take out what is kept at the end of a path, and the nodes that are left with nothing."""
    path = [root]
    for word in words:
        path.append(path[-1].children[word])
    path[-1].kept.pop(key, None)
    for parent, word, node in reversed(list(zip(path, words, path[1:], strict=False))):
        if node.kept or node.children:
            return
        del parent.children[word]
