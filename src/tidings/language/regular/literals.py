"""Which texts must stand in whatever fulfils a pattern? What an index looks for before it tries the pattern."""

from __future__ import annotations

from tidings.language.regular.nodes import Anchor, AnyOf, Char, InRow, Node, Repeated

MAX_LITERALS = 32
_MAX_CASES = 8


def needed(node: Node, folded: bool) -> tuple[str, ...]:
    """Literals one of which a text must have to fulfil a pattern; none if nothing is known.

    ``folded``: the literals are to be found in the folded text.

    >>> from tidings.language.regular.reading import regex_node
    >>> needed(regex_node(r"x?(abc|bcd)\\d+"), False), needed(regex_node("(?i)ab[cd]"), True)
    (('abc', 'bcd'), ('ab',))
    """
    match node:
        case Char():
            letter = _letter(node, folded)
            return (letter,) if letter else ()
        case InRow(nodes):
            parts = [needed(own, folded) for own in nodes if not isinstance(own, Char)]
            return max([*((run,) for run in _runs(nodes, folded)), *parts], key=_worth, default=())
        case AnyOf(nodes):
            parts = [needed(own, folded) for own in nodes]
            found = tuple(dict.fromkeys(literal for part in parts for literal in part))
            return found if all(parts) and len(found) <= MAX_LITERALS else ()
        case Repeated(own, least):
            return needed(own, folded) if least else ()
        case Anchor():
            return ()


def _runs(nodes: tuple[Node, ...], folded: bool) -> list[str]:
    """The texts that characters side by side make."""
    runs = [""]
    for node in nodes:
        if letter := _letter(node, folded):
            runs[-1] += letter
        elif not isinstance(node, Anchor):
            runs.append("")
    return [run for run in runs if run]


def _letter(node: Node, folded: bool) -> str:
    """What a class of one character, or of one letter in all cases, is in a text; empty for others."""
    most = _MAX_CASES if folded else 1
    if not isinstance(node, Char) or sum(high - low + 1 for low, high in node.ranges) > most:
        return ""
    letters = {chr(code) for low, high in node.ranges for code in range(low, high + 1)}
    if folded:
        letters = {letter.casefold() for letter in letters}
    return letters.pop() if len(letters) == 1 else ""


def _worth(literals: tuple[str, ...]) -> float:
    """The longer the better; each further one costs a little."""
    return min(map(len, literals)) - 0.1 * len(literals) if literals else -float(MAX_LITERALS)
