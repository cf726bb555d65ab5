"""How is a syntax error told so that a person can mend it?"""

from __future__ import annotations

import re

from lark.exceptions import UnexpectedEOF, UnexpectedInput, UnexpectedToken

from tidings.model.errors import QueryError

# What people write by habit from other languages, matched at the place where reading stopped.
_HABITS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), hint)
    for pattern, hint in (
        (r"&", "unknown operator '&'; write AND, or nothing: words side by side are joined by AND"),
        (r"\|", "unknown operator '|'; write OR"),
        (r"!", "unknown operator '!'; to exclude a word write -word or NOT word"),
        (r"\+", "unknown operator '+'; every word is required unless joined by OR: leave '+' out"),
        (r"[‐‑‒–—―−]", "this dash is not the plain '-' that excludes a word; type '-'"),
        (r"\^", "unknown operator '^'; matches are not ranked, so there are no weights"),
        (r"~", "'~' and a number stand only behind a quoted phrase, as in \"white house\"~3"),
        (r"\\", "a backslash stands only inside quotes"),
        (r'["“”„]', 'this quote is not closed; add the other "'),
        (r"(?<=:)\*(?=\s|$)", "'*' alone stands for nothing; has:name asks whether an attribute is there"),
        (r"\*", "a '*' may only end a word (terror*), or stand beside an attribute's text (name:Mc*, name:*son)"),
        (r"[<>=]", "a comparison needs the name of an attribute before it, as in volume:>300000"),
        (r":", "':' stands behind the name of an attribute, which begins with a letter; quote text that has a ':'"),
        (
            r"[\[{]",
            "a bracket needs a name before it, as in price:[10 TO 20] or bounding_box:[150.5 -34.2 151.4 -33.4]",
        ),
        (r"-(?=\s|\)|-|$)", "one '-' touches what it excludes, as in -drill"),
    )
)

# What may come next, most telling first: a terminal of the grammar and how a person would name it.
_EXPECTED = (
    ("COORDINATE", "a number or ']'"),
    ("CLOSE", "']' or '}'"),
    ("RSQB", "']'"),
    ("_TO", "TO, as in [10 TO 20]"),
    ("PATH", "a topic like sports/soccer"),
    ("LSQB", "'[', as in bounding_box:[150.5 -34.2 151.4 -33.4] or point_radius:[151.2 -33.9 16km]"),
    ("VALUE", "a value"),
    ("WORD", "a word"),
    ("_OR", "OR or ')'"),
    ("RPAR", "')'"),
)
_PADRES_EXPECTED = (
    ("LITERAL", "a value, as in [volume,>,300000]"),
    ("OPERATOR", "an operator, as in [volume,>,300000]"),
    ("NAME", "the name of an attribute, as in [volume,>,300000]"),
    ("RSQB", "']'"),
    ("LSQB", "'[', as in [volume,>,300000]"),
    ("COMMA", "','"),
)


def complaint(error: UnexpectedInput, text: str, syntax: str) -> QueryError:
    """The error of the parser library, told with the column and what was expected there."""
    allowed = _allowed(error)
    names = _PADRES_EXPECTED if syntax == "padres" else _EXPECTED
    expected = next((name for terminal, name in names if terminal in allowed), "the end")
    if isinstance(error, UnexpectedEOF) or (isinstance(error, UnexpectedToken) and error.token.type == "$END"):
        return QueryError(f"the query ends where {expected} was expected", len(text) + 1)
    position = error.pos_in_stream or 0
    if syntax == "tidings" and (hint := _habit(text, position)):
        return QueryError(hint, position + 1)
    got = text[position : position + 20].split(maxsplit=1)[0]
    if got[0] in ")]}" and "$END" in allowed:
        return QueryError(f"{got[0]!r} closes nothing that is open", position + 1)
    return QueryError(f"expected {expected}, got {got!r}", position + 1)


def _habit(text: str, position: int) -> str | None:
    return next((hint for pattern, hint in _HABITS if pattern.match(text, position)), None)


def _allowed(error: UnexpectedInput) -> set[str]:
    """The terminals of the grammar that could have come instead."""
    if isinstance(error, UnexpectedToken):
        return set(error.accepts or error.expected)
    return set(getattr(error, "allowed", None) or getattr(error, "expected", None) or ())
