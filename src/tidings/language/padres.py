"""What does a subscription of PADRES ask for? As [PADRES] 2.1 writes them: ``[class,eq,'STOCK'],[volume,>,300000]``.

The public PADRES has more: ``<>`` and ``neq``, an attribute that is there and differs, and ``str-postfix``.
"""

from __future__ import annotations

from collections.abc import Callable

from tidings.language.builder import Token, at, bound, column, text_of
from tidings.language.scanner import Scanner, signs
from tidings.model.errors import QueryError
from tidings.model.names import is_plain_name
from tidings.model.query import (
    And,
    Contains,
    EndsWith,
    Equals,
    Not,
    Present,
    Query,
    Range,
    StartsWith,
)

_TEXT = r"""[^\s,\[\]'‘’"]+"""
_EXAMPLE = ", as in [volume,>,300000]"
_OPEN = f"'['{_EXAMPLE}"
_PREDICATE = (
    (signs(r"(?P<OPEN>\[)"), _OPEN),
    (signs(rf"(?P<NAME>{_TEXT})"), f"the name of an attribute{_EXAMPLE}"),
    (signs(r"(?P<COMMA>,)"), "','"),
    (signs(rf"(?P<OPERATOR>{_TEXT})"), f"an operator{_EXAMPLE}"),
    (signs(r"(?P<COMMA>,)"), "','"),
    (signs(rf"""(?P<LITERAL>'[^']*'|‘[^’]*’|"[^"]*"|{_TEXT})"""), f"a value{_EXAMPLE}"),
    (signs(r"(?P<CLOSE>\])"), "']'"),
)
_BEHIND = signs(r"(?P<COMMA>,)", r"(?P<NEXT>(?=\[))", r"(?P<END>\Z)")

_OPERATORS: dict[str, Callable[[str, str, Token], Query]] = {
    "eq": lambda name, value, _: Equals(name, value),
    "str-prefix": lambda name, value, _: StartsWith(name, value),
    "str-suffix": lambda name, value, _: EndsWith(name, value),
    "str-postfix": lambda name, value, _: EndsWith(name, value),
    "str-contains": lambda name, value, _: Contains(name, value),
    "=": lambda name, value, _: Equals(name, value),
    "neq": lambda name, value, _: And((Present(name), Not(Equals(name, value)))),
    "<>": lambda name, value, _: And((Present(name), Not(Equals(name, value)))),
    "<": lambda name, value, literal: Range(name, high=bound(literal, value), high_included=False),
    ">": lambda name, value, literal: Range(name, low=bound(literal, value), low_included=False),
    "<=": lambda name, value, literal: Range(name, high=bound(literal, value)),
    ">=": lambda name, value, literal: Range(name, low=bound(literal, value)),
    "isPresent": lambda name, _, __: Present(name),
}


class PadresReader(Scanner):
    """Reads one subscription: predicates, with or without commas between them."""

    knows_habits = False

    def read(self) -> Query:
        predicates: list[Query] = []
        behind = None
        while behind != "END":
            _, name, _, operator, _, literal, _ = [self.token(*part) for part in _PREDICATE]
            behind = self.token(_BEHIND, _OPEN, may_end=True).lastgroup
            predicate = _predicate(name, operator, literal)
            parts = predicate.children if isinstance(predicate, And) else (predicate,)
            predicates += parts
            self.places += [(part, name) for part in parts]
        return predicates[0] if len(predicates) == 1 else And(tuple(predicates))


def _predicate(name: Token, operator: Token, literal: Token) -> Query:
    build = _OPERATORS.get(text_of(operator))
    if build is None:
        known = ", ".join(_OPERATORS)
        raise QueryError(f"unknown operator {text_of(operator)!r}; there are: {known}", column(operator))
    if not is_plain_name(text_of(name)):
        raise QueryError(
            f"{text_of(name)!r} is not a name of an attribute: letters, digits, '_', '.' and '-', not a digit first",
            column(name),
        )
    text = text_of(literal)
    value = text[1:-1] if text[0] in "'‘\"" else text
    return at(name, build, text_of(name), value, literal)
