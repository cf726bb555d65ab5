"""Are the numbers of the page of [PADRES] those of the result files?"""

from __future__ import annotations

import pytest

from tests.docs.tables import RESULTS, ROOT, PageTable, check_sentences, one, rows_of, tables

PAGE = (ROOT / "docs" / "papers" / "padres.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("table", [*tables(PAGE, "padres"), *tables(PAGE, "policies")], ids=lambda table: table.file)
def test_every_number_of_a_table_is_in_its_result_file(table: PageTable) -> None:
    table.check()


def test_the_page_has_every_result_file() -> None:
    files = {path.stem for path in RESULTS.glob("padres-*.json")}
    assert files
    assert all(f"../results/{name}.json" in PAGE for name in files)


def test_every_number_of_a_sentence_is_in_its_result_file() -> None:
    assert check_sentences(PAGE, "padres")


def test_what_is_said_of_policies_on_parcels_follows_from_their_figures() -> None:
    none, local, padres = (one(rows_of("policies"), policy=policy) for policy in ("none", "local", "padres"))
    assert none["by_load"] == 1 and 1.15 < local["by_load"] < padres["by_load"]
    assert padres["subscriptions_moved"] < local["subscriptions_moved"]
    assert none["mean_load"] < padres["mean_load"] < local["mean_load"]
    drift = {policy: one(rows_of("policies-drift"), policy=policy)["by_load"] for policy in ("none", "local", "padres")}
    assert 1 == drift["none"] < drift["padres"] < drift["local"]


def test_what_is_said_of_policies_in_pipelines_follows_from_their_figures() -> None:
    none, local, padres = (one(rows_of("policies-live"), policy=policy) for policy in ("none", "local", "padres"))
    for policy in (local, padres):
        assert policy["by_load_moved_beside"] >= 1.5 and policy["by_load"] < 1
        assert abs(policy["mean_load"] / none["mean_load"] - 1) < 0.05


def test_what_is_said_of_clusters_follows_from_their_figures() -> None:
    clusters, whole = rows_of("padres-clusters"), one(rows_of("padres-global"), run="proposed")
    assert all(row["sessions_at_rest"] == int(str(row["run"]) == "5") for row in [*clusters, whole])
    assert all(max(row["neighbours_input"], row["neighbours_output"]) <= 0.15 for row in [*clusters, whole])
    assert max(whole["neighbours_input_before"], whole["neighbours_output_before"]) <= 0.15
    assert {round(row["output_spread"], 2) for row in clusters if int(row["run"]) >= 4} == {0.27, 0.29}
    assert min(row["worst_output"] for row in clusters) == one(clusters, run=3)["worst_output"]


def test_what_is_said_of_random_choices_follows_from_their_figures() -> None:
    local = one(rows_of("padres-local"), run="proposed")
    names = ("local, random", "testbed, proposed", "testbed, random")
    ours, single, _ = (one(rows_of("padres-random"), run=name) for name in names)
    assert (ours["moves"], local["moves"]) == (2_620, 2_502)
    assert max(ours[f"{metric}_spread{when}"] for metric in ("input", "output") for when in ("", "_before")) <= 0.1
    assert (single["sessions_at_rest_before"], single["sessions_at_rest"]) == (7, 0)
    assert (single["output_spread_before"], single["output_spread"]) == (0.318, 0.163)
    _, ordered, random = (one(rows_of("padres-repeated-random"), run=name) for name in names)
    assert round(random["moves"] / ordered["moves"], 1) == 3.0
    assert (round(random["worst_output"], 1), round(ordered["worst_output"], 2)) == (2.7, 0.72)
    assert round(random["delay_ms"], -3) == 11_000 and round(ordered["delay_ms"]) == 53
    assert (ordered["sessions_at_rest_before"], ordered["sessions_at_rest"]) == ((7 + 4) / 5, 0)


def test_what_is_said_of_churn_follows_from_its_figures() -> None:
    rows = rows_of("padres-churn")
    assert all(max(row["input_spread"], row["output_spread"], row["delay_spread_ms"] / 100) <= 0.1 for row in rows)
    for name, share in (("grouped", 2 / 3), ("individual", 1 / 2)):
        assert one(rows, run=name)["pie_per_s"] < share * one(rows, run=f"{name}, plain PIE")["pie_per_s"]


def test_what_is_said_of_edges_follows_from_their_figures() -> None:
    rows = rows_of("padres-edges")
    assert all(row["sessions_at_rest"] == 0 and row["last_move_s"] <= 1_560 for row in rows)
    apart = {row["run"]: max(row["input_spread"], row["output_spread"]) for row in rows}
    assert max(apart.values()) <= 0.1 and all(row["delay_spread_ms"] <= 10 for row in rows)
    assert round(one(rows, run=2)["delay_ms"] / one(rows, run=8)["delay_ms"]) == 5


def test_what_is_said_of_several_seeds_follows_from_their_figures() -> None:
    adaptive, plain = (one(rows_of("padres-repeated"), run=name) for name in ("proposed", "plain PIE"))
    assert round(1 - adaptive["pie_at_rest_per_s"] / plain["pie_at_rest_per_s"], 2) == 0.62
    assert round(1 - adaptive["messages_each"] / plain["messages_each"], 2) == 0.59
    for row in (adaptive, plain):
        assert row["sessions_at_rest_before"] == row["sessions_at_rest"] == 0
        assert row["input_error_percent"] < 8 and row["output_error_percent"] < 3
