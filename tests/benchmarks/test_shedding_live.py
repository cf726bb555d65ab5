"""Does a spike on a real Spark and a real Kafka broker come out right, and does a run fail where it has to?"""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.feed import Broker, Feed, Stage
from benchmarks.matching import Workload, silent
from benchmarks.names import Name, SheddingPart
from benchmarks.shedding import draw, live
from benchmarks.shedding.setting import Found
from benchmarks.workloads import workload
from tidings.index.guard import GuardIndex
from tidings.model import DataError


def made() -> Workload:
    return workload(Name.words, None, 3_000, posts=400, seed=2, made_up_rows=9_000)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(600)
def test_a_spike_is_shed_or_caught_up_with(kafka: Stage, tmp_path: Path) -> None:
    settings = live.Settings(
        spike_s=20, before_s=5, after_s=10, delay_s=4, batch_posts=2_000, trial_s=15, trial_rate=8_000
    )
    figures = live.measure(made(), settings, kafka.broker, tmp_path)
    assert figures["block_lost"] == 0 and figures["block_accuracy"] == 1 and figures["posts_per_s"] > 0
    levels = zip(figures["overload"], figures["level"], strict=True)
    assert {level for name, level in levels if name.startswith("block")} == {0}
    assert 0 < figures["random_accuracy"] <= 1 and figures["shed_by_random"] > 0
    assert 0 < figures["shed_accuracy"] <= 1 and (figures["shed_lost_told"] > 0) >= (figures["shed_lost"] > 100)
    draw(SheddingPart.live, figures, tmp_path / "live.svg")
    assert (tmp_path / "live.svg").read_text(encoding="utf-8").count("<svg") == 1


def sink_of(folder: Path, pairs: list[tuple[str, str]], mode: str) -> None:
    path = folder / mode / "matches" / "pipeline=x" / "batch=0"
    path.mkdir(parents=True)
    names = ("publication_id", "subscription_id")
    pq.write_table(pa.table(dict(zip(names, zip(*pairs, strict=True), strict=True))), path / "a.parquet")


@pytest.mark.parametrize("mode", live.MODES)
def test_what_is_wrong_or_twice_or_missing_where_nothing_is_shed_fails_the_run(mode: str, tmp_path: Path) -> None:
    asked, posts = (
        pa.table({"id": ["s", "t"], "query": ["fire", "rain"]}),
        pa.table({"id": ["a", "b"], "text": ["fire", "rain"]}),
    )
    index = GuardIndex()
    index.add_table(asked)
    truth = Found.of(index, posts, asked["id"].combine_chunks())
    run = live.Run(mode, mode, sent=3)  # p0 and p2 are a, p1 is b
    right = [("p0", "s"), ("p1", "t"), ("p2", "s")]
    for number, pairs in enumerate([right, right[:2], [*right, right[0]], [*right[:2], ("p2", "t")]]):
        folder = tmp_path / str(number)
        sink_of(folder, pairs, mode)
        asking = Workload("", asked, posts, posts, posts)
        bench = live.Live(asking, live.Settings(), Broker(""), folder, silent)  # the sink is all that is looked at
        if number == 0 or (number == 1 and mode != "block"):
            told = bench.checked(run, truth)
            assert (told["lost"], told["matches"]) == (number, 3 - number)
        else:
            with pytest.raises(DataError, match=f"{mode}: "):
                bench.checked(run, truth)


def test_the_level_is_judged_by_the_second_half_of_the_spike_and_by_what_comes_after() -> None:
    settings = live.Settings(before_s=2, spike_s=6, after_s=4)
    levels = [0, 0, 1, 2, 3, 4, 3, 4, 4, 2, 0, 0]
    rows = [{"second": float(second), "level": level, "lag_s": level / 2} for second, level in enumerate(levels)]
    told = live.verdicts_of(rows, settings)
    assert told == {
        "most_lag_s": 2.0, "settled_lag_s": 2.0,
        "rest_low": 3, "rest_high": 4, "turns_at_rest": 2, "back_to_0_s": 2.0, "last_level": 0
    }  # fmt: skip


def test_the_runs_of_a_mode_are_added_up_and_judged_by_the_worst() -> None:
    one = {"posts": 10, "matches": 6, "lost": 2, "lost_told": 3, "spike_matches": 1, "spike_wanted": 3}
    other = {"posts": 10, "matches": 8, "lost": 0, "lost_told": 0, "spike_matches": 3, "spike_wanted": 3}
    told = live.added([one, other])
    assert told["posts"] == 20 and (told["accuracy"], told["told_by_true"]) == (0.875, 1.5)
    assert told["spike_accuracy"] == pytest.approx(4 / 6, abs=1e-3)
    lags: list[dict[str, float | None]] = [
        {"settled_lag_s": 9.0, "rest_low": 3, "back_to_0_s": None},
        {"settled_lag_s": 7.0, "rest_low": 2, "back_to_0_s": 1.0},
    ]
    assert live.worst(lags) == {"settled_lag_s": 9.0, "rest_low": 2, "back_to_0_s": 1.0}


def test_a_feed_goes_on_at_another_rate_from_the_post_that_is_next() -> None:
    feed = Feed("nobody", ["}"], rate=100.0)
    now = time.time()
    feed._paces = [(0, now, 100.0), (50, now + 0.5, 10.0)]
    assert [round(feed.due(number) - now, 3) for number in (0, 49, 50, 60)] == [0.0, 0.49, 0.5, 1.5]
