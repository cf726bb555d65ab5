"""Is this text all of a pattern? By definition: a set of states, and one step for each character."""

from __future__ import annotations

from tidings.language.regular.nodes import Anchor, AnyOf, Char, InRow, Node, Repeated, among

_CHAR, _SPLIT, _PLACE, _END = range(4)


class Program:
    """Decides whether a text is all of a pattern, in time of its length times the states of the pattern.

    >>> from tidings.language.regular.reading import regex_node
    >>> program = Program(regex_node("a+(b|c)*"))
    >>> [program.accepts(text) for text in ("aabcb", "ab!", "")]
    [True, False, False]
    """

    def __init__(self, node: Node) -> None:
        self._steps: list[tuple[int, object, int]] = []
        """Of each state: what it is, its class, other state or sign, and the next state."""
        self._first = self._compiled(node, self._add(_END, None, -1))

    def accepts(self, text: str) -> bool:
        states = self._closure({self._first}, text, 0)
        for place, letter in enumerate(text):
            code = ord(letter)
            moved = {after for kind, own, after in map(self._steps.__getitem__, states)
                     if kind == _CHAR and among(own, code)}  # type: ignore[arg-type]  # fmt: skip
            if not moved:
                return False
            states = self._closure(moved, text, place + 1)
        return any(self._steps[state][0] == _END for state in states)

    def _closure(self, states: set[int], text: str, place: int) -> set[int]:
        """With all states that follow without a character."""
        found, open_states = set(states), [*states]
        while open_states:
            kind, own, after = self._steps[open_states.pop()]
            more = [after, own] if kind == _SPLIT else [after] if kind == _PLACE and _is_at(own, text, place) else []
            for state in more:
                if state not in found:
                    found.add(state)  # type: ignore[arg-type]  # a split has the number of a state
                    open_states.append(state)  # type: ignore[arg-type]
        return found

    def _add(self, kind: int, own: object, after: int) -> int:
        self._steps.append((kind, own, after))
        return len(self._steps) - 1

    def _compiled(self, node: Node, after: int) -> int:
        """The first state of a node that goes on with the state ``after``."""
        match node:
            case Char(ranges):
                return self._add(_CHAR, ranges, after)
            case Anchor(sign):
                return self._add(_PLACE, sign, after)
            case InRow(nodes):
                for own in reversed(nodes):
                    after = self._compiled(own, after)
                return after
            case AnyOf(nodes):
                first = self._compiled(nodes[-1], after)
                for own in reversed(nodes[:-1]):
                    first = self._add(_SPLIT, first, self._compiled(own, after))
                return first
            case Repeated(own, least, most):
                return self._repeated(own, least, most, after)

    def _repeated(self, node: Node, least: int, most: int | None, after: int) -> int:
        if most is None:
            loop = self._add(_SPLIT, after, -1)
            self._steps[loop] = _SPLIT, after, self._compiled(node, loop)
            first = loop
        else:
            first = after
            for _ in range(most - least):
                first = self._add(_SPLIT, after, self._compiled(node, first))
        for _ in range(least):
            first = self._compiled(node, first)
        return first


def _is_at(sign: object, text: str, place: int) -> bool:
    if sign == "^":
        return place == 0
    if sign == "$":
        return place == len(text)
    is_border = _is_word(text, place - 1) != _is_word(text, place)
    return is_border == (sign == "b")


def _is_word(text: str, place: int) -> bool:
    return 0 <= place < len(text) and text[place].isascii() and (text[place].isalnum() or text[place] == "_")
