"""What runs in Python workers: analysers give the same words there, and matches fit into what Spark is sent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.spark import inprocess
from tidings.analysis import ENGLISH, Analyser
from tidings.arrays import gathering
from tidings.cluster import steps
from tidings.registry.validation import check_subscriptions
from tidings.spark import Plan, Releases
from tidings.spark.tasks import WithNotes
from tidings.workloads import Posts


@pytest.mark.spark
def test_the_fast_analyser_gives_the_same_words_in_spark_workers(spark: SparkSession) -> None:
    posts = Posts(seed=3).table(2000).select(["id", "text"])
    analysed = (
        spark.createDataFrame(posts)
        .repartition(2)
        .mapInArrow(_words_of(Analyser()), "id string, words string, pid int")
    )
    rows = analysed.collect()
    exact = Analyser()
    expected = {row["id"]: " ".join(exact.words(row["text"])) for row in posts.to_pylist()}
    assert {row["id"]: row["words"] for row in rows} == expected
    assert os.getpid() not in {row["pid"] for row in rows}


@pytest.mark.parametrize("plan", [Plan("replicated"), Plan("partitioned", 3)])
def test_long_texts_go_to_spark_in_more_batches(plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queries, tags = ["fire", "smoke", "fire OR rain"] * 20, ["t" * 190] * 60
    asked = pa.table({"id": [f"s{i}" * 50 for i in range(60)], "query": queries, "tag": tags})
    release = Releases(tmp_path, ENGLISH, None, plan).compiled(check_subscriptions(asked, ENGLISH).accepted)
    posts = pa.table({"id": ["p" * n for n in range(1, 40)], "text": ["fire and smoke", "rain", "none"] * 13})
    whole = inprocess.found(posts, release)
    assert len(whole.pairs) == 13 * (60 + 20)
    monkeypatch.setattr(gathering, "MOST_BYTES", 1000)
    pieces = inprocess.found(posts, release)
    assert sorted(pieces.pairs) == sorted(whole.pairs) and pieces.notes.matches == whole.notes.matches
    if plan.layout == "replicated":
        assert max(batch.num_rows for batch in WithNotes(steps.MatchAll(release))(iter(posts.to_batches()))) <= 5


def test_what_is_sent_to_matchers_is_the_same_when_it_is_sent_again(tmp_path: Path) -> None:
    """Spark compares it where an executor died, and fails the job if a task that it runs again sends something else."""
    asked = pa.table({"id": ["s", "t"], "query": ["fire", "smoke OR rain"]})
    accepted = check_subscriptions(asked, ENGLISH).accepted
    release = Releases(tmp_path, ENGLISH, None, Plan("partitioned", 3)).compiled(accepted)
    posts = pa.table({"id": [*map(str, range(50)), "1"], "text": [*["fire and rain", "smoke"] * 25, "again"]})
    first, again = (
        pa.Table.from_batches(steps.Route(release, kept=5)(iter(posts.to_batches(max_chunksize=20)))).to_pylist()
        for _ in range(2)
    )
    assert first == again and len({row["matcher"] for row in first}) > 1


def _words_of(analyser: Analyser):  # type: ignore[no-untyped-def]  # a closure that Spark pickles
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from tidings.analysis.fast import FastAnalyser  # noqa: PLC0415  # on the worker

        fast = FastAnalyser(analyser)
        for batch in batches:
            sets = fast.analyse(batch.column("text"))
            words = [" ".join(fast.vocabulary[i] for i in sets.row(row)) for row in range(len(sets))]
            pids = pa.array([os.getpid()] * len(words), pa.int32())
            yield pa.RecordBatch.from_arrays([batch.column("id"), pa.array(words), pids], ["id", "words", "pid"])

    return work
