"""Are the numbers of the page those of the result files?

Before a table, ``<!-- figures of FILE … -->`` says that its columns are these files and that each line names a figure,
and ``<!-- rows of FILE -->`` that each line is one of the rows in it.
"""

from __future__ import annotations

import re

import pytest

from tests.docs.tables import ROOT, cells, figures_of, rows_of

PAGE = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
_TABLE = re.compile(r"<!-- (figures|rows) of ([\w -]+) -->\n+((?:\|.*\n)+)")


def tables(kind: str) -> list[tuple[str, list[str]]]:
    return [(found[2], found[3].splitlines()) for found in _TABLE.finditer(PAGE) if found[1] == kind]


def told(value: object) -> str:
    return f"{value:,}" if isinstance(value, int | float) else str(value)


@pytest.mark.parametrize(("files", "lines"), tables("figures"))
def test_each_figure_is_in_its_file(files: str, lines: list[str]) -> None:
    own = [figures_of(name) for name in files.split()]
    for line in lines[2:]:
        what, *numbers = cells(line)
        key = re.findall(r"`(\w+)`", what)[-1]
        assert numbers == [told(figures[key]) for figures in own], what


@pytest.mark.parametrize(("file", "lines"), tables("rows"))
def test_each_line_is_a_row_of_its_file(file: str, lines: list[str]) -> None:
    names = [name.strip("`") for name in cells(lines[0])]
    rows = [[told(row[name]) for name in names] for row in rows_of(file)]
    assert [cells(line) for line in lines[2:]] == rows


def test_the_page_has_tables_of_both_kinds() -> None:
    assert len(tables("figures")) >= 5 and len(tables("rows")) >= 8
