"""What matching on Spark stands on: the analysers travel to Python workers and give the same words there."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tidings.terms import Analyser
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


def _words_of(analyser: Analyser):  # type: ignore[no-untyped-def]  # a closure that Spark pickles
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from tidings.terms.fast import FastAnalyser  # noqa: PLC0415  # on the worker

        fast = FastAnalyser(analyser)
        for batch in batches:
            sets = fast.analyse(batch.column("text"))
            words = [" ".join(fast.vocabulary[i] for i in sets.row(row)) for row in range(len(sets))]
            pids = pa.array([os.getpid()] * len(words), pa.int32())
            yield pa.RecordBatch.from_arrays([batch.column("id"), pa.array(words), pids], ["id", "words", "pid"])

    return work
