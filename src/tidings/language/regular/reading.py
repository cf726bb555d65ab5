"""What does a regular expression say? The usual signs of RE2, Lucene and Sigma's rules, as a tree."""

from __future__ import annotations

import re

from tidings.language.regular.nodes import (
    EVERY,
    MAX_COUNT,
    MAX_STATES,
    Anchor,
    AnyOf,
    Char,
    InRow,
    Node,
    Ranges,
    Repeated,
    counted,
    merged,
    others,
    size,
    with_cases,
)
from tidings.model.errors import QueryError

MAX_NESTING = 50

_DIGITS: Ranges = ((48, 57),)
_WORD: Ranges = ((48, 57), (65, 90), (95, 95), (97, 122))
_SPACE: Ranges = ((9, 13), (32, 32))
_NOT_LINE = others(((10, 10),))
_CLASSES = {"d": _DIGITS, "w": _WORD, "s": _SPACE}
_CLASSES |= {sign.upper(): others(ranges) for sign, ranges in _CLASSES.items()}
_PLACES = {"b": "b", "B": "B", "A": "^", "z": "$", "Z": "$"}
_LETTERS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "a": 7, "e": 27}
_COUNT = re.compile(r"\{([0-9]+)(,([0-9]*))?\}")
_CODE = re.compile(r"x([0-9A-Fa-f]{2})|x\{([0-9A-Fa-f]{1,6})\}|u([0-9A-Fa-f]{4})")
_GROUP = re.compile(r"\?(?:P?<[A-Za-z_]\w*>|([is]*)(-[is]+)?([:)]))")


def regex_node(pattern: str, folded: bool = False) -> Node:
    """The tree of a pattern; ``folded``: letters of any case, as ``(?i)`` says. QueryError if it cannot be read.

    >>> regex_node("ab?")
    InRow(nodes=(Char(ranges=((97, 97),)), Repeated(node=Char(ranges=((98, 98),)), least=0, most=1)))
    """
    reader = _Reader(pattern, folded)
    node = reader.any_of(0)
    if reader.place < len(pattern):
        raise reader.refusal("this ')' closes nothing")
    return node


class _Reader:
    """Goes through a pattern from left to right."""

    def __init__(self, pattern: str, folded: bool) -> None:
        self.pattern = pattern
        self.place = 0
        self._folded = folded
        self._all = False
        """Whether ``.`` is also a line feed."""

    def refusal(self, problem: str) -> QueryError:
        return QueryError(f"the regular expression, character {self.place + 1}: {problem}")

    def any_of(self, depth: int) -> Node:
        if depth > MAX_NESTING:
            raise self.refusal(f"it is nested deeper than {MAX_NESTING} levels")
        flags = self._folded, self._all
        nodes = [self._in_row(depth)]
        states = size(nodes[0])
        while self._next("|"):
            nodes.append(self._in_row(depth))
            states = self._bounded(states + size(nodes[-1]))
        self._folded, self._all = flags
        return nodes[0] if len(nodes) == 1 else AnyOf(tuple(nodes))

    def _next(self, sign: str) -> bool:
        is_there = self.pattern.startswith(sign, self.place)
        self.place += len(sign) * is_there
        return is_there

    def _in_row(self, depth: int) -> Node:
        nodes: list[Node] = []
        states = 0
        while self.place < len(self.pattern) and self.pattern[self.place] not in "|)":
            node = self._one(depth)
            if node is None:  # flags alone
                continue
            nodes.append(self._repeated(node))
            states = self._bounded(states + size(nodes[-1]))
        return nodes[0] if len(nodes) == 1 else InRow(tuple(nodes))

    def _bounded(self, states: int) -> int:
        """So many states, unless they are too many."""
        if states > MAX_STATES:
            raise self.refusal(f"it is too large: written out, it has more than {MAX_STATES:,} parts")
        return states

    def _repeated(self, node: Node) -> Node:
        if self._next("*"):
            counts: tuple[int, int | None] = (0, None)
        elif self._next("+"):
            counts = 1, None
        elif self._next("?"):
            counts = 0, 1
        elif found := _COUNT.match(self.pattern, self.place):
            counts = self._counts(found)
        else:
            return node
        self._next("?")  # the shortest: whether there is any, it does not change
        if self.pattern[self.place : self.place + 1] in ("*", "+", "?") and self.place < len(self.pattern):
            raise self.refusal("two repetitions side by side; group the first one: (a+)*")
        repeated = Repeated(node, *counts)
        if counted(repeated) > MAX_COUNT:
            raise self.refusal(f"repetitions inside each other count to at most {MAX_COUNT:,}")
        return repeated

    def _counts(self, found: re.Match[str]) -> tuple[int, int | None]:
        least = int(found[1]) if len(found[1]) < 6 else MAX_COUNT + 1
        most = (
            least if not found[2] else None if not found[3] else int(found[3]) if len(found[3]) < 6 else MAX_COUNT + 1
        )
        if max(least, most or 0) > MAX_COUNT:
            raise self.refusal(f"a repetition counts to at most {MAX_COUNT:,}")
        if most is not None and least > most:
            raise self.refusal("the smaller count comes first, as in a{2,5}")
        self.place = found.end()
        return least, most

    def _one(self, depth: int) -> Node | None:
        sign = self.pattern[self.place]
        if sign == "(":
            return self._group(depth)
        if sign in "*+?":
            raise self.refusal(f"{sign!r} repeats nothing; write \\{sign} for the sign itself")
        self.place += 1
        if sign == "[":
            return self._class()
        if sign == ".":
            return EVERY if self._all else Char(_NOT_LINE)
        if sign in "^$":
            return Anchor(sign)
        if sign == "\\":
            return self._escaped()
        return self._char(((ord(sign), ord(sign)),))

    def _group(self, depth: int) -> Node | None:
        self.place += 1
        if self.pattern.startswith("?", self.place):
            found = _GROUP.match(self.pattern, self.place)
            if found is None:
                raise self.refusal("of the groups with '?' there are (?:…), (?i) and (?s); look-around is not linear")
            flags = self._folded, self._all
            if found[3]:
                self._folded = (self._folded or "i" in found[1]) and "i" not in (found[2] or "")
                self._all = (self._all or "s" in found[1]) and "s" not in (found[2] or "")
            self.place = found.end()
            if found[3] == ")":
                return None
            node = self._closed(depth)
            self._folded, self._all = flags
            return node
        return self._closed(depth)

    def _closed(self, depth: int) -> Node:
        node = self.any_of(depth + 1)
        if not self._next(")"):
            raise self.refusal("a '(' is not closed")
        return node

    def _char(self, ranges: Ranges) -> Char:
        return Char(with_cases(ranges) if self._folded else ranges)

    def _escaped(self) -> Node:
        sign = self.pattern[self.place : self.place + 1]
        if sign in _PLACES and sign:
            self.place += 1
            return Anchor(_PLACES[sign])
        return self._char(self._escape())

    def _escape(self) -> Ranges:
        """The characters that a backslash and what is behind it stand for."""
        sign = self.pattern[self.place : self.place + 1]
        if not sign:
            raise self.refusal("a backslash at the end")
        if found := _CODE.match(self.pattern, self.place):
            code = int(found[1] or found[2] or found[3], 16)
            if code > 0x10FFFF:
                raise self.refusal("no character has that number")
            self.place = found.end()
            return ((code, code),)
        if sign.isascii() and sign.isalnum() and sign not in _CLASSES and sign not in _LETTERS:
            raise self.refusal(f"\\{sign} is not known here; back references are not linear")
        self.place += 1
        code = _LETTERS.get(sign, ord(sign))
        return _CLASSES.get(sign, ((code, code),))

    def _class(self) -> Char:
        begin = self.place
        is_other = self._next("^")
        ranges: list[tuple[int, int]] = []
        while self.place < len(self.pattern):
            if self.pattern[self.place] == "]" and self.place > begin + is_other:
                self.place += 1
                found = merged(ranges)
                found = with_cases(found) if self._folded else found
                return Char(others(found) if is_other else found)
            low = self._member()
            if len(low) == 1 and low[0][0] == low[0][1] and re.match(r"-[^\]]", self.pattern[self.place :]):
                self.place += 1
                high = self._member()
                if len(high) != 1 or high[0][0] != high[0][1] or high[0][0] < low[0][0]:
                    raise self.refusal("the two ends of a range are characters, the smaller one first, as in [a-z]")
                low = ((low[0][0], high[0][0]),)
            ranges += low
        raise self.refusal("a '[' is not closed")

    def _member(self) -> Ranges:
        sign = self.pattern[self.place]
        if self.pattern.startswith("[:", self.place):
            raise self.refusal("write \\w, \\d or \\s instead of [:name:]")
        self.place += 1
        if sign != "\\":
            return ((ord(sign), ord(sign)),)
        if self.pattern.startswith("b", self.place):
            self.place += 1
            return ((8, 8),)
        return self._escape()
