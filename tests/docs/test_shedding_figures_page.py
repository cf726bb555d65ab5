"""Are the numbers of the page on shedding those of the result files, and do they show what the page says?"""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from tests.docs.tables import RESULTS, ROOT, PageTable, cells, figures_of, one, rows_of, tables

PAGE = (ROOT / "docs" / "papers" / "s3tm-shedding.md").read_text(encoding="utf-8")
_EQUAL_WORK = re.compile(r"<!-- at equal work: partitioner=(\w+) matchers=(\d+) -->\n+((?:\|.*\n)+)")
LAYOUTS = [(name, matchers) for name in ("SALB", "refined") for matchers in (16, 64)]


@pytest.mark.parametrize("part", ["accuracy", "posts", "spike"])
def test_a_result_file_is_of_real_posts(part: str) -> None:
    record = json.loads((RESULTS / f"shedding-{part}.json").read_text(encoding="utf-8"))
    assert record["dataset"] == "real files" and record["name"] == f"shedding {part}"


@pytest.mark.parametrize("table", tables(PAGE, "shedding"), ids=lambda table: table.file)
def test_every_number_of_a_table_is_in_its_result_file(table: PageTable) -> None:
    table.check()


def test_the_page_has_tables_of_accuracy_and_posts() -> None:
    assert {table.file for table in tables(PAGE, "shedding")} == {"shedding-accuracy", "shedding-posts"}


def at_work(partitioner: str, matchers: int, policy: str, work: float) -> float:
    """The accuracy where so much of the work is shed, between two limits in proportion."""
    labels = {"partitioner": partitioner, "matchers": matchers, "policy": policy}
    own = [row for row in rows_of("shedding-accuracy") if all(row[name] == value for name, value in labels.items())]
    found = sorted((row["work_shed"], row["accuracy"]) for row in own)
    shed, left = zip((0.0, 1.0), *found, strict=True)
    return float(np.interp(work, shed, left))


@pytest.mark.parametrize("table", [match.groups() for match in _EQUAL_WORK.finditer(PAGE)])
def test_accuracies_at_equal_work_follow_from_the_result_file(table: tuple[str, str, str]) -> None:
    partitioner, matchers, text = table
    head, _, *lines = (cells(line) for line in text.splitlines())
    for policy, *numbers in lines:
        found = [f"{at_work(partitioner, int(matchers), policy, float(work)):.3f}" for work in head[1:]]
        assert numbers == found, policy


def test_at_equal_work_the_policies_differ_less_than_at_equal_copies() -> None:
    assert len(_EQUAL_WORK.findall(PAGE)) == 2 and "1.02 to 1.28 times the matches of `random`" in PAGE
    for layout in LAYOUTS:
        for work in (0.1, 0.2, 0.4, 0.6):
            by = {name: at_work(*layout, name, work) for name in ("matches", "threshold", "subscription", "consensus")}
            assert max(by, key=lambda name: by[name]) == "matches"
            assert 1.02 <= by["threshold"] / at_work(*layout, "random", work) <= 1.285
            assert by["subscription"] == pytest.approx(by["consensus"], rel=0.02)


@pytest.mark.parametrize(("partitioner", "matchers"), LAYOUTS)
def test_at_the_same_load_subscription_is_ahead_of_consensus_and_that_of_random(
    partitioner: str, matchers: int
) -> None:
    rows = [row for row in rows_of("shedding-accuracy") if row["partitioner"] == partitioner]
    for m in {row["m"] for row in rows}:
        own = [one(rows, matchers=matchers, m=m, policy=name) for name in ("matches", "subscription", "consensus")]
        chance, threshold = (one(rows, matchers=matchers, m=m, policy=name) for name in ("random", "threshold"))
        assert len({row["copies_shed"] for row in own}) == 1
        assert chance["copies_shed"] == pytest.approx(own[0]["copies_shed"], abs=0.006)
        assert threshold["copies_shed"] == pytest.approx(own[0]["copies_shed"], abs=0.012)
        assert threshold["accuracy"] > own[1]["accuracy"] or m > 12
        best, subscription, consensus = (row["accuracy"] for row in own)
        assert best >= subscription >= consensus >= chance["accuracy"]
        assert m > 8 or best > subscription > consensus > chance["accuracy"]


@pytest.mark.parametrize(("partitioner", "matchers"), LAYOUTS)
def test_a_quarter_of_the_load_is_shed_at_nine_tenths_of_the_matches(partitioner: str, matchers: int) -> None:
    rows = [row for row in rows_of("shedding-accuracy") if row["m"] == 1]
    for policy in ("threshold", "matches"):
        assert one(rows, partitioner=partitioner, matchers=matchers, policy=policy)["shed_at_90"] >= 0.25


def test_at_the_levels_of_a_pipeline_the_estimates_are_within_a_fifth_of_the_truth() -> None:
    rows = [row for row in rows_of("shedding-accuracy") if row["m"] <= 7]
    assert all(0.8 <= row["by_spared"] <= 1.2 for row in rows)
    assert all(0.8 <= row["by_rates"] <= 1.2 for row in rows if row["policy"] != "matches")


def test_the_table_of_the_spike_is_that_of_its_result_file() -> None:
    rows = rows_of("shedding-spike")
    lines = [cells(line) for line in PAGE.splitlines() if re.match(r"\| \d+ s \|", line)]
    for delay, first, rest, most, back in lines:
        row = next(row for row in rows if row["delay_s"] == float(delay.removesuffix(" s")))
        low, high = row["rest_low"], row["rest_high"]
        assert rest == (f"{low} to {high}" if low < high else f"{low}") and high - low <= 1
        told = [float(cell.removesuffix(" s")) for cell in (first, most, back)]
        assert told == [row["first_step_s"], row["most_waiting_s"], row["back_to_0_s"]]
        assert row["turns_at_rest"] <= 2  # one step up and one down
    assert len(lines) == 3 and rows[-1]["level"] == 0


def test_what_is_told_of_the_spike_on_spark_is_in_its_result_file() -> None:
    told = figures_of("shedding-live")
    asked = told["shed_matches"] + told["shed_lost"]
    for said in (
        f"{told['posts_per_s']:,} posts a second in batches of {told['batch_posts']:,}",
        f"| {told['shed_posts']:,} | {told['block_posts']:,} |",
        f"| {told['shed_lost']:,} of {asked:,} | {told['block_lost']} |",
        f"| {told['shed_told_by_true']:.3f} | |",
        f"| {told['shed_most_lag_s']:.1f} s | {told['block_most_lag_s']:.1f} s |",
        f"level 0 after {told['shed_back_to_0_s']:.0f} s | caught up {told['block_catching_up_s']} s after",
    ):
        assert said in PAGE, said
    low, high = told["shed_rest_low"], told["shed_rest_high"]
    assert f"| level in the second half of the spike | {low} to {high} | 0 |" in PAGE
    assert high - low <= 1 and told["shed_turns_at_rest"] <= 1 and told["shed_last_level"] == 0
    rows = [row for row in rows_of("shedding-live") if row["overload"] == "shed"]
    last = [row["lag_s"] for row in rows if 90 <= row["second"] < 150]
    assert last[-1] < told["delay_s"] < max(last) < 2.5 * told["delay_s"]  # it falls again, while the spike goes on


def test_what_is_told_of_shedding_to_capacity_is_in_its_result_file() -> None:
    told = figures_of("shedding-capacity")
    ways = ("shed", "random", "block")
    for name, shown in (
        ("posts", [f"{told[f'{way}_posts']:,}" for way in ways]),
        ("matches in the spike", [f"{told[f'{way}_spike_matches']:,}" for way in ways]),
        ("part of all matches in the spike", [f"{told[f'{way}_spike_accuracy']:.4f}" for way in ways]),
        ("longest lag", [f"{told[f'{way}_most_lag_s']:.1f} s" for way in ways]),
        ("longest lag once settled", [f"{told[f'{way}_settled_lag_s']:.1f} s" for way in ways]),
    ):
        assert f"| {name} | {' | '.join(shown)} |" in PAGE
    assert f"{told['posts_per_s']:,} posts a second can be handled in batches of {told['batch_posts']:,}" in PAGE
    assert f"keeps {told['shed_by_random']:.3f} times the matches" in PAGE
    assert told["block_lost"] == 0
    rounds = f"{told['shed_by_random_1']:.3f} in one round, {told['shed_by_random_2']:.3f} in the other"
    assert rounds in PAGE and told["shed_by_random"] >= 1.15
    assert max(told["shed_settled_lag_s"], told["random_settled_lag_s"]) < 2 * told["delay_s"]
