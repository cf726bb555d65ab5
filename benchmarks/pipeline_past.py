"""How long do new subscriptions of a pipeline wait for their past? As long as one batch over all posts that are kept.

A pipeline that keeps posts and one that keeps none have a batch of some hundred thousand, to compare. Then that batch
is kept anew with as many posts as were asked for, filed by what files those of a task. Many subscriptions come at once
that begin before all of them, and the next batch, of a few posts, finds their past too. What it finds among the first
posts is compared with what an engine finds there.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benchmarks.commands.options import HowToPrint, Save, Seed, tell
from tidings.cli.format import Format
from tidings.model import DataError

if TYPE_CHECKING:
    import pyarrow as pa

    from benchmarks.matching import Advance, Workload
    from benchmarks.spark import Bench
    from tidings.cluster.journal import Report
    from tidings.registry import Registry
    from tidings.spark import Pipeline

FEW_POSTS = 1_000
SOURCE_POSTS = 100_000
BEGAN = datetime(2024, 1, 1, tzinfo=UTC)
KEEP = timedelta(days=1)
FULL, ASKING = 1, 2
"""The batch whose posts are all that are kept, and the one that finds the past."""


def pipeline_past(
    *,
    posts: Annotated[int, typer.Option(min=FEW_POSTS, help="How many posts are kept.")] = 200_000,
    subscriptions: Annotated[int, typer.Option(min=1, help="How many new ones ask for the past.")] = 1_000,
    batch_posts: Annotated[int, typer.Option(min=FEW_POSTS, help="How many posts a batch has.")] = 500_000,
    data: Annotated[Path | None, typer.Option(help="Folder with tweets.parquet; made-up posts without.")] = None,
    seed: Seed = 1,
    output_format: HowToPrint = Format.table,
    save: Save = None,
) -> None:
    """New subscriptions with a past, over the posts that a pipeline on Spark keeps: seconds of one batch."""
    from benchmarks.names import Name
    from benchmarks.spark import SESSION, Bench, session
    from benchmarks.workloads import workload
    from tidings.cli.output import progress

    asked = workload(Name.words, data, 2 * subscriptions, min(posts, SOURCE_POSTS), seed)
    with TemporaryDirectory() as folder, session(SESSION) as spark, progress("batches", None) as advance:
        figures = measure(asked, Bench(spark, Path(folder)), posts, batch_posts, advance)
    tell("pipeline-past", data, figures, seed, output_format, save)


def measure(workload: Workload, bench: Bench, posts: int, batch_posts: int, advance: Advance) -> dict[str, Any]:
    """Half of the subscriptions are there first; the other half comes when so many posts are kept."""
    from tidings.registry import Registry

    half = workload.subscriptions.num_rows // 2
    first, new = workload.subscriptions.slice(0, half), workload.subscriptions.slice(half)
    registry = Registry(bench.folder / "registry")
    registry.add(first)
    ends = [*range(0, posts, batch_posts), posts]
    sizes = [end - start for start, end in pairwise(ends)]
    _write(bench, workload.posts, 0, FEW_POSTS)  # to warm up with
    rates: dict[str, float] = {}
    for name, keep in (("plain", None), ("kept", KEEP)):
        _pipeline(bench, registry, name, keep).run()
    _write(bench, workload.posts, 1, sizes[0])
    for name, keep in (("plain", None), ("kept", KEEP)):
        began = time.perf_counter()
        _pipeline(bench, registry, name, keep).run()
        rates[name] = sizes[0] / (time.perf_counter() - began)
    began = time.perf_counter()
    _keep(bench, workload.posts, sizes, advance)
    filed_s = time.perf_counter() - began
    since = _instants(new.num_rows)
    registry.add(new.append_column("since", since))
    _write(bench, workload.posts, len(sizes) + 1, FEW_POSTS)
    began = time.perf_counter()
    _pipeline(bench, registry, "kept", KEEP).run()
    run_s = time.perf_counter() - began
    report = _report(bench, ASKING)
    if report.past is None:
        raise DataError("no new subscription has a past")
    kept = list((bench.folder / "kept" / "kept").rglob("*.parquet"))
    return {
        "posts_kept": posts + FEW_POSTS,
        "new_subscriptions": report.past.subscriptions,
        "past_posts": report.past.posts,
        "past_matches": report.past.matches,
        "past_s": round(report.ms / 1e3, 2),
        "run_s": round(run_s, 2),
        "past_posts_per_s": round(report.past.posts / (report.ms / 1e3)),
        "checked_matches": _checked(bench, workload.posts, new, sizes[0], ASKING),
        "filed_posts_per_s": round(posts / filed_s),
        "kept_files": len(kept),
        "kept_mb": round(sum(file.stat().st_size for file in kept) / 1e6, 1),
        "posts_per_s_keeping": round(rates["kept"]),
        "posts_per_s_plain": round(rates["plain"]),
        "ratio_keeping_to_plain": round(rates["kept"] / rates["plain"], 3),
    }


def _instants(count: int) -> pa.Array:
    import pyarrow as pa

    return pa.repeat(pa.scalar(BEGAN, pa.timestamp("us", tz="UTC")), count)


def _batch(source: pa.Table, number: int, size: int) -> pa.Table:
    """Posts of the source, one after another and again from the first, under ids of their own."""
    import numpy as np
    import pyarrow as pa

    rows = np.arange(size) % source.num_rows
    table = source.select(["text"]).take(pa.array(rows))
    ids = pa.array([f"{number}-{row}" for row in range(size)])
    return table.add_column(0, "id", ids).append_column("ts", _instants(size))


def _write(bench: Bench, source: pa.Table, number: int, size: int) -> None:
    import pyarrow.parquet as pq

    (bench.folder / "posts").mkdir(exist_ok=True)
    aside = bench.folder / f"{number}.parquet"
    pq.write_table(_batch(source, number, size), aside, row_group_size=1 << 16)
    aside.rename(bench.folder / "posts" / aside.name)


def _keep(bench: Bench, source: pa.Table, sizes: list[int], advance: Advance) -> None:
    """Keep all posts as those of one batch, a task for as many as a batch has."""
    from tidings.cluster.pipeline_folder import PipelineFolder
    from tidings.cluster.post_files import FiledPosts, PostFiling, TaskPosts

    kept = PipelineFolder(bench.folder / "kept").kept
    came = kept.sections()[-1].came_last + 1  # a batch that was begun anew
    filing, files = PostFiling(kept.aside(), came), list[FiledPosts]()
    for number, size in enumerate(sizes, 1):
        task = TaskPosts(filing, number)
        task.add(_batch(source, number, size))
        files += task.close()
        advance(1)
    kept.take(filing.folder, files, FULL, came, KEEP // timedelta(microseconds=1))


def _pipeline(bench: Bench, registry: Registry, name: str, keep: timedelta | None) -> Pipeline:
    from tidings.spark import ParquetSink, Pipeline, posts_from_files

    stream = posts_from_files(bench.spark, bench.folder / "posts", files_per_batch=1)
    sink = ParquetSink(bench.folder / f"{name} matches")
    return Pipeline(stream, registry, sink, bench.folder / name, distinct_ids=False, keep=keep)


def _report(bench: Bench, batch: int) -> Report:
    from tidings.cluster.pipeline_folder import PipelineFolder

    report = PipelineFolder(bench.folder / "kept").journal.report(batch)
    if report is None:
        raise DataError(f"batch {batch} is not there")
    return report


def _checked(bench: Bench, source: pa.Table, new: pa.Table, size: int, batch: int) -> int:
    """How many matches the new subscriptions have in the first batch; as many as an engine finds, or a DataError."""
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    from tidings import Engine

    engine = Engine()
    engine.subscribe_many(new)
    wanted = len(engine.match(_batch(source, 1, size)))
    folder = next((bench.folder / "kept matches").glob(f"pipeline=*/batch={batch}"))
    found = ds.dataset(folder).to_table(["publication_id", "subscription_id"])
    own = found.filter(pc.starts_with(found["publication_id"], "1-"))
    own = own.filter(pc.is_in(own["subscription_id"], new["id"].combine_chunks().cast(own["subscription_id"].type)))
    if own.num_rows != wanted or own.group_by(own.column_names).aggregate([]).num_rows != wanted:
        raise DataError(f"the past has {own.num_rows} matches in the first batch, and an engine finds {wanted}")
    return wanted
