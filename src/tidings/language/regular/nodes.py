"""What is a regular expression, whoever wrote it? A small tree.

The tree has five kinds of nodes, on which all regular expression engines agree: a class of characters, nodes in a row,
alternatives, a repetition, and a condition on a place. ``\\d``, ``\\w``, ``\\s`` and ``\\b`` know ASCII; ``.`` is
anything but a line feed; letters of any case are classes. So an engine that is given the tree as text
(:func:`plain_text`) finds what :class:`tidings.language.regular.program.Program` finds, which is the definition.
Look-around and back references are refused: no engine decides them in linear time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

MAX_STATES = 5_120
"""So many states has a program at most: a repetition has those of its node as often as it is counted. A thousand
characters of any kind, which rules ask for, are 5,000."""

_WIDE, _WIDE_RANGES = 5, 4
"""So many states has a class with characters beyond ASCII, about: engines go by bytes. So many ranges beyond ASCII have
one more."""

MAX_COUNT = 1_000

Ranges = tuple[tuple[int, int], ...]
"""Characters as closed intervals of code points, in order, none beside another."""

_LAST, _LAST_ASCII = 0x10FFFF, 0x7F


@dataclass(frozen=True, slots=True)
class Char:
    """One character of a class."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class InRow:
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeated:
    """``most`` None: without end."""

    node: Node
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Anchor:
    """``sign``: ``^`` the beginning, ``$`` the end, ``b`` the border of a word, ``B`` no border."""

    sign: str


Node = Char | InRow | AnyOf | Repeated | Anchor

EVERY = Char(((0, _LAST),))


def merged(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """The same characters, in order."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(high, found[-1][1])
        else:
            found.append((low, high))
    return tuple(found)


def others(ranges: Ranges) -> Ranges:
    """All other characters."""
    borders = [-1, *(end for low, high in ranges for end in (low, high)), _LAST + 1]
    pairs = zip(borders[::2], borders[1::2], strict=True)
    return tuple((low + 1, high - 1) for low, high in pairs if low + 1 <= high - 1)


@lru_cache(maxsize=1)
def _cases() -> tuple[list[int], dict[int, list[int]]]:
    """The letters that have another case, in order, and of each those that are the same but for their case."""
    found: dict[str, list[int]] = {}
    for code in range(0x1F000):
        letter = chr(code)
        folded = letter.casefold()
        if len(folded) == 1 and (folded != letter or letter.upper() != letter):
            found.setdefault(folded, []).append(code)
    of_each = {code: alike for alike in found.values() for code in alike}
    return sorted(of_each), of_each


@lru_cache(maxsize=1_024)
def with_cases(ranges: Ranges) -> Ranges:
    """The same letters in any case. The last ones are remembered: a pattern may ask for one class many times."""
    letters, of_each = _cases()
    own = [letters[bisect_left(letters, low) : bisect_right(letters, high)] for low, high in ranges]
    return merged([*ranges, *((code, code) for some in own for letter in some for code in of_each[letter])])


def among(ranges: Ranges, code: int) -> bool:
    return any(low <= code <= high for low, high in ranges)


def size(node: Node) -> int:
    """How many states a program for a node has, about."""
    match node:
        case InRow(nodes) | AnyOf(nodes):
            return 1 + sum(size(own) for own in nodes)
        case Repeated(own, least, most):
            return 1 + size(own) * max(least + (most is None), most or 0)
        case Char(ranges):
            wide = sum(high > _LAST_ASCII for _, high in ranges)
            return _WIDE + wide // _WIDE_RANGES if wide else 1
        case Anchor():
            return 1


def counted(node: Node) -> int:
    """How far the repetitions inside each other count, at most: their product."""
    match node:
        case InRow(nodes) | AnyOf(nodes):
            return max([1, *map(counted, nodes)])
        case Repeated(own, least, most):
            return max(1, least, most or 0) * counted(own)
        case _:
            return 1


def plain_text(node: Node) -> str:
    """The pattern of a node, as RE2 reads it."""
    match node:
        case Char(ranges):
            return _class_text(ranges)
        case Anchor(sign):
            return {"^": r"\A", "$": r"\z", "b": r"\b", "B": r"\B"}[sign]
        case InRow(nodes):
            return "".join(plain_text(own) for own in nodes)
        case AnyOf(nodes):
            return f"(?:{'|'.join(plain_text(own) for own in nodes)})"
        case Repeated(own, least, most):
            return f"(?:{plain_text(own)}){{{least},{'' if most is None else most}}}"


def _class_text(ranges: Ranges) -> str:
    if not ranges:
        return r"[^\x00-\x{10ffff}]"
    return "[" + "".join([rf"\x{{{low:x}}}-\x{{{high:x}}}" for low, high in ranges]) + "]"
