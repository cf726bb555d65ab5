"""Do the figures of a stream from a real Kafka broker come out right, and does a run fail where it has to?"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from benchmarks import kafka_latency, resident, soak
from benchmarks.feed import Feed, Stage, bodies
from benchmarks.matching import Workload
from benchmarks.names import Name
from benchmarks.workloads import workload
from tidings.cluster.journal import Report
from tidings.cluster.pipeline_folder import PipelineFolder
from tidings.model import DataError
from tidings.spark.progress import Progress


def made() -> Workload:
    return workload(Name.words, None, 200, posts=400, seed=2, made_up_rows=3_000)


@pytest.mark.slow
@pytest.mark.spark
def test_latency_is_measured_and_new_subscriptions_match_at_once(kafka: Stage, tmp_path: Path) -> None:
    settings = kafka_latency.Settings(rate=100, seconds=6, warmup_s=1, probe_s=3)
    figures = kafka_latency.measure(made(), settings, replace(kafka, folder=tmp_path))
    assert 0 < figures["latency_median_ms"] <= figures["latency_p90_ms"] <= figures["latency_p99_ms"]
    assert figures["latency_p99_ms"] <= figures["latency_max_ms"] and figures["matches"] > 0
    assert figures["batches"] > 0 and figures["batch_addBatch_ms_median"] <= figures["batch_triggerExecution_ms_median"]
    assert figures["posts"] >= sum(figures["second_posts"]) > 0
    assert figures["new_subscription_matches_in_batch"] in (1, None)
    kafka_latency.draw(figures, tmp_path / "latency.svg")
    assert (tmp_path / "latency.svg").read_text(encoding="utf-8").count("<svg") == 1


@pytest.mark.slow
@pytest.mark.spark
def test_a_soak_tells_of_memory_lag_and_old_segments(kafka: Stage, tmp_path: Path) -> None:
    settings = soak.Settings(minutes=0.3, rate=100, changes_per_s=10, sample_s=2)
    figures = soak.measure(made(), settings, replace(kafka, folder=tmp_path))
    assert figures["changes"] > 0 < figures["posts"] and figures["registry_version"] > 5
    assert figures["matches"] >= figures["matches_so_far"][-1] > 0
    assert len(figures["second"]) == len(figures["lag_posts"]) > 3
    assert min(figures["driver_mb"]) > 10 < min(figures["jvm_mb"]) and max(figures["journal_files"]) > 1
    assert figures["segments_seen"] >= figures["segments_at_end"] > 0
    assert figures["segments_verdict"] == "old ones are gone"
    assert figures["memory_verdict"] == "flat" or figures["memory_verdict"].startswith("grows")
    soak.draw(figures, tmp_path / "soak.svg")
    assert (tmp_path / "soak.svg").read_text(encoding="utf-8").count("<svg") == 1


@pytest.mark.slow
@pytest.mark.spark
def test_posts_are_stamped_with_the_instant_at_which_they_are_due(kafka: Stage) -> None:
    with Feed(kafka.broker.servers, bodies(pa.table({"id": ["a", "b"], "text": ["fire", "smoke"]})), rate=200) as feed:
        while feed.sent < 300:
            pass
    where = {"kafka.bootstrap.servers": kafka.broker.servers, "subscribe": feed.topic}
    records = kafka.spark.read.format("kafka").options(**where).load()
    rows = records.selectExpr("from_json(CAST(value AS string), 'id string, ts timestamp, text string') post").select(
        "post.*"
    )
    table = rows.toArrow().sort_by("ts")
    assert table.num_rows == feed.sent and table["id"].to_pylist() == [f"p{n}" for n in range(feed.sent)]
    assert table["text"].to_pylist()[:4] == ["fire", "smoke", "fire", "smoke"]
    steps_us = np.diff(table["ts"].cast(pa.int64()).to_numpy())
    assert abs(steps_us - 5_000).max() <= 1


@pytest.mark.slow
def test_a_feed_without_a_broker_says_so() -> None:
    with pytest.raises(DataError, match=r"is there a broker at 127\.0\.0\.1:9"), Feed("127.0.0.1:9", ["}"], rate=1):
        pass


def arrived(began: float, posts: int, version: int, subscriptions: list[str]) -> kafka_latency.Arrived:
    told = Progress(Report(7, version, posts, 0, len(subscriptions), 80.0), 1.0, None, "2026-01-01T00:00:00.000Z")
    return kafka_latency.Arrived(
        began, began + 0.2, told, np.zeros(len(subscriptions)), pa.chunked_array([subscriptions])
    )


def test_a_new_subscription_that_is_missed_fails_the_run() -> None:
    probes = [kafka_latency.Probe("probe-0", since=10.0, first=3, last=4)]
    before, first = arrived(9.9, 2, 2, ["s1"]), arrived(10.1, 2, 3, ["probe-0", "s1", "probe-0"])
    figures = kafka_latency._subscribed(probes, [before, first])
    assert figures["new_subscriptions_tried"] == 1 and figures["new_subscription_ms_max"] == pytest.approx(300)
    for missed in (arrived(10.1, 2, 3, ["probe-0", "s1"]), arrived(10.1, 2, 2, ["s1"])):
        with pytest.raises(DataError, match="had subscribed"):
            kafka_latency._subscribed(probes, [before, missed, first])


def test_a_new_subscription_that_was_gone_before_the_next_batch_tells_nothing() -> None:
    probes = [kafka_latency.Probe("probe-0", since=10.0, first=3, last=4)]
    figures = kafka_latency._subscribed(probes, [arrived(10.1, 2, 4, ["s1"])])
    assert figures["new_subscriptions_tried"] == 0 and figures["new_subscription_matches_in_batch"] is None


def sample(second: float, memory_mb: float, lag: int) -> soak.Sample:
    return soak.Sample(second, 100.0, memory_mb, 100.0, lag, 80.0, 2_000.0, 0, 9, 100, 200)


def test_memory_and_lag_that_grow_are_told_and_what_comes_first_does_not_count() -> None:
    settings = soak.Settings(rate=1_000)
    steady = [sample(5.0 * n, 800.0 if n > 30 else 100.0, 300) for n in range(100)]
    found = soak._verdicts(steady, settings)
    assert (found["memory_verdict"], found["lag_verdict"]) == ("flat", "does not grow")
    leaking = [sample(5.0 * n, 800.0 + n, 300 + 20 * n) for n in range(100)]
    found = soak._verdicts(leaking, settings)
    assert found["jvm_mb_per_hour"] == pytest.approx(720) and found["driver_verdict"] == "flat"
    assert found["memory_verdict"].startswith("grows") and found["lag_verdict"].startswith("grows")


def test_segments_that_no_release_names_and_releases_that_nobody_needs_are_told(tmp_path: Path) -> None:
    home = PipelineFolder(tmp_path)
    home.releases.mkdir()
    for name in ("segment-a.tidings", "segment-b.tidings"):
        (home.releases / name).touch()
    named = json.dumps({"parts": [{"segments": ["segment-a.tidings", "segment-b.tidings"]}]})
    (home.releases / "release-9.json").write_text(named)
    found = soak._leftovers(home, {"segment-old.tidings"})
    assert (found["segments_seen"], found["segments_at_end"], found["segments_verdict"]) == (3, 2, "old ones are gone")
    (home.releases / "segment-c.tidings").touch()
    assert soak._leftovers(home, set())["segments_verdict"] == "1 are left over, and 1 releases"
    (home.releases / "segment-c.tidings").unlink()
    for version in (10, 11):
        (home.releases / f"release-{version}.json").write_text(named)
    assert soak._leftovers(home, set())["segments_verdict"] == "0 are left over, and 3 releases"


def test_processes_apart_and_all_that_they_started_do_not_count() -> None:
    everything = resident.usage(1)
    assert resident.usage(1, without={os.getpid()}).processes < everything.processes
