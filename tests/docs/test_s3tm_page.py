"""Are the numbers of the page those of the result files, and do they show what the page says?

A comment before each table says what it is: ``<!-- s3tm-FILE: ROWS by COLUMNS, VALUE where NAME=VALUE … -->``, or,
where several values stand side by side, ``<!-- s3tm-FILE: ROWS with VALUE VALUE … where NAME=VALUE … -->``.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "papers" / "s3tm.md").read_text(encoding="utf-8")
_TABLE = re.compile(r"<!-- (s3tm-\w+): (\w+) by (\w+), (\w+)(?: where ([^>]*?))? -->\n+((?:\|.*\n)+)")

_BESIDE = re.compile(r"<!-- (s3tm-\w+): (\w+) with ([\w ]+?)(?: where ([^>]*?))? -->\n+((?:\|.*\n)+)")

Row = dict[str, Any]


def rows_of(name: str) -> list[Row]:
    figures = json.loads((ROOT / "docs" / "results" / f"{name}.json").read_text(encoding="utf-8"))["figures"]
    columns = {key: value for key, value in figures.items() if isinstance(value, list)}
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def one(rows: list[Row], **labels: object) -> Row:
    (row,) = (row for row in rows if all(str(row[name]) == str(value) for name, value in labels.items()))
    return row


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


@pytest.mark.parametrize("table", [match.groups() for match in _TABLE.finditer(PAGE)])
def test_every_number_of_a_table_is_in_its_result_file(table: tuple[str, ...]) -> None:
    name, down, across, value, where, text = table
    rows, lines = rows_of(name), text.splitlines()
    labels = dict(pair.split("=") for pair in (where or "").split())
    heads = [head.replace(",", "").removeprefix("N = ") for head in cells(lines[0])[1:]]
    for line in lines[2:]:
        first, *numbers = cells(line)
        for head, number in zip(heads, numbers, strict=True):
            found = one(rows, **labels, **{down: first.replace(",", ""), across: head})[value]
            digits = len(number.partition(".")[2])
            assert number == f"{found:,.{digits}f}", (name, first, head)


@pytest.mark.parametrize("table", [match.groups() for match in _BESIDE.finditer(PAGE)])
def test_every_number_side_by_side_is_in_its_result_file(table: tuple[str, ...]) -> None:
    name, down, values, where, text = table
    rows, lines = rows_of(name), text.splitlines()
    labels = dict(pair.split("=") for pair in (where or "").split())
    for line in lines[2:]:
        first, *numbers = cells(line)
        found = one(rows, **labels, **{down: first.replace(",", "")})
        for value, number in zip(values.split(), numbers, strict=True):
            assert number == f"{found[value]:,.{len(number.partition('.')[2])}f}", (name, first, value)


def test_the_page_has_tables_of_every_result_file() -> None:
    files = {path.stem for path in (ROOT / "docs" / "results").glob("s3tm-*.json")} - {"s3tm-words"}
    assert {match[1] for pattern in (_TABLE, _BESIDE) for match in pattern.finditer(PAGE)} == files


@pytest.mark.parametrize("sent", ["words", "guards"])
@pytest.mark.parametrize("matchers", [16, 64])
def test_refined_is_a_tenth_ahead_of_salb_and_as_even(sent: str, matchers: int) -> None:
    rows = rows_of("s3tm-headline")
    salb, refined = (
        one(rows, sent_for=sent, matchers=matchers, split=False, partitioner=name) for name in ("SALB", "refined")
    )
    assert refined["throughput"] >= 1.1 * salb["throughput"] and refined["imbalance"] <= 1.05
    assert salb["learned"] == refined["learned"] == 540_000


@pytest.mark.parametrize("sent", ["words", "guards"])
@pytest.mark.parametrize("partitioner", ["SALB", "refined"])
def test_with_split_words_loads_are_even_and_throughput_goes_on_growing(sent: str, partitioner: str) -> None:
    rows = rows_of("s3tm-headline")
    few, many = (one(rows, sent_for=sent, matchers=n, split=True, partitioner=partitioner) for n in (64, 256))
    assert many["imbalance"] <= 1.1 and many["throughput"] >= 2.8 * few["throughput"]


def test_salb_is_fast_and_hardly_slower_with_many_matchers() -> None:
    rows = [row for row in rows_of("s3tm-learning") if row["posts_learned"] == 540_000]
    few, many = (one(rows, partitioner="SALB", matchers=n)["learned_s"] for n in (16, 256))
    assert many <= 2 * few and many < 15 * 540 / 600
    assert few < one(rows, partitioner="gFCL")["learned_s"]


def test_on_spark_matches_are_equal_and_as_many_posts_are_shuffled_as_predicted() -> None:
    figures = json.loads((ROOT / "docs" / "results" / "s3tm-spark.json").read_text(encoding="utf-8"))["figures"]
    rows = rows_of("s3tm-spark")
    assert {row["checksum"] for row in rows} == {figures["replicated_checksum"]} and figures["matches"] > 1_000_000
    assert all(row["spread"] == pytest.approx(row["predicted_spread"], rel=0.003) for row in rows)
    assert {(row["partitioner"], row["matchers"]) for row in rows} >= {
        (name, n) for name in ("hash", "SALB", "refined", "refined split") for n in (8, 16)
    }


@pytest.mark.parametrize("matchers", [8, 16])
def test_on_spark_the_slowest_matcher_takes_less_time_in_the_order_that_is_predicted(matchers: int) -> None:
    rows = [row for row in rows_of("s3tm-spark") if row["matchers"] == matchers]
    predicted = sorted(rows, key=lambda row: row["predicted_throughput"])
    assert [row["partitioner"] for row in predicted] == ["hash", "SALB", "refined split", "refined"]
    assert predicted == sorted(rows, key=lambda row: -row["slowest_ms"])
