"""``python -m benchmarks.ps2``: the evaluation of [PS2], on the notes of the data folder."""

from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.printing import print_figures
from benchmarks.result import Result
from tidings.cli.format import Format
from tidings.cli.terminal import say
from tidings.model import TidingsError

app = typer.Typer(name="benchmarks.ps2", help="The evaluation of PS2Stream.", no_args_is_help=True)

Data = Annotated[Path, typer.Option(help="Folder with notes.parquet.")]
Matchers = Annotated[int, typer.Option(min=1, max=256)]
Posts = Annotated[int, typer.Option(min=100, help="Half are learned from, half are measured with.")]
Standing = Annotated[int, typer.Option(min=10, help="How many queries stand; all are learned from.")]
Others = Annotated[int, typer.Option(min=10, help="How many others tell what insertions cost.")]
MapName = Annotated[str, typer.Option("--map", help="world, country or city.")]
Length = Annotated[str, typer.Option(help="Of posts: short, own or long.")]
Kinds = Annotated[list[str] | None, typer.Option("--workload", help="Of q1, q2, q3; all.")]
Seed = Annotated[int, typer.Option(min=0)]
HowToPrint = Annotated[Format, typer.Option("--format", help="How to print.")]
Save = Annotated[Path | None, typer.Option(help="Also write the figures with their origin to this file.")]


@app.callback()
def about() -> None:
    """The evaluation of PS2Stream."""


@app.command(epilog="Example: python -m benchmarks.ps2 hybrid --data path/to/data --map country --workload q3")
def hybrid(  # noqa: PLR0913  # each is an option
    data: Data,
    *,
    posts: Posts = 48_000,
    standing: Standing = 100_000,
    others: Others = 20_000,
    matchers: Matchers = 8,
    map_name: Annotated[list[str] | None, typer.Option("--map", help="Of world, country, city; all.")] = None,
    length: Annotated[list[str] | None, typer.Option(help="Of posts: short, own, long; all.")] = None,
    workload: Kinds = None,
    seed: Seed = 1,
    output_format: HowToPrint = Format.table,
    save: Save = None,
    plot: Annotated[Path | None, typer.Option(help="Also draw it: a .svg or .png file; needs matplotlib.")] = None,
) -> None:
    """Copies of posts and queries, and loads on those that were held out, of each partitioner; and a lower bound.

    ``by_best_base``: the largest load of the best base, divided by that of this partitioner; above 1 is better.
    """
    from benchmarks.ps2.corpus import LENGTHS, WIDTH_DEGREES
    from benchmarks.ps2.division import WORKLOADS, Plan, Setting, figures
    from benchmarks.ps2.drawing import draw_sweep

    wanted = product(map_name or WIDTH_DEGREES, length or LENGTHS, workload or WORKLOADS)
    rows = []
    for row in figures(data, Plan(posts, standing, others, matchers, seed), [Setting(*own) for own in wanted]):
        say(" ".join(str(row[name]) for name in ("map", "length", "queries", "partitioner", "by_best_base")), err=True)
        rows.append(row)
    counts = {"matchers": matchers, "standing": standing, "posts": posts, "others": others}
    result = _told("ps2 hybrid", rows, counts, seed, save, output_format)
    if plot:
        draw_sweep(result.figures, plot)


@app.command(epilog="Example: python -m benchmarks.ps2 parameters --data path/to/data --map country --workload q3")
def parameters(  # noqa: PLR0913  # each is an option
    data: Data,
    *,
    posts: Posts = 48_000,
    standing: Standing = 100_000,
    others: Others = 20_000,
    matchers: Matchers = 8,
    map_name: Annotated[list[str] | None, typer.Option("--map", help="Of world, country, city; all.")] = None,
    length: Length = "own",
    workload: Annotated[str, typer.Option(help="q1, q2 or q3.")] = "q3",
    seed: Seed = 1,
    output_format: HowToPrint = Format.table,
    save: Save = None,
) -> None:
    """The hybrid with other thresholds: similarity, unevenness and number of leaves, each varied alone."""
    from benchmarks.ps2.corpus import WIDTH_DEGREES
    from benchmarks.ps2.division import Plan, Setting
    from benchmarks.ps2.parameters import figures

    plan = Plan(posts, standing, others, matchers, seed)
    settings = [Setting(name, length, workload) for name in map_name or WIDTH_DEGREES]
    rows = []
    for row in figures(data, plan, settings):
        say(" ".join(str(value) for value in row.values()), err=True)
        rows.append(row)
    counts = {"matchers": matchers, "standing": standing, "posts": posts, "others": others}
    _told("ps2 parameters", rows, counts, seed, save, output_format)


@app.command(epilog="Example: python -m benchmarks.ps2 spark --data path/to/data")
def spark(  # noqa: PLR0913
    data: Data,
    *,
    posts: Annotated[
        int, typer.Option(min=100, help="Half as many are learned from, and as many are matched.")
    ] = 20_000,
    standing: Standing = 100_000,
    matchers: Matchers = 8,
    map_name: MapName = "country",
    length: Length = "own",
    workload: Kinds = None,
    passes: Annotated[int, typer.Option(min=1, help="So often all partitioners are timed in turn.")] = 2,
    rounds: Annotated[int, typer.Option(min=1, help="Runs in each turn, after one that is not counted.")] = 1,
    seed: Seed = 1,
    output_format: HowToPrint = Format.table,
    save: Save = None,
) -> None:
    """Partitioners on Spark: what each matcher does, beside the load that is expected; equal matches first.

    Some minutes on two cores; what is done is told on stderr.
    """
    from benchmarks.ps2.division import WORKLOADS, Plan, Setting
    from benchmarks.ps2.on_spark import Timing, by_spark

    plan, began = Plan(posts, standing, matchers=matchers, seed=seed), time.perf_counter()

    def tell(what: str) -> None:
        say(f"{time.perf_counter() - began:6.0f} s  {what}", err=True)

    settings = [Setting(map_name, length, kind) for kind in workload or WORKLOADS]
    rows = by_spark(data, plan, settings, Timing(passes, rounds), tell)
    counts = {"matchers": matchers, "posts": posts // 2, "subscriptions": standing}
    _told("ps2 spark", rows, counts | {"runs": passes * rounds}, seed, save, output_format)


@app.command(epilog="Example: python -m benchmarks.ps2 scaling --data path/to/data --workload q3")
def scaling(  # noqa: PLR0913
    data: Data,
    *,
    posts: Posts = 48_000,
    standing: Standing = 100_000,
    others: Others = 20_000,
    count: Annotated[list[int] | None, typer.Option(min=1, max=256, help="Of matchers; 2, 4, 8 and so on.")] = None,
    map_name: MapName = "country",
    length: Length = "own",
    workload: Kinds = None,
    seed: Seed = 1,
    output_format: HowToPrint = Format.table,
    save: Save = None,
) -> None:
    """Throughput among 2 to 64 matchers, by loads on posts and queries that were held out."""
    from benchmarks.ps2.division import WORKLOADS, Plan, Setting
    from benchmarks.ps2.scaling import COUNTS, figures

    settings = [Setting(map_name, length, kind) for kind in workload or WORKLOADS]
    rows = figures(data, Plan(posts, standing, others, seed=seed), settings, count or list(COUNTS))
    counts = {"standing": standing, "posts": posts, "others": others}
    _told("ps2 scaling", rows, counts, seed, save, output_format)


@app.command(epilog="Example: python -m benchmarks.ps2 cluster --data path/to/data --workload q3")
def cluster(  # noqa: PLR0913
    data: Data,
    *,
    posts: Posts = 20_000,
    standing: Standing = 100_000,
    matchers: Matchers = 8,
    batches: Annotated[int, typer.Option(min=1, help="How many are measured.")] = 24,
    rows: Annotated[int, typer.Option(min=1, help="How many posts a batch has.")] = 1_000,
    map_name: MapName = "country",
    length: Length = "own",
    workload: Kinds = None,
    seed: Seed = 1,
    output_format: HowToPrint = Format.table,
    save: Save = None,
) -> None:
    """Time of batches, and memory of the router and of matchers, with real matchers in this process."""
    from benchmarks.ps2.division import WORKLOADS, Plan, Setting
    from benchmarks.ps2.in_process import Stream, figures

    plan, stream = Plan(posts, standing, matchers=matchers, seed=seed), Stream(batches, rows)
    settings = [Setting(map_name, length, kind) for kind in workload or WORKLOADS]
    found = (row for setting in settings for row in figures(data, plan, setting, stream))
    counts = {"matchers": matchers, "learned": posts // 2, "subscriptions": standing}
    counts |= {"batches": batches, "posts_per_batch": rows}
    _told("ps2 cluster", found, counts, seed, save, output_format)


def _told(
    name: str,
    rows: Iterable[dict[str, Any]],
    counts: dict[str, int],
    seed: int,
    save: Path | None,
    output_format: Format,
) -> Result:
    """Rows as columns, printed, and in a file if asked."""
    found = list(rows)
    result = Result(name, "notes.parquet", counts | {key: [row[key] for row in found] for key in found[0]}, seed)
    if save:
        result.save(save)
    print_figures(result, output_format)
    return result


@app.command(epilog="Example: python -m benchmarks.ps2 page docs/papers/ps2.md")
def page(
    path: Annotated[Path, typer.Argument(help="The page, in the docs of a checkout.")],
    results: Annotated[Path, typer.Option(help="The folder of result files.")] = Path("docs/results"),
) -> None:
    """Write the numbers of result files into the tables of the page."""
    from benchmarks.ps2.page import filled

    path.write_text(filled(path.read_text(encoding="utf-8"), results), encoding="utf-8")


if __name__ == "__main__":
    try:
        app()
    except TidingsError as error:
        raise SystemExit(f"error: {error}") from None
