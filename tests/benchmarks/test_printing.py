import csv
import io

import pytest

from benchmarks.printing import print_figures
from benchmarks.result import Result

GROWN = Result(
    "growth", "made-up posts", {"posts": 40, "subscriptions": [1_000, 3_000], "posts_per_s": [90_000, 80_000]}
)


def test_columns_are_printed_row_by_row(capsys: pytest.CaptureFixture[str]) -> None:
    print_figures(GROWN, "table")
    shown = capsys.readouterr().out.splitlines()
    assert any("posts" in line and "40" in line for line in shown)
    assert [line.split() for line in shown[-2:]] == [["1,000", "90,000"], ["3,000", "80,000"]]


def test_csv_has_a_line_for_each_row_with_all_else_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    print_figures(GROWN, "csv")
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert rows[1] == {"posts": "40", "subscriptions": "3000", "posts_per_s": "80000"} and len(rows) == 2
