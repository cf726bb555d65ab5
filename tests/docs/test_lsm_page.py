"""Are the numbers of the page of [LSM] those of the result files, and do they show what the page says?

A comment before each table says what it is: ``<!-- lsm-FILE: ROWS by COLUMNS, VALUE where NAME=VALUE … -->``, or,
where several values stand side by side, ``<!-- lsm-FILE: ROWS with VALUE VALUE … where NAME=VALUE … -->``.
"""

from __future__ import annotations

import re

import pytest

from tests.docs.test_ps2_page import labels_of
from tests.docs.test_s3tm_page import ROOT, cells, one, rows_of

PAGE = (ROOT / "docs" / "papers" / "lsm.md").read_text(encoding="utf-8")
_TABLE = re.compile(r"<!-- (lsm-[\w-]+): (\w+) by (\w+), (\w+)(?: where ([^>]*?))? -->\n+((?:\|.*\n)+)")
_BESIDE = re.compile(r"<!-- (lsm-[\w-]+): (\w+) with ([\w ]+?)(?: where ([^>]*?))? -->\n+((?:\|.*\n)+)")


@pytest.mark.parametrize("table", [match.groups() for match in _TABLE.finditer(PAGE)])
def test_every_number_of_a_table_is_in_its_result_file(table: tuple[str, ...]) -> None:
    name, down, across, value, where, text = table
    rows, lines = rows_of(name), text.splitlines()
    for line in lines[2:]:
        first, *numbers = cells(line)
        for head, number in zip(cells(lines[0])[1:], numbers, strict=True):
            found = one(rows, **labels_of(where), **{down: first, across: head})[value]
            assert number == f"{found:,.{len(number.partition('.')[2])}f}", (name, first, head)


@pytest.mark.parametrize("table", [match.groups() for match in _BESIDE.finditer(PAGE)])
def test_every_number_side_by_side_is_in_its_result_file(table: tuple[str, ...]) -> None:
    name, down, values, where, text = table
    rows, lines = rows_of(name), text.splitlines()
    for line in lines[2:]:
        first, *numbers = cells(line)
        found = one(rows, **labels_of(where), **{down: first})
        for value, number in zip(values.split(), numbers, strict=True):
            assert number == f"{found[value]:,.{len(number.partition('.')[2])}f}", (name, first, value)


def test_the_page_has_tables_of_every_result_file() -> None:
    files = {path.stem for path in (ROOT / "docs" / "results").glob("lsm-*.json")}
    assert {match[1] for pattern in (_TABLE, _BESIDE) for match in pattern.finditer(PAGE)} == files
