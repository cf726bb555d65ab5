"""How is one condition of a Sigma rule said as a query? Letters have any case, ``*`` and ``?`` are wildcards."""

from __future__ import annotations

from collections.abc import Sequence

from tidings.model.errors import QueryError
from tidings.model.query import (
    ANY,
    ONE,
    Contains,
    EndsWith,
    Equals,
    InNetwork,
    Present,
    Query,
    Range,
    Regex,
    StartsWith,
    Wildcard,
)

MANY, SINGLE = 1, 2
"""In the parts of a text: any characters, and any one character."""

_BOUNDS = {"<": "high", "<=": "high", ">": "low", ">=": "low"}


def text_condition(name: str, parts: Sequence[str | int], cased: bool = False) -> Query:
    """A text with wildcards: ``parts`` are texts, MANY and SINGLE.

    >>> text_condition("Image", [MANY, "\\\\cmd.exe"])
    EndsWith(name='Image', value='\\\\cmd.exe', folded=True)
    """
    texts, signs = [""], list[str]()
    for part in parts:
        if isinstance(part, str):
            texts[-1] += part
        elif part not in (MANY, SINGLE):
            raise QueryError("it has a placeholder, whose values a pipeline would have to fill in")
        elif not (part == MANY and signs and signs[-1] == ANY and not texts[-1]):
            is_late = part == SINGLE and bool(signs) and signs[-1] == ANY and not texts[-1]
            signs[len(signs) - is_late :] = [ONE, ANY] if is_late else [ANY if part == MANY else ONE]
            texts.append("")
    folded = not cased
    match texts, signs:
        case [text], []:
            return Equals(name, text, folded)
        case ["", ""], ["*"]:
            return Present(name)
        case [text, ""], ["*"]:
            return StartsWith(name, text, folded)
        case ["", text], ["*"]:
            return EndsWith(name, text, folded)
        case ["", text, ""], ["*", "*"]:
            return Contains(name, text, folded)
        case _:
            return Wildcard(name, tuple(texts), tuple(signs), folded)


def regex_condition(name: str, pattern: str, flags: Sequence[str] = ()) -> Query:
    """A regular expression that is found anywhere in the text."""
    unknown = {*flags} - {"IGNORECASE", "DOTALL"}
    if unknown:
        raise QueryError(f"the flag {sorted(unknown)[0]} of a regular expression is not known here")
    inner = f"(?s){pattern}" if "DOTALL" in flags else pattern
    return Regex(name, f"(?s:.*)(?:{inner})(?s:.*)", "IGNORECASE" in flags)


def number_condition(name: str, number: float, sign: str = "") -> Query:
    """A number that is equal, or compared by a sign."""
    if not sign:
        return Equals(name, str(int(number) if number == int(number) else number))
    return Range(name, **{_BOUNDS[sign]: number, f"{_BOUNDS[sign]}_included": sign.endswith("=")})  # type: ignore[arg-type]


def net_condition(name: str, net: str) -> Query:
    """An address in a network.

    >>> net_condition("ip", "10.0.0.1/8")
    InNetwork(name='ip', network='10.0.0.0/8')
    """
    length = "" if "/" in net else "/128" if ":" in net else "/32"
    return InNetwork(name, net + length)
