"""``tidings bench``: each figure of the documentation, made again."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

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
