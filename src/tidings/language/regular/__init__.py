"""Regular expressions and wildcards: read, decided in linear time, and written for an engine."""

from __future__ import annotations

from functools import lru_cache

from tidings.language.regular.literals import needed
from tidings.language.regular.nodes import EVERY, Char, InRow, Node, Repeated, plain_text
from tidings.language.regular.program import Program
from tidings.language.regular.reading import regex_node
from tidings.model.query import ANY, Regex, Wildcard

__all__ = ["Program", "needed", "node_of", "plain_text", "program_of", "regex_node"]


@lru_cache(maxsize=1_024)
def node_of(asked: Wildcard | Regex) -> Node:
    """The tree of an atom: of a folded wildcard for folded texts, of all others for texts as they are. QueryError if it
    cannot be read. The last ones are remembered.
    """
    if isinstance(asked, Regex):
        return regex_node(asked.pattern, folded=asked.folded)
    nodes: list[Node] = []
    for text, sign in zip(asked.texts, (*asked.signs, ""), strict=True):
        nodes += [Char(((ord(letter), ord(letter)),)) for letter in (text.casefold() if asked.folded else text)]
        if sign:
            nodes.append(Repeated(EVERY, 0, None) if sign == ANY else EVERY)
    return InRow(tuple(nodes))


@lru_cache(maxsize=1_024)
def program_of(asked: Wildcard | Regex) -> Program:
    """The program of an atom."""
    return Program(node_of(asked))
