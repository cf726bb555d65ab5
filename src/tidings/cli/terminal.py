"""How does text that others wrote get to a terminal? With its control characters written out.

Ids, subscribers, tags and texts come from anybody. An escape sequence in them could colour, move or erase what a
terminal shows, and a bidi override could reorder it. Whatever people look at passes :func:`visible`; data for programs
(JSON, Parquet, and CSV that goes to a file or a pipe) stays as it is.
"""

from __future__ import annotations

import sys
import unicodedata

import typer
from rich.text import Text


def visible(text: str) -> str:
    r"""The same with controls (C0, C1, DEL), bidi overrides, zero-width characters and line ends written out.

    >>> print(visible("\x1b[31mred\x1b[0m\n \u202eabc caf\u00e9 \u767d\u5bab"))
    \x1b[31mred\x1b[0m\n \u202eabc café 白宫
    """
    if text.isprintable():
        return text
    return "".join([letter if _is_harmless(letter) else letter.encode("unicode_escape").decode() for letter in text])


def cell(text: str, style: str = "") -> Text:
    """For a table or a line of rich: visible, and never read as markup."""
    return Text(visible(text), style=style)


def lines(text: str) -> Text:
    """The same for text of our own, which may have several lines."""
    return Text(_visible_lines(text))


def say(message: object, *, err: bool = False) -> None:
    """Print a message for people; it may have several lines."""
    typer.echo(_visible_lines(str(message)), err=err)


def _visible_lines(text: str) -> str:
    return "\n".join(map(visible, text.split("\n")))


def shown(value: str) -> str:
    """A piece of data on stdout: as it is, but visible where stdout is a terminal."""
    return visible(value) if sys.stdout.isatty() else value


def _is_harmless(letter: str) -> bool:
    return letter.isprintable() or unicodedata.category(letter) == "Zs"
