"""``tidings learn``: how does a pipeline get a mapping that spreads its work better? From the shell, while it runs."""

from __future__ import annotations

import json
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from tidings.cli.format import Format
from tidings.cli.terminal import cell
from tidings.model import DataError

if TYPE_CHECKING:
    import pyarrow as pa

    from tidings.cluster.learning import Count
    from tidings.cluster.mappings import MappingPage

EXAMPLE = "Example: tidings learn state --matchers 24"
_FIGURES = {"spread": "matchers a post is sent to", "imbalance": "largest load, mean 1", "throughput": "of one matcher"}


class Partitioning(StrEnum):
    refined = "refined"
    salb = "salb"
    hash = "hash"
    gc = "gc"
    gfc = "gfc"
    gfcl = "gfcl"
    gnfcl = "gnfcl"
    hybrid = "hybrid"
    grid = "grid"
    kd_tree = "kd-tree"
    r_tree = "r-tree"
    frequency = "frequency"
    hypergraph = "hypergraph"
    metric = "metric"


def learn(  # noqa: PLR0913  # each is an option
    checkpoint: Annotated[Path, typer.Argument(help="The checkpoint folder of a pipeline, running or not.")],
    *,
    matchers: Annotated[int | None, typer.Option(min=1, max=256, help="As many as now, if not said.")] = None,
    partitioner: Annotated[
        Partitioning,
        typer.Option(
            help="salb is that of the paper; refined sends posts less; gc, gfc, gfcl and gnfcl need METIS. hybrid "
            "divides places and words, grid, kd-tree and r-tree places, frequency, hypergraph and metric words, by "
            "posts and subscriptions together; these need --registry."
        ),
    ] = Partitioning.refined,
    split: Annotated[
        Path | None, typer.Option(help="Give hot terms several matchers; for that, name the registry.")
    ] = None,
    registry: Annotated[
        Path | None,
        typer.Option(help="The registry; needed to divide places, and for another placement than rarest."),
    ] = None,
    posts: Annotated[
        Path | None, typer.Option(help="Learn from these, by Spark, not from those the pipeline has kept: Parquet.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what it would be like.")] = False,
    output_format: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.table,
) -> None:
    """Learn which matcher should own which term from posts that were seen; the pipeline switches at its next batch.

    The mapping is measured on posts that it has not learned from, beside the one that is in use.
    """
    from tidings.cli.checks import require_spark  # noqa: PLC0415  # Spark only when it is needed

    require_spark()
    from tidings.cli.output import progress  # noqa: PLC0415
    from tidings.cluster.learning import Learn, MappingLearner  # noqa: PLC0415
    from tidings.cluster.pipeline_folder import PipelineFolder  # noqa: PLC0415
    from tidings.registry import Registry  # noqa: PLC0415

    named = split or registry
    known = None if named is None else Registry(named)
    if known is not None and known.version < 0:
        raise DataError(f"there is no registry at {str(named)!r}; name the folder where subscriptions are kept")
    rule = Learn(partitioner.value, split is not None)
    mapping_learner = MappingLearner(PipelineFolder(checkpoint), rule, known)
    with progress("learning", None):
        if posts is None:
            mapping, page = mapping_learner.learn(matchers)
        elif rule.divides_places:
            mapping, page = mapping_learner.learn(matchers, posts=_taken(posts, rule.keep_posts))
        else:
            mapping, page = mapping_learner.learn(matchers, _counted(posts, split is not None))
    if not dry_run:
        page = mapping_learner.home.mappings.put(mapping, page)
    _print(page, output_format)


def _taken(path: Path, most: int) -> pa.Table:
    """A sample of the posts of a file or folder, taken by Spark: those whose ids have the lowest hashes."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415  # as everybody calls it

    from tidings.spark.config import started  # noqa: PLC0415
    from tidings.spark.sinks import spark_path  # noqa: PLC0415

    posts = started("tidings learn", {"spark.ui.enabled": "false"}).read.parquet(spark_path(path))
    return posts.orderBy(F.xxhash64("id")).limit(most).toArrow()


def _counted(path: Path, split: bool) -> Count:
    """Posts of a file or folder, counted by Spark."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415  # as everybody calls it

    from tidings.cluster.learning import HELD_OUT  # noqa: PLC0415
    from tidings.partitioning import MAX_MATCHERS  # noqa: PLC0415
    from tidings.spark.config import started  # noqa: PLC0415
    from tidings.spark.counting import count_terms  # noqa: PLC0415
    from tidings.spark.sinks import spark_path  # noqa: PLC0415

    posts = started("tidings learn", {"spark.ui.enabled": "false"}).read.parquet(spark_path(path))
    is_out = F.pmod(F.xxhash64("id"), F.lit(HELD_OUT)) == 0
    return lambda terms, analyser, held_out: count_terms(
        posts.where(is_out if held_out else ~is_out), terms, analyser, parts=MAX_MATCHERS if split else 1
    )


def _print(page: MappingPage, output_format: Format) -> None:
    if output_format == Format.json:
        typer.echo(json.dumps(asdict(page) | {"name": page.name if page.number else None}, indent=2))
        return
    rows = [(name, getattr(page.before, name), getattr(page.after, name)) for name in _FIGURES]
    if output_format == Format.csv:
        typer.echo("figure,before,after")
        for row in rows:
            typer.echo(",".join(map(str, row)))
        return
    name = page.name if page.number else "dry run"
    title = f"{name}: {page.matchers} matchers, by {page.partitioner} from {page.posts:,} posts"
    table = Table(
        "", "before", "after", "", title=cell(title, "table.title"), title_justify="left", box=None, pad_edge=False
    )
    for name, before, after in rows:
        table.add_row(name, f"{before:.2f}", f"{after:.2f}", _FIGURES[name])
    Console().print(table)
