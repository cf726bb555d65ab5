"""Are the numbers of the page of [S3TM] those of the result files, and do they show what the page says?"""

from __future__ import annotations

import re

import pytest

from tests.docs.tables import RESULTS, ROOT, PageTable, cells, figures_of, one, rows_of, tables

PAGE = (ROOT / "docs" / "papers" / "s3tm.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("table", tables(PAGE, "s3tm"), ids=lambda table: table.file)
def test_every_number_of_a_table_is_in_its_result_file(table: PageTable) -> None:
    table.check()


def test_the_page_has_tables_of_every_result_file() -> None:
    files = {path.stem for path in RESULTS.glob("s3tm-*.json")} - {"s3tm-words", "s3tm-words-notes"}
    assert {table.file for table in tables(PAGE, "s3tm")} == files


def test_the_table_of_the_data_is_that_of_both_corpora() -> None:
    tweets, notes = figures_of("s3tm-words"), figures_of("s3tm-words-notes")
    for label, name in {
        "posts": "posts",
        "different words": "different_words",
        "occurrences": "occurrences",
        "words a post": "words_per_post",
        "pairs that meet": "pairs",
    }.items():
        (row,) = (cells(line) for line in PAGE.splitlines() if re.match(rf"\| {label} (\|[^|]*){{4}}\|$", line))
        assert row[3:] == [f"{tweets[name]:,}", f"{notes[name]:,}"], label


def ahead(name: str, first: str, second: str, matchers: int) -> float:
    """By how much the throughput of one partitioner is above that of another, learned from all, by words, not split."""
    one_of, other = (
        one(rows_of(name), partitioner=partitioner, matchers=matchers, sent_for="words", split=False)["throughput"]
        for partitioner in (first, second)
    )
    return float(one_of / other - 1)


def test_whether_salb_is_ahead_of_gfcl_is_told_by_two_corpora() -> None:
    for name, gfcl in (("s3tm-headline-notes", [7, 3, -1]), ("s3tm-headline", [9, 2, 0])):
        assert [round(100 * ahead(name, "gFCL", "SALB", n)) for n in (16, 64, 256)] == gfcl
    assert [round(100 * ahead("s3tm-headline-notes", "SALB", "gNFCL", n)) for n in (16, 64, 256)] == [18, 32, 0]
    assert [round(100 * ahead("s3tm-headline", "gNFCL", "SALB", n)) for n in (16, 64, 256)] == [10, 1, 0]
    assert round(100 * ahead("s3tm-headline-notes", "refined", "SALB", 16)) == 25
    cut = [row for row in rows_of("s3tm-matchers") if row["model"] == "short"]
    short = [row["relative"] for row in cut if row["partitioner"] == "gFCL"]
    assert max(short) < 1 and round(100 * (1 / min(short) - 1)) == 21
    for name, times in (("s3tm-headline-notes", "3.2"), ("s3tm-headline", "1.8")):
        rows = rows_of(name)
        split = one(rows, partitioner="SALB", matchers=256, sent_for="words", split=True)["throughput"]
        assert f"{split / one(rows, partitioner='gFCL', matchers=256, sent_for='words')['throughput']:.1f}" == times


def test_both_readings_of_salb_are_level_up_to_64_matchers() -> None:
    for name in ("s3tm-readings", "s3tm-readings-notes"):
        rows = [row for row in rows_of(name) if row["sent_for"] == "words" and row["partitioner"] == "SALB listing"]
        assert all(row["relative"] == pytest.approx(1, abs=0.011) for row in rows if row["matchers"] <= 64)
        assert {(row["matchers"], row["split"]) for row in rows} >= {(16, False), (64, True), (256, True)}
    guards = one(rows_of(name), sent_for="guards", partitioner="SALB listing", matchers=64, split=False)
    assert round(100 * (guards["relative"] - 1)) == -18  # of notes
    at_most = {row["split"]: row["relative"] for row in rows if row["matchers"] == 256}  # of notes
    assert (round(100 * (at_most[False] - 1)), round(100 * (at_most[True] - 1))) == (-18, 3)


def test_all_folds_of_notes_were_held_out_also_for_metis() -> None:
    assert {row["folds"] for row in rows_of("s3tm-headline-notes")} == {10}


def test_weeks_have_as_many_subscriptions_as_the_page_says() -> None:
    assert figures_of("s3tm-weeks")["subscriptions"] == figures_of("s3tm-placement")["subscriptions"] == 20_000
    assert "20,000 in the figures of weeks and of placement" in PAGE


def test_what_the_page_says_of_weeks_is_in_its_file() -> None:
    rows = [row for row in rows_of("s3tm-weeks") if row["model"] == "topics"]
    late = sorted({row["weeks"] for row in rows if row["weeks"] >= 20})
    by = {
        name: [one(rows, partitioner=name, weeks=week)["relative"] for week in late]
        for name in ("hash", "gNFCL", "refined", "SALB relearned")
    }
    means = {name: round(100 * (sum(own) / len(own) - 1)) for name, own in by.items()}
    assert (len(late), means["hash"], means["gNFCL"], means["refined"]) == (29, -3, 5, 5)
    assert sum(one > 1 for one in by["hash"]) == 7 and sum(one > 1 for one in by["SALB relearned"]) == 25


def test_the_slowest_matcher_of_the_layouts_is_in_the_reverse_order_as_the_page_says() -> None:
    rows = rows_of("spark-layouts")
    slowest = [
        one(rows, subscriptions=100_000, matchers=16, partitioner=name)["slowest_matcher_ms"]
        for name in ("hash", "salb", "refined")
    ]
    assert "of hash takes {} ms, of SALB {}, of `refined` {}".format(*slowest) in re.sub(r"\s+", " ", PAGE)


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
    figures = figures_of("s3tm-spark")
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
