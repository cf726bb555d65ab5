"""``python -m benchmarks policies``: nothing, [PS2] and [PADRES] on one drifting workload."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from benchmarks.commands.options import HowToPrint, Save, tell
from tidings.cli.format import Format


def policies(  # noqa: PLR0913  # each is an option
    *,
    queries: Annotated[int, typer.Option(min=100, help="How many stand.")] = 50_000,
    posts: Annotated[int, typer.Option(min=1_000, help="Posts by chance, from which the drift draws.")] = 40_000,
    batches: Annotated[int, typer.Option(min=10, help="How many batches there are.")] = 200,
    share: Annotated[float, typer.Option(min=0, max=1, help="So many regions change their kind an interval.")] = 0.1,
    crowd: Annotated[float, typer.Option(min=1, help="So many times as much in a tenth of the regions.")] = 1.0,
    skew: Annotated[float, typer.Option(min=0, max=1, help="What matcher 0 has of the others at first.")] = 0.0,
    matchers: Annotated[int, typer.Option(min=2, max=256)] = 8,
    data: Annotated[Path | None, typer.Option(help="Folder with notes.parquet; made-up posts without.")] = None,
    seed: Annotated[int, typer.Option(min=0)] = 1,
    minutes: Annotated[float | None, typer.Option(min=0.1, help="End after so many, with what there is.")] = None,
    live: Annotated[bool, typer.Option("--live", help="In pipelines on Spark, one after another; needs Java.")] = False,
    output_format: HowToPrint = Format.table,
    save: Save = None,
) -> None:
    """Three clusters side by side while queries drift: nothing moves, the policy of PS2Stream, that of PADRES."""
    from benchmarks.balancing.policies import POLICIES, measure  # heavy imports only when they are needed
    from benchmarks.balancing.world import Drift, World
    from tidings.cli.output import progress

    if live and minutes:
        raise typer.BadParameter("pipelines run one after another, so each has all batches", param_hint="--minutes")
    world, drift = World.made(data, posts, 3 * queries, seed), Drift.of(queries, batches, share, crowd)
    if live:
        from benchmarks.balancing import live as pipelines

        with (
            TemporaryDirectory(prefix="tidings-bench-") as folder,
            progress("batches", len(POLICIES) * batches) as advance,
        ):
            figures = pipelines.measure(world, drift, Path(folder), matchers, skew, advance)
        tell("policies live", data, figures, seed, output_format, save)
        return
    with TemporaryDirectory(prefix="tidings-bench-") as folder, progress("batches", batches) as advance:
        figures = measure(world, drift, Path(folder), matchers, skew, advance, minutes)
    tell("policies", data, figures, seed, output_format, save)
