"""Which of the topics and patterns that are asked for does a topic lie at or below? A tree of steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

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
