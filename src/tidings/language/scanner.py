"""Where in the text of a query are we, and what stands there? What the readers of both syntaxes share."""

from __future__ import annotations

import re

from tidings.language.builder import Token, column
from tidings.language.complaints import complaint
from tidings.model.errors import QueryError
from tidings.model.query import And, Or, Query


def signs(*alternatives: str) -> re.Pattern[str]:
    """A pattern for the first of some named groups that stands here, behind any space."""
    return re.compile(rf"\s*(?:{'|'.join(alternatives)})")


class Scanner:
    """Goes through a text from left to right; ``places`` are the atoms and negations that it met, and where."""

    knows_habits = True
    refused = False

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.places: list[tuple[Query, Token]] = []

    def maybe(self, pattern: re.Pattern[str]) -> Token | None:
        """What stands here by a pattern, if it does."""
        found = pattern.match(self.text, self.position)
        if found is not None:
            self.position = found.end()
        return found

    def token(self, pattern: re.Pattern[str], expected: str, may_end: bool = False) -> Token:
        """What must stand here: ``expected`` is how to name it, and ``may_end`` whether the query could end instead."""
        found = pattern.match(self.text, self.position)
        if found is None:
            raise self.refusal(expected, may_end)
        self.position = found.end()
        return found

    def refusal(self, expected: str, may_end: bool = False) -> QueryError:
        self.refused = True
        return complaint(self.text, self.position, expected, may_end, self.knows_habits)

    def column_of(self, query: object) -> int:
        """Where a node of the tree begins; one that joins others begins with the first of them."""
        while isinstance(query, And | Or):
            query = query.children[0]
        return next((column(token) for placed, token in self.places if placed is query), column(self.places[0][1]))
