"""``tidings bench``: each figure of the documentation, made again."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tidings.bench.names import Name

app = typer.Typer(name="bench", help="Measure, and check that what is compared is equal.", no_args_is_help=True)


class Format(StrEnum):
    table = "table"
    json = "json"
    csv = "csv"


@app.callback()
def about() -> None:
    """Measure, and check that what is compared is equal."""


@app.command(epilog="Example: tidings bench analysis --posts tweets.parquet --save docs/results/analysis.json")
def analysis(
    posts: Annotated[
        Path | None, typer.Option(help="A Parquet file with a column 'text'; made-up posts without.")
    ] = None,
    rows: Annotated[
        int | None, typer.Option(min=1, help="How many posts; all of the file, or 50,000, without.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the made-up posts.")] = 1,
    output_format: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.table,
    save: Annotated[Path | None, typer.Option(help="Also write the figures with their origin to this file.")] = None,
) -> None:
    """The fast analyser against the exact one: equal words on every post, and how many times as fast."""
    from tidings.bench.analysis import measure  # noqa: PLC0415  # heavy imports only when they are needed
    from tidings.bench.result import Result  # noqa: PLC0415
    from tidings.cli.output import print_figures, progress  # noqa: PLC0415
    from tidings.workloads import Posts, read_texts  # noqa: PLC0415

    table = read_texts(posts, rows) if posts else Posts(seed=seed).table(rows or 50_000)
    with progress("analysing", table.num_rows) as advance:
        figures = measure(table["text"], advance)
    dataset = posts.name if posts else "made-up posts"
    result = Result("analysis", dataset, figures, None if posts else seed)
    if save:
        result.save(save)
    print_figures(result, output_format)


@app.command(epilog="Example: tidings bench matching --workload words --subscriptions 1000000 --data path/to/data")
def matching(
    workload_name: Annotated[Name, typer.Option("--workload", help="What is asked.")] = Name.words,
    subscriptions: Annotated[int, typer.Option(min=1, help="How many ask.")] = 100_000,
    posts: Annotated[int, typer.Option(min=1, help="How many posts are matched.")] = 40_000,
    data: Annotated[
        Path | None, typer.Option(help="Folder with tweets, traffic and stocks .parquet; made-up posts without.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the subscriptions, and of made-up posts.")] = 1,
    output_format: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.table,
    save: Annotated[Path | None, typer.Option(help="Also write the figures with their origin to this file.")] = None,
) -> None:
    """The index, checked against brute force first: publications matched a second, on one core."""
    from tidings.bench.matching import measure  # noqa: PLC0415
    from tidings.bench.result import Result  # noqa: PLC0415
    from tidings.bench.workloads import workload  # noqa: PLC0415
    from tidings.cli.output import print_figures, progress  # noqa: PLC0415

    asked = workload(workload_name, data, subscriptions, posts, seed)
    with progress("matching", posts) as advance:
        figures = measure(asked, advance)
    result = Result("matching", "real files" if data else "made-up posts", figures, seed)
    if save:
        result.save(save)
    print_figures(result, output_format)
