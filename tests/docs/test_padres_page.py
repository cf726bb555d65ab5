"""Are the numbers of the page of [PADRES] those of the result files?

A comment before each table says what it is: ``<!-- padres-FILE: run with VALUE VALUE … -->``.
"""

from __future__ import annotations

import json
import re

import pytest

from tests.docs.test_s3tm_page import ROOT, cells, one, rows_of

PAGE = (ROOT / "docs" / "papers" / "padres.md").read_text(encoding="utf-8")
_TABLE = re.compile(r"<!-- (padres-[\w-]+): run with ([\w ]+?) -->\n+((?:\|.*\n)+)")


@pytest.mark.parametrize("table", [match.groups() for match in _TABLE.finditer(PAGE)])
def test_every_number_of_a_table_is_in_its_result_file(table: tuple[str, ...]) -> None:
    name, values, text = table
    rows = rows_of(name)
    for line in text.splitlines()[2:]:
        first, *numbers = cells(line)
        found = one(rows, run=first)
        for value, number in zip(values.split(), numbers, strict=True):
            assert number == f"{found[value]:,.{len(number.partition('.')[2])}f}", (name, first, value)


def test_the_page_has_every_result_file() -> None:
    files = {path.stem for path in (ROOT / "docs" / "results").glob("padres-*.json")}
    assert files
    assert all(f"../results/{name}.json" in PAGE for name in files)


def test_every_number_of_a_sentence_is_in_its_result_file() -> None:
    """``<!-- padres-FILE: NAME NAME … -->`` stands before a sentence that has these figures, in bold."""
    sentences = re.findall(r"<!-- (padres-[\w-]+): ([\w ]+) -->\n([^|\n][^\n]*(?:\n[^\n]+)*)", PAGE)
    assert sentences
    for name, values, text in sentences:
        figures = json.loads((ROOT / "docs" / "results" / f"{name}.json").read_text(encoding="utf-8"))["figures"]
        told = [figures[value] for value in values.split()]
        assert re.findall(r"\*\*([\d,.]+)\*\*", text) == [
            f"{value:,}" if isinstance(value, int) else f"{value:,.1f}" for value in told
        ]
