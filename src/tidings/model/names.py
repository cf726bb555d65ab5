"""How may an attribute be called, and which names need quotes in a query?"""

from __future__ import annotations

import re

from tidings.model.errors import QueryError

ATTRIBUTE_NAME = r"[^\W\d][\w.]*(?:-[\w.]+)*"
"""What the name of an attribute may look like without quotes (regular expression)."""

UNWRITABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
"""Characters that no query may have: control characters, and halves of surrogate pairs."""

OPERATORS = frozenset({"_exists_", "any", "bounding_box", "has", "point_radius", "polygon"})
"""Names of the language itself; "text" and "topic" are fields of their own, which only ``has:`` can ask for."""
MAX_NAME_CHARS = 256
_ATTRIBUTE_NAME = re.compile(ATTRIBUTE_NAME)


def is_plain_name(name: str) -> bool:
    """Whether the name of an attribute is written without quotes."""
    return _ATTRIBUTE_NAME.fullmatch(name) is not None


def check_name(name: str) -> None:
    """Refuse what cannot be the name of an attribute."""
    if bad := UNWRITABLE.search(name):
        raise QueryError(f"{bad[0]!r} is no character that a query can have; remove it")
    if len(name) > MAX_NAME_CHARS:
        raise QueryError(f"a name has at most {MAX_NAME_CHARS} characters, got {len(name):,}: {name[:20]!r}…")
    if not name.strip():
        raise QueryError("the name of an attribute is not empty")
    if name in OPERATORS:
        raise QueryError(f"{name!r} is an operator of the language and cannot name an attribute")
    if name in ("text", "topic"):
        raise QueryError(f"{name!r} is no attribute: words are asked for by themselves, topics as topic:sports/soccer")
