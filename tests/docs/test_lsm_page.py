"""Are the numbers of the page of [LSM] those of the result files?"""

from __future__ import annotations

import pytest

from tests.docs.tables import RESULTS, ROOT, PageTable, tables

PAGE = (ROOT / "docs" / "papers" / "lsm.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("table", tables(PAGE, "lsm"), ids=lambda table: table.file)
def test_every_number_of_a_table_is_in_its_result_file(table: PageTable) -> None:
    table.check()


def test_the_page_has_tables_of_every_result_file() -> None:
    files = {path.stem for path in RESULTS.glob("lsm-*.json")}
    assert {table.file for table in tables(PAGE, "lsm")} == files
