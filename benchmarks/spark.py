"""How fast does Spark match with our index, beside plain Spark SQL and beside doing nothing at all?

All ways read one file of posts and write to the sink that forgets, on two cores, in turn. Ours is measured with a
DataFrame of that file, and with the file itself, which workers read. Nothing at all is the floor: the same rows to
Python and back. A second floor is what comes out: as many rows of matches as ours gives, made up without a look at the
posts. Before anything is measured, ours and SQL have to give the same matches.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import plain_sql
from benchmarks.matching import Advance, Workload, best_and_median, silent
from benchmarks.resident import Watch
from benchmarks.worker_steps import worker_steps
from tidings.model import DataError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tidings.spark import ParquetFiles

CHECKED_POSTS = 2_000
TRIAL_POSTS = 10_000
"""Which way of SQL is the fastest shows only where its fixed costs, such as the broadcast, do not hide it."""

BATCH_ROWS = 20_000
WAYS_TO_FILES = 4
WAYS = 6
"""Floor, made up, ours of a DataFrame and of files, and SQL by the rarest word and by pairs."""
_MADE_UP_ROWS = 1 << 14
_FILE_PARTS = 16
SESSION = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.driver.memory": "4g",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(BATCH_ROWS),
    "spark.sql.shuffle.partitions": "8",
}


@contextmanager
def session(settings: dict[str, str] | None = None) -> Iterator[SparkSession]:
    """Spark with these settings, or as all ways of matching are measured: on two cores; stopped at the end."""
    from tidings.spark.config import started  # the JVM starts only where something is measured

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    spark = started("tidings benchmarks", SESSION | plain_sql.SETTINGS if settings is None else settings)
    try:
        yield spark
    finally:
        spark.stop()


@dataclass(frozen=True, slots=True)
class Bench:
    """A session, and a folder for the files of a run."""

    spark: SparkSession
    folder: Path

    def written(self, name: str, table: pa.Table) -> DataFrame:
        """A table as a file that Spark reads in some equal parts."""
        path = self.folder / f"{name}.parquet"
        pq.write_table(table, path, row_group_size=-(-table.num_rows // _FILE_PARTS))
        return self.spark.read.parquet(str(path))


def replicated(
    workload: Workload, bench: Bench, rounds: int = 3, sql_posts: int | None = None, advance: Advance = silent
) -> dict[str, Any]:
    """Ours in the replicated layout, the fastest SQL, and the floor; ``advance`` is told of each run.

    ``sql_posts``: SQL gets the first so many posts only.
    """
    from tidings.spark import ParquetFiles
    from tidings.spark.tasks import COLUMNS, matches_of

    posts = bench.written("posts", workload.posts)
    began = time.perf_counter()
    ours = _ours(workload, bench, posts)
    compiled_s = time.perf_counter() - began
    files = _ours(workload, bench, ParquetFiles(bench.spark, bench.folder / "posts.parquet"))
    floor = posts.mapInArrow(unchanged, "id string, text string")
    first_s, _ = seconds(ours), seconds(floor)
    few = workload.posts.slice(0, CHECKED_POSTS)
    matches = _checked(workload, bench, few)
    trials = _trials(workload, bench, workload.posts.slice(0, TRIAL_POSTS))
    sql_rows = min(sql_posts or workload.posts.num_rows, workload.posts.num_rows)
    by_way = _asked_in_sql(bench, workload.posts.slice(0, sql_rows), workload.subscriptions)
    plain = max((way for way in plain_sql.WAYS if way != plain_sql.PAIRS), key=trials.__getitem__)
    made_up = posts.mapInArrow(MadeUp(round(matches / few.num_rows)), matches_of(COLUMNS))
    ways: dict[str, tuple[DataFrame, int]] = {
        "floor": (floor, workload.posts.num_rows),
        "made_up": (made_up, workload.posts.num_rows),
        "ours": (ours, workload.posts.num_rows),
        "files": (files, workload.posts.num_rows),
        "sql_rarest_word": (by_way(plain), sql_rows),
        "sql_pairs": (by_way(plain_sql.PAIRS), sql_rows),
    }
    rates = in_turn(ways, rounds, advance)
    best = {way: max(found) for way, found in rates.items()}
    return {
        "workload": workload.name,
        "subscriptions": workload.subscriptions.num_rows,
        "posts": workload.posts.num_rows,
        "sql_posts": sql_rows,
        "rounds": rounds,
        "matches_per_post": round(matches / few.num_rows, 2),
        "compiled_s": round(compiled_s, 2),
        "first_run_posts_per_s": round(workload.posts.num_rows / first_s),
        **{
            name: value
            for way, found in rates.items()
            for name, value in best_and_median(f"{way}_posts_per_s", found).items()
        },
        "sql_rarest_word_by": plain,
        **{
            f"{name}ratio_to_{way}": round(best[own] / best[way], 1)
            for own, name in (("ours", ""), ("files", "files_"))
            for way in ("sql_rarest_word", "sql_pairs")
        },
        "ratio_to_floor": round(best["ours"] / best["floor"], 3),
        "files_ratio_to_floor": round(best["files"] / best["floor"], 3),
        "ratio_to_made_up": round(best["ours"] / best["made_up"], 3),
        "trial_posts": min(TRIAL_POSTS, workload.posts.num_rows),
        **{f"trial_{way}_posts_per_s": round(rate) for way, rate in trials.items()},
        **worker_steps(workload, bench.folder / "index", BATCH_ROWS),
    }


def written(
    workload: Workload, bench: Bench, rounds: int = 3, sql_posts: int | None = None, advance: Advance = silent
) -> dict[str, Any]:
    """All matches to files of Parquet: by our workers, by Spark from our rows, and by Spark from the fastest SQL.

    ``sql_posts``: SQL gets the first so many posts only.
    """
    from tidings.spark import ParquetFiles, Plan, write_matches

    rows, few = workload.posts.num_rows, workload.posts.slice(0, CHECKED_POSTS)
    posts = bench.written("posts", workload.posts)
    files = ParquetFiles(bench.spark, bench.folder / "posts.parquet")
    matches = _checked(workload, bench, few)
    trials = _trials(workload, bench, workload.posts.slice(0, TRIAL_POSTS))
    sql_rows = min(sql_posts or rows, rows)
    plain = max(trials, key=trials.__getitem__)
    sql = _asked_in_sql(bench, workload.posts.slice(0, sql_rows), workload.subscriptions)(plain)
    index, target = bench.folder / "index", bench.folder / "matches"

    def by_workers(source: DataFrame | ParquetFiles) -> None:
        plan = Plan("replicated")
        write_matches(source, workload.subscriptions, target, plan=plan, folder=index, sample=workload.sample)

    ways: dict[str, tuple[Callable[[], None], int]] = {
        "ours": (lambda: by_workers(posts), rows),
        "files": (lambda: by_workers(files), rows),
        "rows": (lambda: _ours(workload, bench, posts).write.parquet(str(target)), rows),
        "sql": (lambda: sql.write.parquet(str(target)), sql_rows),
    }
    rates: dict[str, list[float]] = {way: [] for way in ways}
    for number in range(rounds + 1):  # the first is to warm up
        for way, (write, count) in ways.items():
            began = time.perf_counter()
            write()
            if number:
                rates[way].append(count / (time.perf_counter() - began))
                advance(1)
            shutil.rmtree(target)
    best = {way: max(found) for way, found in rates.items()}
    return {
        "workload": workload.name,
        "subscriptions": workload.subscriptions.num_rows,
        "posts": rows,
        "sql_posts": sql_rows,
        "rounds": rounds,
        "matches_per_post": round(matches / few.num_rows, 2),
        "sql_by": plain,
        **{
            name: value
            for way, found in rates.items()
            for name, value in best_and_median(f"{way}_posts_per_s", found).items()
        },
        **{f"{way}_ratio_to_sql": round(best[way] / best["sql"], 1) for way in ("ours", "files", "rows")},
    }


def memory(workload: Workload, bench: Bench) -> dict[str, Any]:
    """How much memory the driver, the JVM and the Python workers have at most while all posts are matched."""
    posts = bench.written("posts", workload.posts)
    with Watch() as watch:
        began = time.perf_counter()
        ours = _ours(workload, bench, posts)
        compiled_s = time.perf_counter() - began
        compiling = watch.peak
        match_s = min(seconds(ours), seconds(ours))
    peak = watch.peak
    return {
        "workload": workload.name,
        "subscriptions": workload.subscriptions.num_rows,
        "posts": workload.posts.num_rows,
        "compiled_s": round(compiled_s, 2),
        "posts_per_s": round(workload.posts.num_rows / match_s),
        "index_bytes": sum(file.stat().st_size for file in (bench.folder / "index").iterdir()),
        "processes": peak.processes,
        "compiling_peak_resident_bytes": compiling.resident_bytes,
        "peak_resident_bytes": peak.resident_bytes,
        **{f"peak_{kind}_bytes": size for kind, size in peak.by_kind.items()},
    }


def _ours(workload: Workload, bench: Bench, posts: DataFrame | ParquetFiles) -> DataFrame:
    from tidings.spark import match

    folder = bench.folder / "index"
    return match(posts, workload.subscriptions, layout="replicated", folder=folder, sample=workload.sample)


def unchanged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The floor: what comes in goes out."""
    yield from batches


@dataclass(frozen=True, slots=True)
class MadeUp:
    """``each`` rows of a match for each post, with its id and the same names for all: what rows cost by themselves."""

    each: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from tidings.tables.matches import IN_FILES

        step = max(1, _MADE_UP_ROWS // max(1, self.each))
        rows = np.repeat(np.arange(step), self.each)
        name, nobody = pa.array(["s0000000"] * len(rows)), pa.nulls(len(rows), pa.string())
        rest = [
            name,
            name,
            nobody,
            pa.array(np.ones(len(rows), np.int64)),
            pa.nulls(len(rows), IN_FILES.field("ts").type),
        ]
        for batch in batches:
            ids = batch.column("id")
            for start in range(0, batch.num_rows, step):
                own = pa.array(rows[: self.each * min(step, batch.num_rows - start)])
                columns = [ids.slice(start, step).take(own), *(column.slice(0, len(own)) for column in rest)]
                yield pa.RecordBatch.from_arrays(columns, schema=IN_FILES)


def seconds(frame: DataFrame) -> float:
    """How long it takes to make all rows, which nobody gets."""
    began = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - began


def in_turn(ways: dict[str, tuple[DataFrame, int]], rounds: int, advance: Advance) -> dict[str, list[float]]:
    """Posts a second of each way, round by round."""
    rates: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, (frame, posts) in ways.items():
            rates[way].append(posts / seconds(frame))
            advance(1)
    return rates


def _asked_in_sql(bench: Bench, posts: pa.Table, subscriptions: pa.Table) -> Callable[[str], DataFrame]:
    prepared = plain_sql.prepared(posts, subscriptions)
    words = bench.written(f"words-{posts.num_rows}", prepared.posts)
    asked = bench.written(f"asked-{posts.num_rows}", prepared.subscriptions)
    return lambda way: plain_sql.asked_by(way, words, asked)


def _checked(workload: Workload, bench: Bench, posts: pa.Table) -> int:
    """How many matches some posts have; ours and each way of SQL give the same rows, or the run fails."""
    from tidings.spark import ParquetFiles

    ours = _sorted(_ours(workload, bench, bench.written("few", posts)))
    if not _sorted(_ours(workload, bench, ParquetFiles(bench.spark, bench.folder / "few.parquet"))).equals(ours):
        raise DataError(f"{workload.name}: files have other matches than a DataFrame; this is a bug, please report it")
    by_way = _asked_in_sql(bench, posts, workload.subscriptions)
    for way in plain_sql.WAYS:
        if not _sorted(by_way(way)).equals(ours):
            raise DataError(
                f"{workload.name}: SQL by {way} gives other matches than ours; this is a bug, please report it"
            )
    return int(ours.num_rows)


def _sorted(frame: DataFrame) -> pa.Table:
    table = frame.toArrow()
    return table.sort_by([("publication_id", "ascending"), ("subscription_id", "ascending")]).combine_chunks()


def _trials(workload: Workload, bench: Bench, posts: pa.Table) -> dict[str, float]:
    """Posts a second of each way of SQL, on some posts: the better of two runs, for the JVM is slow at first."""
    by_way = _asked_in_sql(bench, posts, workload.subscriptions)
    frames = {way: (by_way(way), posts.num_rows) for way in plain_sql.WAYS}
    return {way: max(rates) for way, rates in in_turn(frames, 2, silent).items()}
