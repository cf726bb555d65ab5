"""Is a number that is not in its result file found?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.docs.tables import ROOT, tables

TABLES = tables((ROOT / "docs" / "papers" / "ps2.md").read_text(encoding="utf-8"), "ps2")


@pytest.mark.parametrize("kind", ["by", "with"])
def test_a_number_that_is_not_in_its_result_file_is_found(kind: str) -> None:
    table = next(table for table in TABLES if (table.across is None) == (kind == "with"))
    table.check()
    *before, (*others, number) = table.lines
    wrong = number[:-1] + str((int(number[-1]) + 1) % 10)
    with pytest.raises(AssertionError, match=table.file):
        replace(table, lines=[*before, [*others, wrong]]).check()
