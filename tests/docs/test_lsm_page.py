"""Are the numbers of the page of [LSM] those of the result files, and do they show what the page says?"""

from __future__ import annotations

import re

import pytest

from benchmarks.lsm.page import filled
from tests.docs.tables import RESULTS, ROOT, PageTable, tables

PAGE = (ROOT / "docs" / "papers" / "lsm.md").read_text(encoding="utf-8")


MEASURED = [table for table in tables(PAGE, "lsm") if (RESULTS / f"{table.file}.json").exists()]


@pytest.mark.parametrize("table", MEASURED, ids=lambda table: table.file)
def test_every_number_of_a_table_is_in_its_result_file(table: PageTable) -> None:
    table.check()


def test_the_page_has_tables_of_every_result_file() -> None:
    files = {path.stem for path in RESULTS.glob("lsm-*.json")}
    assert files and {table.file for table in MEASURED} == files


def test_a_table_without_a_result_file_has_no_numbers() -> None:
    for table in tables(PAGE, "lsm"):
        if table not in MEASURED:
            assert all(re.fullmatch(r"-[.-]*", cell) for line in table.lines[2:] for cell in line[1:])


def test_the_page_is_as_result_files_fill_it() -> None:
    assert filled(PAGE, RESULTS) == PAGE
    assert PAGE.count("<!-- beside the paper -->") == 1


def test_a_page_that_tells_other_numbers_is_filled_anew() -> None:
    row = re.compile(r"^\| (?:DualDB|SQLite|level 5) \|.*$", re.MULTILINE)
    number = re.compile(r"(?<=\| )[\d.,]+(?= \|)")
    wrong = row.sub(lambda line: number.sub(lambda found: re.sub(r"\d", "9", found[0]), line[0]), PAGE)
    assert wrong != PAGE
    assert filled(wrong, RESULTS) == PAGE
