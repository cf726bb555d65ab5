"""Are the numbers of the page of [LSM] those of the result files, and do they show what the page says?"""

from __future__ import annotations

import re

import pytest

from benchmarks.lsm.page import filled
from benchmarks.lsm.workload import LOADS
from tests.docs.tables import RESULTS, ROOT, PageTable, one, rows_of, tables

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


def times(file: str, load: str, base: str, own: str) -> float:
    rows = rows_of(file)
    return float(one(rows, load=load, store=base)["us"] / one(rows, load=load, store=own)["us"])


@pytest.mark.parametrize("load", ["3:1", "1:3"])
@pytest.mark.parametrize("store", ["TwoDB", "DualDB"])
def test_how_far_the_stores_are_ahead_of_polls_is_as_the_page_says(load: str, store: str) -> None:
    assert 3 < times("lsm-simple", load, "RepQueries, disk", f"{store}, disk") < 5
    low, high = {"3:1": (3, 5), "1:3": (2, 3)}[load]
    assert low < times("lsm-simple", load, "RepQueries", store) < high
    assert times("lsm-simple", load, "RepQueries, disk", store) > 10


def test_how_far_dual_db_is_ahead_with_self_joins_is_as_the_page_says() -> None:
    ahead = {load: [times("lsm-joins", load, f"TwoDB{on}", f"DualDB{on}") for on in ("", ", disk")] for load in LOADS}
    for in_memory, on_disk in ahead.values():
        assert in_memory > 1.1 > on_disk > 1


def test_fixed_granularity_is_ahead_at_the_lowest_level_only() -> None:
    by = {row["group"]: row["times"] for row in rows_of("lsm-levels")}
    assert by["all"] > 3 and [name for name, ahead in by.items() if ahead < 1] == ["level 5"]
