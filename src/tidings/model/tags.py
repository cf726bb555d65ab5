"""What is a tag in a text? ``#topic``, ``$STOCK`` or ``@name``, as on social networks."""

from __future__ import annotations

import re

_LETTERS = r"\w\u0300-\u036f\u0591-\u05c7\u0610-\u065f\u0900-\u0dff\u0e00-\u0eff\u1000-\u109f\u200c\u200d"
_LINK = r"[hH][tT][tT][pP][sS]?://\S*"
_HASH = rf"[#＃](?P<hash>[{_LETTERS}]*[^\W\d_][{_LETTERS}]*)"
_CASH = r"\$(?P<cash>[A-Za-z]{1,6}(?:[._][A-Za-z]{1,2})?)(?!\w)"
_NAME = r"[@＠](?P<name>[A-Za-z0-9_]+)(?![\w@＠])"
_TAG = re.compile(f"{_HASH}|{_CASH}|{_NAME}")
_FOUND = re.compile(rf"{_LINK}|(?<![\w&/]){_HASH}|(?<![\w$]){_CASH}|(?<![\w!#$%&*@＠/]){_NAME}")
_SIGNS = {"hash": "#", "cash": "$", "name": "@"}

SIGNS = "#＃$@＠"
"""What a tag may begin with."""

MAX_TAG_CHARS = 100
"""Longer ones are none."""


def written_tags(text: str) -> list[str]:
    """The tags of a text, each with its sign, as they are written; links have none.

    >>> written_tags("#Fire near $BHP: @nswrfs says a&#39;b costs $5 #1 a@b.org https://t.co/#x")
    ['#Fire', '$BHP', '@nswrfs']
    """
    if not any(sign in text for sign in SIGNS):
        return []
    found = ((own.lastgroup, own) for own in _FOUND.finditer(text))
    tags = [_SIGNS[kind] + own[kind] for kind, own in found if kind is not None]
    return [tag for tag in tags if len(tag) <= MAX_TAG_CHARS]


def is_tag(text: str) -> bool:
    """Whether all of a text is one tag."""
    return len(text) <= MAX_TAG_CHARS and _TAG.fullmatch(text) is not None
