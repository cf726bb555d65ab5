from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.__main__ import main
from benchmarks.names import SheddingPart
from benchmarks.shedding import Plan, Setting, Spike, by_fraction, by_limit, draw, spikes
from benchmarks.shedding.accuracy import MATCHES
from benchmarks.shedding.setting import Found
from tidings.index import BruteForce
from tidings.language import parse
from tidings.model import DataError, Subscription
from tidings.partitioning import Mapping
from tidings.shedding import POLICIES, shedder

PLAN = Plan(partitioners=("SALB",), matchers=(8,), limits=(1, 3, 6, 8))


@pytest.fixture(scope="module")
def setting() -> Setting:
    return Setting.made(None, 1_500, 3_000, 2_000, seed=3)


def test_all_matches_are_those_of_brute_force_and_nothing_was_learned_from_them(setting: Setting) -> None:
    oracle = BruteForce()
    rows = setting.subscriptions.to_pylist()
    oracle.add(Subscription(row["id"], parse(row["query"])) for row in rows)
    some = setting.held.slice(0, 60)
    few = setting.found.rows < 60
    found = {(int(p), rows[s]["id"]) for p, s in zip(setting.found.rows[few], setting.found.numbers[few], strict=True)}
    assert found == oracle.match(some).pairs() and len(found) > 20
    assert not set(setting.held["id"].to_pylist()) & set(setting.learned["id"].to_pylist())


def test_rates_are_of_the_posts_that_were_learned_from(setting: Setting) -> None:
    laid = setting.laid(Mapping.hashed(4))
    learned = setting.laid(Mapping.hashed(4)).placement.router.occurrences(setting.learned)[0]
    expected = laid.rates[learned.ids[learned.ids >= 0]].sum()
    assert expected == pytest.approx(len(setting.seen), rel=0.2)
    assert laid.filed.sum() == 1_500


def test_what_is_not_kept_by_the_matchers_is_noticed(setting: Setting) -> None:
    laid = setting.laid(Mapping.hashed(4))
    kept = shedder("consensus", laid.filed).shed(laid.held, 1.5, laid.rates).kept
    laid.check([kept, laid.held.route()], 100)
    broken = replace(setting, found=Found(setting.found.rows[9:], setting.found.numbers[9:]))
    with pytest.raises(DataError, match="something else"):
        replace(laid, setting=broken).check([kept], 100)


def test_every_policy_is_measured_at_every_limit_and_sheds_as_much(setting: Setting) -> None:
    found = by_limit(setting, PLAN)
    rows = [dict(zip(_lists(found), values, strict=True)) for values in zip(*_lists(found).values(), strict=True)]
    by = {(row["policy"], row["m"]): row for row in rows}
    assert set(by) == {(policy, m) for policy in (*POLICIES, MATCHES) for m in PLAN.limits} and len(by) == len(rows)
    for m in PLAN.limits:
        assert (
            by["subscription", m]["copies_shed"] == by["consensus", m]["copies_shed"] == by[MATCHES, m]["copies_shed"]
        )
        assert by["random", m]["copies_shed"] == pytest.approx(by["consensus", m]["copies_shed"], abs=0.04)
        assert by["subscription", m]["accuracy"] >= by["random", m]["accuracy"] - 0.01
    assert by["random", 8]["accuracy"] == 1 and by["random", 8]["by_rates"] is None and by["random", 8]["lost"] == 0
    assert by["subscription", 1]["by_rates"] == pytest.approx(1, abs=0.3)


def _lists(figures: dict[str, object]) -> dict[str, list[object]]:
    return {name: value for name, value in figures.items() if isinstance(value, list)}


def test_posts_are_dropped_where_least_is_expected(setting: Setting) -> None:
    found = by_fraction(setting, (0.9, 0.5))
    accuracy = dict(zip(zip(found["policy"], found["kept"], strict=True), found["accuracy"], strict=True))
    assert accuracy[MATCHES, 0.5] > accuracy["random", 0.5] + 0.1 and accuracy["subscription", 0.5] > 0.5
    assert accuracy["random", 0.5] == pytest.approx(0.5, abs=0.1)


def test_a_spike_raises_the_level_and_a_longer_delay_raises_it_later(setting: Setting) -> None:
    found = spikes(setting, Spike(peak=1.5, delays_s=(3.0, 30.0)))
    first = dict(zip(found["delay_s"], found["first_step_s"], strict=True))
    assert 0 < first[3.0] < first[30.0]
    assert max(found["level"]) > 0 and found["level"][-1] == 0
    assert all(high - low <= 1 for low, high in zip(found["rest_low"], found["rest_high"], strict=True))
    assert max(found["rate"]) == pytest.approx(1.5, abs=0.01)


@pytest.mark.parametrize("part", [pytest.param("accuracy", marks=pytest.mark.slow), "posts", "spike"])
def test_the_command_writes_figures_and_a_picture(
    part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["--save", str(tmp_path / "it.json"), "--plot", str(tmp_path / "it.svg")]
    words = "--subscriptions 500 --learn 800 --posts 600 --format csv".split()
    monkeypatch.setattr(sys, "argv", ["benchmarks", "shedding", part, *words, *out])
    with pytest.raises(SystemExit) as leaving:
        main()
    assert not leaving.value.code and "," in capsys.readouterr().out
    record = json.loads((tmp_path / "it.json").read_text(encoding="utf-8"))
    again = tmp_path / "again.svg"
    draw(SheddingPart(part), record["figures"], again)
    assert again.read_bytes() == (tmp_path / "it.svg").read_bytes()
    assert record["name"] == f"shedding {part}" and record["dataset"] == "made-up posts"


def test_too_few_posts_are_told(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["a"], "ts": [0], "user": ["u"], "text": ["fire"]}), tmp_path / "tweets.parquet")
    with pytest.raises(DataError, match="ask for fewer"):
        Setting.made(tmp_path, 10, 10, 10, seed=1)
