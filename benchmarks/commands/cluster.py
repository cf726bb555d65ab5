"""What do matchers cost that share subscriptions: their router, moves, and Spark?"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from benchmarks.commands.options import Data, HowToPrint, Rounds, Save, Seed, Subscriptions, kept, tell
from benchmarks.names import Name, SparkPart
from tidings.cli.format import Format

if TYPE_CHECKING:
    from benchmarks.matching import Workload


def moves(  # noqa: PLR0913
    *,
    subscriptions: Subscriptions = 1_000_000,
    matchers: Annotated[int, typer.Option(min=2, help="Among so many.")] = 8,
    share: Annotated[float, typer.Option(min=0.001, max=0.5, help="So much of the load moves.")] = 0.01,
    rounds: Rounds = 3,
    live: Annotated[bool, typer.Option("--live", help="Move while a stream runs on Spark; needs Java.")] = False,
    batches: Annotated[int, typer.Option(min=6, help="How many batches the stream has.")] = 24,
    rows: Annotated[int, typer.Option(min=1, help="How many posts a batch has.")] = 10_000,
    data: Data = None,
    seed: Seed = 1,
    output_format: HowToPrint = Format.table,
    save: Save = None,
) -> None:
    """What it costs to move some parcels to other matchers, beside compiling everything; or beside a stream."""
    from benchmarks.moves import measure
    from benchmarks.workloads import workload
    from tidings.cli.output import progress

    if live:
        from benchmarks import moving

        settings = moving.Settings(matchers, share, batches, rows)
        made = workload(Name.words, data, subscriptions, batches * rows, seed, max(300_000, 3 * batches * rows))
        with TemporaryDirectory(prefix="tidings-bench-") as folder, progress("batches", batches) as advance:
            figures = moving.measure(made, settings, Path(folder), advance)
        tell("moves live", data, figures, seed, output_format, save)
        return
    made = workload(Name.words, data, subscriptions, 20_000, seed)
    with progress("moving", rounds) as advance:
        figures = measure(made, matchers, share, rounds, advance)
    tell("moves", data, figures, seed, output_format, save)


def router(  # noqa: PLR0913
    data: Annotated[Path, typer.Option(help="Folder with notes.parquet.")],
    *,
    subscriptions: Subscriptions = 1_000_000,
    posts: Annotated[int, typer.Option(min=100, help="How many posts are routed.")] = 100_000,
    matchers: Annotated[int, typer.Option(min=1, max=256, help="Among so many.")] = 8,
    rounds: Rounds = 5,
    seed: Seed = 1,
    output_format: HowToPrint = Format.table,
    save: Save = None,
) -> None:
    """Posts that the router of a hybrid partitioning ([PS2]) sends a second on one core, for Q1 and Q3.

    Words and places are numbers before: analysis is apart.
    """
    from benchmarks.printing import print_figures
    from benchmarks.router import Settings, measure

    figures = measure(data, Settings(subscriptions, posts, matchers, rounds, seed))
    print_figures(kept("router", "notes.parquet", seed, save, figures), output_format)


def spark(  # noqa: PLR0913
    part: Annotated[SparkPart, typer.Argument(help="What is measured.")],
    *,
    workload_name: Annotated[Name, typer.Option("--workload", help="What is asked: words or posts.")] = Name.words,
    subscriptions: Annotated[
        int | None,
        typer.Option(
            min=1, help="How many ask, or ask at most; 100,000 if replicated, 10,000 with Kafka, else a million."
        ),
    ] = None,
    posts: Annotated[
        int | None, typer.Option(min=1, help="How many posts are there to match; 200,000 if replicated, else 20,000.")
    ] = None,
    sql_posts: Annotated[int | None, typer.Option(min=1, help="How many of them SQL gets; all, without.")] = None,
    rounds: Rounds = 3,
    rate: Annotated[float, typer.Option(min=1, help="Posts a second, from Kafka.")] = 2_000.0,
    seconds: Annotated[float, typer.Option(min=1, help="How long latency is measured.")] = 60.0,
    warmup_s: Annotated[float, typer.Option(min=0, help="How long it runs before latency is measured.")] = 60.0,
    minutes: Annotated[float, typer.Option(min=0.1, help="How long the soak is.")] = 30.0,
    changes_per_second: Annotated[float, typer.Option(min=2, help="Subscriptions that change during the soak.")] = 20.0,
    servers: Annotated[str | None, typer.Option(help="A Kafka broker; one is started, without.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Also draw latency or soak: a .svg or .png file.")] = None,
    data: Data = None,
    seed: Seed = 1,
    output_format: HowToPrint = Format.table,
    save: Save = None,
) -> None:
    """Matching in Spark on two cores; needs Java.

    replicated: ours, plain Spark SQL and the floor (rows to Python and back), equal matches first. written: all
    matches to files of Parquet, by ours and by SQL. memory: of all processes together. layouts: replicated and
    partitioned, by subscriptions and matchers. latency: from Kafka to the sink. soak: from Kafka for long, while
    subscriptions change.
    """
    from benchmarks import feed, kafka_latency, layouts, soak
    from benchmarks import spark as measured
    from benchmarks.workloads import IN_WORDS, workload
    from tidings.cli.output import progress

    if workload_name not in IN_WORDS:
        raise typer.BadParameter(
            "plain SQL matches words only; choose words, frequent, posts or topics", param_hint="--workload"
        )
    is_replicated, is_live = (
        part in (SparkPart.replicated, SparkPart.written),
        part in (SparkPart.latency, SparkPart.soak),
    )
    asking = subscriptions or (100_000 if is_replicated else 10_000 if is_live else 1_000_000)
    post_count = posts or (200_000 if is_replicated else 20_000)

    def made(count: int) -> Workload:
        return workload(workload_name, data, count, post_count, seed, max(300_000, 2 * post_count))

    if is_live:
        timing = kafka_latency.Settings(rate, seconds, warmup_s)
        lasting = soak.Settings(minutes, rate, changes_per_second)
        with (
            feed.stage(servers) as stage,
            progress("seconds", round(seconds if part == SparkPart.latency else 60 * minutes)) as advance,
        ):
            if part == SparkPart.latency:
                figures = kafka_latency.measure(made(asking), timing, stage, advance)
            else:
                figures = soak.measure(made(asking), lasting, stage, advance)
        if plot:
            (kafka_latency.draw if part == SparkPart.latency else soak.draw)(figures, plot)
        tell(f"spark {part}", data, figures, seed, output_format, save)
        return
    with TemporaryDirectory(prefix="tidings-bench-") as folder, measured.session() as session:
        bench = measured.Bench(session, Path(folder))
        if part == SparkPart.layouts:
            counts = layouts.sizes(asking)
            with progress("matching", len(counts) * rounds * len(layouts.laid_out_by())) as advance:
                figures = layouts.layouts(made, counts, bench, rounds, advance)
        elif part == SparkPart.memory:
            figures = measured.memory(made(asking), bench)
        elif part == SparkPart.written:
            with progress("writing", rounds * measured.WAYS_TO_FILES) as advance:
                figures = measured.written(made(asking), bench, rounds, sql_posts, advance)
        else:
            with progress("matching", rounds * measured.WAYS) as advance:
                figures = measured.replicated(made(asking), bench, rounds, sql_posts, advance)
    tell(f"spark {part}", data, figures, seed, output_format, save)
