from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from benchmarks import layouts as bench_layouts
from benchmarks import plain_sql, resident
from benchmarks import spark as bench_spark
from benchmarks.layouts import layouts, sizes
from benchmarks.matching import Workload
from benchmarks.names import Name
from benchmarks.spark import WAYS_TO_FILES, Bench, memory, replicated, session, written
from benchmarks.workloads import workload
from tidings.model import DataError
from tidings.partitioning.learning import Quality


def made(count: int) -> Workload:
    return workload(Name.words, None, count, posts=400, seed=2, made_up_rows=3_000)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with session() as spark:
        yield Bench(spark, tmp_path_factory.mktemp("bench"))


@pytest.mark.slow
@pytest.mark.spark
def test_ours_and_all_ways_of_sql_are_equal_before_they_are_measured(bench: Bench) -> None:
    steps: list[int] = []
    figures = replicated(made(300), bench, rounds=1, sql_posts=100, advance=steps.append)
    assert len(steps) == bench_spark.WAYS
    assert (figures["posts"], figures["sql_posts"], figures["subscriptions"]) == (400, 100, 300)
    assert figures["matches_per_post"] > 0 and figures["sql_rarest_word_by"] in plain_sql.WAYS
    assert figures["ratio_to_floor"] > 0 < figures["ratio_to_sql_pairs"]
    assert figures["files_ratio_to_floor"] > 0 < figures["files_ratio_to_sql_pairs"]
    steps_us = [value for name, value in figures.items() if name.startswith("worker_")]
    assert len(steps_us) == 8 and all(value > 0 for value in steps_us)
    assert sum(steps_us[:-1]) <= 1.01 * figures["worker_all_us"]


@pytest.mark.slow
@pytest.mark.spark
def test_sql_that_loses_a_match_fails_the_run(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = plain_sql.prepared

    def forgetful(posts: pa.Table, asked: pa.Table) -> plain_sql.Prepared:
        found = honest(posts, asked)
        return plain_sql.Prepared(found.posts, found.subscriptions.slice(150))

    monkeypatch.setattr(plain_sql, "prepared", forgetful)
    with pytest.raises(DataError, match="other matches than ours"):
        replicated(made(300), bench, rounds=1)


@pytest.mark.slow
@pytest.mark.spark
def test_both_layouts_match_alike_and_shuffle_what_the_router_says(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_layouts, "MATCHERS", (2, 3))
    monkeypatch.setattr(bench_layouts, "LEARNED_FROM", 3)
    figures = layouts(made, [50, 2_000], bench, rounds=1)
    assert figures["subscriptions"] == [50] * 5 + [2_000] * 5 and figures["matchers"] == [0, 2, 3, 3, 3] * 2
    assert figures["partitioner"] == ["", "hash", "hash", "salb", "refined"] * 2
    assert figures["spread"] == figures["predicted_spread"] and figures["imbalance"] == figures["predicted_imbalance"]
    for spread, matchers, shuffled in zip(
        figures["spread"], figures["matchers"], figures["posts_shuffled"], strict=True
    ):
        assert 0 <= spread <= matchers and shuffled == pytest.approx(400 * spread, abs=2)
    assert max(figures["spread"]) > 1 and set(figures["auto"]) == {"replicated"}
    monkeypatch.setattr("benchmarks.layouts.measure", lambda mapping, incidence: Quality(400, np.zeros(2, np.int64)))
    with pytest.raises(DataError, match="that were predicted"):
        layouts(made, [50], bench, rounds=1)


@pytest.mark.slow
@pytest.mark.spark
def test_memory_is_that_of_driver_jvm_and_workers(bench: Bench) -> None:
    figures = memory(made(100), bench)
    parts = [figures[f"peak_{kind}_bytes"] for kind in ("driver", "jvm", "workers")]
    assert all(part > 10_000_000 for part in parts) and sum(parts) == figures["peak_resident_bytes"]
    assert figures["processes"] >= 4 and figures["index_bytes"] > 0


@pytest.mark.slow
@pytest.mark.spark
def test_all_ways_to_files_are_measured(bench: Bench) -> None:
    steps: list[int] = []
    figures = written(made(300), bench, rounds=1, sql_posts=100, advance=steps.append)
    assert sum(steps) == WAYS_TO_FILES and figures["sql_posts"] == 100
    assert min(figures[f"{way}_posts_per_s"] for way in ("ours", "files", "rows", "sql")) > 0
    assert not (bench.folder / "matches").exists()


def test_memory_that_comes_and_goes_is_seen() -> None:
    with resident.Watch() as watch:
        before = resident.usage(os.getpid()).resident_bytes
        taken = bytearray(os.urandom(1 << 20)) * 200
        while watch.peak.resident_bytes < before + (100 << 20):
            pass
        del taken
    assert resident.usage(os.getpid()).resident_bytes < watch.peak.resident_bytes


def test_sizes_end_where_they_are_told_to() -> None:
    assert sizes(100_000) == [10_000, 100_000]
    with pytest.raises(DataError, match="begin with 10,000"):
        sizes(9_999)
