"""Tables and sentences of a page whose numbers are in result files. A comment before each table says where:

``<!-- FILE: ROWS by COLUMNS, VALUE where NAME=VALUE … -->``, or, where several values of a row stand side by side,
``<!-- FILE: ROWS with VALUE VALUE … where NAME=VALUE … -->``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
_TABLE = re.compile(
    r"<!-- (?P<file>[\w-]+): (?P<down>\w+) (?:by (?P<across>\w+), (?P<value>\w+)|with (?P<values>[\w ]+?))"
    r"(?: where (?P<where>[^>]*?))? -->\n+(?P<text>(?:\|.*\n)+)"
)
_SENTENCE = re.compile(r"<!-- ([\w-]+): ([\w ]+) -->\n([^|\n][^\n]*(?:\n[^\n]+)*)")

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PageTable:
    """One table: each line has the name of a row and numbers."""

    file: str
    down: str
    across: str | None
    values: list[str]
    labels: dict[str, str]
    lines: list[list[str]]

    def check(self) -> None:
        """Every number is in the result file, rounded to as many digits as it has."""
        rows, (heads, _, *lines) = rows_of(self.file), self.lines
        names = heads[1:] if self.across else self.values
        for first, *numbers in lines:
            for name, number in zip(names, numbers, strict=True):
                found = self._value(rows, _named(first), _named(name))
                digits = len(number.partition(".")[2])
                assert number == ("" if found is None else f"{found:,.{digits}f}"), (self.file, first, name)

    def _value(self, rows: list[Row], first: str, name: str) -> Any:
        if self.across:
            return one(rows, **self.labels, **{self.down: first, self.across: name})[self.values[0]]
        return one(rows, **self.labels, **{self.down: first})[name]


def tables(page: str, paper: str) -> list[PageTable]:
    """Those of a page that are of result files of a paper: of ``PAPER.json`` and ``PAPER-….json``."""
    return [
        PageTable(
            match["file"],
            match["down"],
            match["across"],
            (match["value"] or match["values"]).split(),
            dict(pair.split("=") for pair in (match["where"] or "").split()),
            [cells(line) for line in match["text"].splitlines()],
        )
        for match in _TABLE.finditer(page)
        if match["file"] == paper or match["file"].startswith(f"{paper}-")
    ]


def check_sentences(page: str, paper: str) -> int:
    """``<!-- FILE: NAME NAME … -->`` stands before a paragraph that has these figures, in bold; how many there are."""
    found = [match for match in _SENTENCE.findall(page) if match[0].partition("-")[0] == paper]
    for file, names, text in found:
        figures = figures_of(file)
        told = [figures[name] for name in names.split()]
        expected = [f"{value:,}" if isinstance(value, int) else f"{value:,.1f}" for value in told]
        assert re.findall(r"\*\*([\d,.]+)\*\*", text) == expected, file
    return len(found)


def figures_of(name: str) -> dict[str, Any]:
    return cast("dict[str, Any]", json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["figures"])


def rows_of(name: str) -> list[Row]:
    columns = {key: value for key, value in figures_of(name).items() if isinstance(value, list)}
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def one(rows: list[Row], **labels: object) -> Row:
    (row,) = (row for row in rows if all(str(row[name]) == str(value) for name, value in labels.items()))
    return row


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _named(cell: str) -> str:
    """What the result file says instead: ``1,000`` is 1000, and ``N = 16`` is 16."""
    return re.sub(r"^\w = |(?<=\d),(?=\d)", "", cell)
