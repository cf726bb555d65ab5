"""Are the numbers of the page of [PS2] those of the result files, and do they show what the page says?"""

from __future__ import annotations

import re

import pytest

from benchmarks.ps2.corpus import LENGTHS
from benchmarks.ps2.division import HYBRIDS
from benchmarks.ps2.page import filled
from tests.docs.tables import RESULTS, ROOT, PageTable, Row, figures_of, one, rows_of, tables

PAGE = (ROOT / "docs" / "papers" / "ps2.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("table", [*tables(PAGE, "ps2"), *tables(PAGE, "drift")], ids=lambda table: table.file)
def test_every_number_of_a_table_is_in_its_result_file(table: PageTable) -> None:
    table.check()


def test_the_page_is_as_result_files_fill_it() -> None:
    assert filled(PAGE, RESULTS) == PAGE
    assert PAGE.count("<!-- figure by figure -->") == 1 and "| 7c | Q3: hybrid by the best base | 1.30 |" in PAGE


def test_a_page_that_tells_other_numbers_is_filled_anew() -> None:
    row = re.compile(r"^\| (?:world|country|city|kd-tree) \|.*$", re.MULTILINE)
    wrong = row.sub(lambda found: re.sub(r"\d", "9", found[0]), PAGE)
    assert wrong != PAGE
    assert filled(wrong, RESULTS) == PAGE


def test_the_page_has_tables_of_every_result_file() -> None:
    assert {table.file for table in tables(PAGE, "ps2")} >= {f"ps2-hybrid-{length}" for length in LENGTHS}


def sweep() -> list[Row]:
    return [row for length in LENGTHS for row in rows_of(f"ps2-hybrid-{length}")]


def hybrids() -> list[Row]:
    return [row for row in sweep() if row["partitioner"] == "hybrid"]


def test_the_hybrid_is_ahead_by_as_much_as_the_page_says() -> None:
    ahead = {(row["map"], row["length"], row["queries"]): row["by_best_base"] for row in hybrids()}
    assert (
        len(ahead) == 27 and f"from {min(ahead.values()):.2f} to {max(ahead.values()):.2f} times the best base" in PAGE
    )
    of_country = [100 * (value - 1) for (map_name, _, _), value in ahead.items() if map_name == "country"]
    assert f"ahead by {min(of_country):.0f} to {max(of_country):.0f} %" in PAGE and min(of_country) >= 25


def test_how_far_the_hybrid_is_ahead_where_regions_differ_is_told() -> None:
    by = {row["length"]: row["by_best_base"] for row in hybrids() if (row["map"], row["queries"]) == ("country", "q3")}
    told = {length: round(100 * (ahead - 1)) for length, ahead in by.items()}
    assert f"{told['short']} % ahead with posts of 4 words, {told['own']} % with posts as they are" in PAGE
    others = [rows_of(name) for name in ("ps2-seed-2", "ps2-seed-3", "ps2-hybrid-100000")]
    ahead = [round(100 * (one(rows, map="country", partitioner="hybrid")["by_best_base"] - 1)) for rows in others]
    assert f"have {ahead[0]} and {ahead[1]} %" in PAGE and f"24,000 posts {ahead[2]} %" in PAGE


def test_what_is_told_of_bases_follows_from_their_loads() -> None:
    rows = sweep()
    for row in rows:
        same = [own for own in rows if all(own[name] == row[name] for name in ("map", "length", "queries"))]
        bases = [own for own in same if own["partitioner"] not in HYBRIDS]
        assert row["by_best_base"] == round(min(own["largest_load"] for own in bases) / row["largest_load"], 3)
        assert row["by_bound"] >= 1


def test_what_has_to_be_carried_is_as_the_page_says() -> None:
    rows = rows_of("migration")
    for formula in ("paper", "counted"):
        carried = {name: one(rows, formula=formula, algorithm=name)["carried_by_dp"] for name in ("GR", "SI", "RA")}
        assert 1 <= carried["GR"] <= 1.02 and 2 * carried["GR"] < min(carried["SI"], carried["RA"])


def test_the_longest_batch_came_before_the_first_move() -> None:
    live = figures_of("moves-live")
    first_moved = next(n for n, name in enumerate(live["mapping"]) if name != live["mapping"][0])
    assert live["batch_ms"].index(live["longest_ms"]) < first_moved - 2  # a batch or two see a move that is prepared


def test_every_number_of_a_sentence_about_drift_is_in_its_result_file() -> None:
    """``<!-- drift: NAME NAME … -->`` stands before a sentence that has these figures, in bold."""
    sentences = re.findall(r"<!-- (drift[\w-]*): ([\w ]+) -->\n([^|\n][^\n]*(?:\n[^\n]+)*)", PAGE)
    assert {name for name, _, _ in sentences} == {"drift", "drift-crowds", "drift-steady"}
    for name, values, text in sentences:
        told = [figures_of(name)[value] for value in values.split()]
        assert re.findall(r"\*\*([\d,.]+)\*\*", text) == [
            f"{value:,}" if isinstance(value, int) else f"{value:.2f}" for value in told
        ]


def test_what_is_said_of_drift_follows_from_its_figures() -> None:
    drift, crowds, steady = (figures_of(name) for name in ("drift", "drift-crowds", "drift-steady"))
    for run in (drift, crowds):
        assert (run["standing"], run["rows"], run["share"], run["matchers"]) == (100_000, 20_000, 0.1, 8)
        assert run["bound_by_load"] > run["by_load_moved_beside"] > run["by_load"] > run["by_load_all_wait"] > 1
        assert min(run["by_load"], run["by_load_of_busiest"]) >= 1.2 and run["times_as_many"] < 1
    assert (drift["crowd"], crowds["crowd"], steady["share"], steady["crowd"]) == (1, 4, 0, 1)
    assert max(drift["then_bound"]) - min(drift["then_bound"]) < 0.1
    assert drift["then_by_load"][0] == min(drift["then_by_load"])
    assert f"Written is {drift['bytes_written'] / drift['bytes_moved']:.1f} times" in PAGE
    assert (steady["standing"], steady["rows"], steady["batches"]) == (100_000, 20_000, 200)
    after = steady["batches"] - steady["last_moved_at"]
    assert f"In the {after} batches after that nothing moves" in PAGE and after > 80


def test_what_spark_says_of_the_order_is_as_the_page_says() -> None:
    rows = {row["partitioner"]: row for row in rows_of("ps2-spark")}
    by_load = sorted(rows, key=lambda name: rows[name]["rank_by_load"])
    assert by_load == ["hybrid", "kd-tree", "grid", "metric, near", "metric"]
    assert by_load == sorted(rows, key=lambda name: rows[name]["rank_expected"])
    ms = {name: row["slowest_ms"] for name, row in rows.items()}
    by_place = [ms[name] for name in ("hybrid", "kd-tree", "grid")]
    assert max(by_place) / min(by_place) < 1.03 and 1.3 * max(by_place) < ms["metric, near"] < ms["metric"]
    assert all(abs(row["load"] / row["expected_load"] - 1) < 0.03 for row in rows.values())
    kd, own = rows["kd-tree"], rows["hybrid"]
    assert round(kd["load"] / own["load"], 2) == 1.02 and own["most_queries"] == kd["most_queries"]


def test_what_clusters_in_one_process_say_is_as_the_page_says() -> None:
    rows, least = rows_of("ps2-cluster"), []
    for kind in ("q1", "q2", "q3"):
        of = {row["partitioner"]: row for row in rows if row["queries"] == kind}
        assert min(of, key=lambda name: of[name]["matcher_mb"]) == "hybrid"
        assert min(of["hybrid"]["router_mb"], of["kd-tree"]["router_mb"]) > of["metric"]["router_mb"]
        assert of["hybrid"]["query_copies"] == 1 == min(row["query_copies"] for row in of.values())
        assert 0.64 < of["hybrid"]["matcher_mb"] / of["kd-tree"]["matcher_mb"] < 0.81
        least += [min(of, key=lambda name: of[name]["busiest_ms"])]
    assert least == ["metric, near", "kd-tree", "hybrid"]
