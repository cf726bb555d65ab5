"""Does a text fulfil a wildcard or a regular expression? By RE2, in linear time: the only place that imports it."""

from __future__ import annotations

import re2

from tidings.language.regular import needed, node_of, plain_text
from tidings.model.query import Regex, Wildcard

_OPTIONS = re2.Options()
_OPTIONS.max_mem = 1 << 23  # with a quarter of it, Sigma's rules are asked 16 times as slowly
_OPTIONS.log_errors = False  # where its automaton needs too much memory, it goes on without


class Expression:
    """A pattern that is asked of whole texts, and the literals of which a text needs one.

    ``needs_folded``: the literals are to be looked for in folded texts. ``folded``: so is the pattern.

    >>> asked = Expression(Regex("name", "(?i)ab+c"))
    >>> asked.fulfils(b"ABBC"), asked.literals, asked.needs_folded
    (True, ('a',), True)
    """

    __slots__ = ("_pattern", "folded", "literals", "needs_folded")

    def __init__(self, asked: Wildcard | Regex) -> None:
        node = node_of(asked)
        self.folded = isinstance(asked, Wildcard) and asked.folded
        self._pattern = re2.compile(rf"\A(?:{plain_text(node)})\z".encode(), _OPTIONS)
        self.literals = needed(node, False)
        self.needs_folded = self.folded
        if not self.folded and (folded := needed(node, True)) and _longer(folded, self.literals):
            self.literals, self.needs_folded = folded, True

    def fulfils(self, text: bytes) -> bool:
        """Whether a text, folded if the pattern is, fulfils the pattern."""
        return self._pattern.search(text) is not None


def _longer(folded: tuple[str, ...], literals: tuple[str, ...]) -> bool:
    """Whether folded literals are worth folding all texts."""
    return not literals or min(map(len, folded)) > 2 * min(map(len, literals))
