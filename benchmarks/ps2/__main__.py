"""``python -m benchmarks.ps2``: partitioners of [PS2] by copies and loads, on the notes of the data folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from benchmarks.printing import print_figures
from benchmarks.ps2.division import WIDTH_DEGREES, WORKLOADS, Plan, figures
from benchmarks.result import Result
from tidings.cli.format import Format
from tidings.cli.terminal import say
from tidings.model import TidingsError


def main(  # noqa: PLR0913
    data: Annotated[Path, typer.Option(help="Folder with notes.parquet.")],
    *,
    posts: Annotated[int, typer.Option(min=100, help="Half are learned from, half are measured with.")] = 40_000,
    queries: Annotated[int, typer.Option(min=10, help="How many are learned from.")] = 20_000,
    matchers: Annotated[int, typer.Option(min=1, max=256)] = 8,
    standing: Annotated[int, typer.Option(min=1, help="How many queries these stand for.")] = 1_000_000,
    map_name: Annotated[list[str] | None, typer.Option("--map", help=f"Of {', '.join(WIDTH_DEGREES)}; all.")] = None,
    workload: Annotated[list[str] | None, typer.Option(help=f"Of {', '.join(WORKLOADS)}; all.")] = None,
    seed: Annotated[int, typer.Option(min=0)] = 1,
    output_format: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.table,
    save: Annotated[Path | None, typer.Option(help="Also write the figures with their origin to this file.")] = None,
) -> None:
    """Copies of posts and queries, and loads on posts that were held out, of each partitioner.

    ``by_best_base``: the largest load of the best base so far, divided by that of this partitioner; above 1 is better.
    """
    plan = Plan(posts, queries, matchers, standing, seed)
    rows = []
    for row in figures(data, plan, map_name or list(WIDTH_DEGREES), workload or list(WORKLOADS)):
        say(f"{row['map']} {row['queries']} {row['partitioner']}: {row['by_best_base']}", err=True)
        rows.append(row)
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    result = Result("ps2 division", "notes.parquet", {"matchers": matchers, "standing": standing, **columns}, seed)
    if save:
        result.save(save)
    print_figures(result, output_format)


if __name__ == "__main__":
    try:
        typer.run(main)
    except TidingsError as error:
        raise SystemExit(f"error: {error}") from None
