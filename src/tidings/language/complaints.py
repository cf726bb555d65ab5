"""How is a syntax error told so that a person can mend it?"""

from __future__ import annotations

import re

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


def complaint(text: str, position: int, expected: str, may_end: bool, knows_habits: bool) -> QueryError:
    """That ``expected`` does not stand at a position, told with its column; ``may_end``: the query could end there."""
    rest = text[position:].lstrip()
    position = len(text) - len(rest)
    if not rest:
        return QueryError(f"the query ends where {expected} was expected", position + 1)
    hints = (hint for pattern, hint in _HABITS if pattern.match(text, position))
    if knows_habits and (hint := next(hints, None)):
        return QueryError(hint, position + 1)
    got = rest[:20].split(maxsplit=1)[0]
    if got[0] in ")]}" and may_end:
        return QueryError(f"{got[0]!r} closes nothing that is open", position + 1)
    return QueryError(f"expected {expected}, got {got!r}", position + 1)
