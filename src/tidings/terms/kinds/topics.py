"""Which of the topics and patterns that are asked for does a topic lie at or below? A tree of steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from tidings.model.publication import Publication
from tidings.model.query import Topic
from tidings.tables.columns import distinct
from tidings.terms.forms import LikelyForms
from tidings.terms.kinds.kind import Frequencies, Key, Kind, Reading
from tidings.terms.pairs import Pairs, as_pairs, expanded

_ANY = "*"


@dataclass(slots=True)
class _Node:
    """What is asked for at one path, and the next steps."""

    term: int = -1
    steps: dict[str, _Node] = field(default_factory=dict)


class TopicTerms:
    """Terms by path, in which ``*`` is any one step. One thread adds to it, any number read.

    >>> terms = TopicTerms()
    >>> terms.put(("sports",), 1), terms.put(("sports", "*", "final"), 2)
    (None, None)
    >>> terms.above("sports/soccer/final"), terms.above("sports/soccer"), terms.above("arts")
    ([1, 2], [1], [])
    """

    def __init__(self) -> None:
        self._root = _Node()
        self._depth = 0

    def put(self, path: Sequence[str], term: int) -> None:
        node = self._root
        for step in path:
            node = node.steps.setdefault(step, _Node())
        node.term = term
        self._depth = max(self._depth, len(path))

    def above(self, topic: str) -> list[int]:
        """The terms of all paths that a topic lies at or below. Cost: that of the steps that are asked for."""
        found, nodes = [], [self._root]
        for step in topic.split("/", self._depth)[: self._depth]:
            wanted = (step,) if step == _ANY else (step, _ANY)
            nodes = [node.steps[own] for node in nodes for own in wanted if own in node.steps]
            found += [node.term for node in nodes if node.term >= 0]
            if not nodes:
                break
        return found


class TopicPaths(Kind):
    """By path. A topic has the terms of all paths that it lies at or below."""

    names = ("topic",)
    atoms = (Topic,)
    guess = 0.03

    def __init__(self) -> None:
        super().__init__()
        self._tree = TopicTerms()

    @staticmethod
    def key(atom: Topic) -> Key:
        return "topic", *atom.path

    @staticmethod
    def called(key: Key) -> str:
        return f"topic:{'/'.join(key[1:])}"

    @staticmethod
    def count(atom: Topic, seen: Frequencies) -> int | None:
        return None if _ANY in atom.path else seen.topic(atom.path)

    def put(self, key: Key, term: int) -> None:
        self._tree.put(key[1:], term)
        super().put(key, term)

    def of_table(self, reading: Reading) -> list[Pairs]:
        if "topic" not in reading.table.column_names:
            return []
        column = reading.table["topic"]
        if not pa.types.is_nested(column.type):
            rows, topics = distinct(column)
            return [expanded(rows, [() if topic is None else self._terms(str(topic)) for topic in topics])]
        lists = column.to_pylist()
        known = {topic: self._terms(topic) for topics in lists for topic in topics or ()}
        return [
            as_pairs({(row, t) for row, topics in enumerate(lists) for topic in topics or () for t in known[topic]})
        ]

    def of_one(self, publication: Publication, forms: LikelyForms) -> Iterable[int]:  # noqa: ARG002
        return {term for topic in publication.topics for term in self._terms(topic)}

    def _terms(self, topic: str) -> tuple[int, ...]:
        return tuple(self._tree.above(topic))
