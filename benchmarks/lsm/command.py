"""``python -m benchmarks lsm``: which options has the evaluation of [LSM]?"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tidings.cli.format import Format


class LsmFigure(StrEnum):
    """Fig. 10 and 11, those with SQLite and PostgreSQL, Fig. 12 and 13, Fig. 14 and 16, Fig. 15 and 17, and speed."""

    simple = "simple"
    peers = "peers"
    joins = "joins"
    levels = "levels"
    circles = "circles"
    single = "single"
    batches = "batches"


def lsm(  # noqa: PLR0913  # each is an option
    figures: Annotated[list[LsmFigure] | None, typer.Argument(help="Which of them; all, without.")] = None,
    *,
    operations: Annotated[int, typer.Option(min=1_000, help="How many operations each store gets.")] = 30_000,
    rate: Annotated[int, typer.Option(min=10, help="How many of them are a second of simulated time.")] = 1_000,
    real: Annotated[bool, typer.Option("--real", help="On the clock of the machine, as fast as it goes.")] = False,
    memory_mb: Annotated[int, typer.Option(min=0, help="Memory of a store for its newest entries.")] = 256,
    data: Annotated[Path | None, typer.Option(help="Folder with notes.parquet; made-up places without.")] = None,
    load: Annotated[
        list[str] | None, typer.Option(help="3:1 or 1:3, subscriptions to publications; else both.")
    ] = None,
    store: Annotated[list[str] | None, typer.Option(help="TwoDB or DualDB, of single and batches; else both.")] = None,
    seed: Annotated[int, typer.Option(min=0)] = 1,
    output_format: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.table,
    save: Annotated[Path | None, typer.Option(help="Also write lsm-FIGURE.json to this folder.")] = None,
    page: Annotated[Path | None, typer.Option(help="Measure nothing; write saved figures into this page.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Also draw lsm-single.svg, lsm-batches.svg here.")] = None,
) -> None:
    """The evaluation of the LSM paper: publications and subscriptions by label and time.

    simple: RepQueries, TwoDB and DualDB (Fig. 10, 11). peers: SQLite and PostgreSQL. joins: self-joins (Fig. 12, 13).
    levels, circles: variable and fixed granularity (Fig. 14 to 17), with a tenth of the operations. single, batches:
    operations a second, one by one and in batches, and the size on disk.
    """
    if page:
        from benchmarks.lsm.page import filled

        page.write_text(filled(page.read_text(encoding="utf-8"), page.parents[1] / "results"), encoding="utf-8")
        return
    from benchmarks.lsm.drawing import draw
    from benchmarks.lsm.figures import FIGURES, STORES, Plan
    from benchmarks.lsm.workload import LOADS, places
    from benchmarks.printing import print_figures
    from benchmarks.result import Result
    from tidings.cli.output import progress

    at = places(data, operations, seed)
    rated, memory, loads = None if real else rate, memory_mb << 20, load or [*LOADS]
    for name in figures or list(LsmFigure):
        with progress(f"operations for {name}", None) as advance:
            found = FIGURES[name](Plan(at, seed, rated, memory, advance, loads, store or [*STORES]))
        title = f"lsm-{name}-real" if real else f"lsm-{name}"
        result = Result(title.replace("-", " "), "notes.parquet" if data else "made-up places", found, seed)
        if save:
            result.save(save / f"{title}.json")
        if plot and name in (LsmFigure.single, LsmFigure.batches):
            draw(found, plot / f"{title}.svg")
        print_figures(result, output_format)
