"""What do an engine and its registry cost?"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from benchmarks.commands.options import Data, HowToPrint, Rounds, Save, Seed, Subscriptions, kept, tell
from benchmarks.names import Name, Part
from tidings.cli.format import Format


def registry(
    *,
    commits: Annotated[int, typer.Option(min=1, help="How many commits.")] = 100_000,
    live: Annotated[int, typer.Option(min=1, help="How many ids are replaced again and again.")] = 50,
    plot: Annotated[Path | None, typer.Option(help="Also draw it: a .svg or .png file; needs matplotlib.")] = None,
    output_format: HowToPrint = Format.table,
    save: Save = None,
) -> None:
    """The registry over many commits by one writer: what each costs, and how large the folder is."""
    from benchmarks.commits import Settings, draw, measure
    from benchmarks.printing import print_figures
    from tidings.cli.output import progress

    settings = Settings(commits, live)
    with TemporaryDirectory(prefix="tidings-") as folder, progress("committing", commits) as advance:
        figures = measure(Path(folder) / "registry", settings, advance)
    if plot:
        draw(figures, plot)
    print_figures(kept("registry", "made-up queries", None, save, figures), output_format)


def engine(  # noqa: PLR0913
    part: Annotated[Part, typer.Argument(help="What is measured.")],
    *,
    workload_name: Annotated[Name, typer.Option("--workload", help="What is asked; of words only.")] = Name.words,
    subscriptions: Subscriptions = 1_000_000,
    posts: Annotated[int, typer.Option(min=1, help="How many posts there are to publish.")] = 40_000,
    rounds: Rounds = 5,
    round_s: Annotated[float, typer.Option(min=0.01, help="How long half a round of churn is.")] = 5.0,
    rate: Annotated[int, typer.Option(min=1, help="Subscriptions left a second, and as many given up.")] = 20_000,
    batch: Annotated[
        int | None, typer.Option(min=1, help="So many changes at a time; 1, or 1,000 in a folder, without.")
    ] = None,
    posts_at_a_time: Annotated[int, typer.Option(min=1, help="Posts that churn publishes at a time.")] = 1,
    switch_interval_ms: Annotated[
        float | None, typer.Option(min=0.01, help="How long a thread runs while another waits; 5 in Python, without.")
    ] = None,
    data: Data = None,
    seed: Seed = 1,
    output_format: HowToPrint = Format.table,
    save: Save = None,
) -> None:
    """The engine, with queries of plain words.

    opens: a folder in a new process. latency: one post at a time. churn: posts while another thread changes single
    subscriptions. durable: the same in a folder, a thousand changes at a time.
    """
    from benchmarks import churn, latency, opening
    from benchmarks.workloads import IN_WORDS, workload
    from tidings.cli.output import progress

    if workload_name not in IN_WORDS:
        raise typer.BadParameter(f"choose one of {', '.join(IN_WORDS)}", param_hint="--workload")
    asked = workload(workload_name, data, subscriptions, posts, seed)
    with TemporaryDirectory(prefix="tidings-bench-") as folder:
        if part == Part.opens:
            with progress("opening", 2 * rounds) as advance:
                figures = opening.measure(asked, Path(folder), rounds, advance)
        elif part == Part.latency:
            with progress("publishing", asked.round_posts) as advance:
                figures = latency.measure(asked, advance)
        else:
            durable = part == Part.durable
            at_a_time = batch or (1_000 if durable else 1), posts_at_a_time
            settings = churn.Settings(rounds, round_s, rate, *at_a_time, switch_interval_ms)
            newcomers = workload(Name.words, data, churn.NEWCOMERS, posts, seed + 1).subscriptions["query"]
            with progress("publishing", 2 * rounds) as advance:
                figures = churn.measure(asked, newcomers, settings, Path(folder) if durable else None, advance)
    tell(f"engine {part}", data, figures, seed, output_format, save)
