"""The evaluations of [S3TM], of shedding and of [PS2]'s load adjustment."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from benchmarks.commands.options import MADE_UP, Data, HowToPrint, Save, Seed, Subscriptions, kept, tell
from benchmarks.names import BalancingPart, Name, S3tmFigure, SheddingPart, Source
from tidings.cli.format import Format


def s3tm(  # noqa: PLR0913
    figures: Annotated[list[S3tmFigure] | None, typer.Argument(help="Which of them; all, without.")] = None,
    *,
    posts: Annotated[int | None, typer.Option(min=100, help="So many posts by chance; all, without.")] = None,
    learn: Annotated[int, typer.Option(min=1, help="How many posts of the other folds are learned from.")] = 40_000,
    folds: Annotated[int, typer.Option(min=2, help="Into how many folds posts are divided.")] = 10,
    measured: Annotated[int | None, typer.Option(min=1, help="How many folds are held out; all, without.")] = None,
    networks: Annotated[int, typer.Option(min=1, help="How many, at most, for METIS, which takes long.")] = 2,
    subscriptions: Subscriptions = 100_000,
    most: Annotated[
        int, typer.Option(min=100, help="Where the number of subscriptions grows, it ends here.")
    ] = 1_000_000,
    data: Data = None,
    source: Annotated[Source, typer.Option("--corpus", help="Which file of the folder the posts are from.")] = (
        Source.tweets
    ),
    seed: Seed = 1,
    output_format: HowToPrint = Format.table,
    save: Annotated[Path | None, typer.Option(help="Also write s3tm-FIGURE.json to this folder.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Also draw s3tm-FIGURE.svg in this folder.")] = None,
) -> None:
    """The evaluation of the S3TM paper: partitioners of words, learned from some posts and measured with others.

    words: the data. matchers, subscriptions, weeks: spread, imbalance and throughput by them. learning: time.
    cost: of a matcher by its words. placement: of subscriptions. headline: all posts but a fold, by words and by
    guards, terms split or not. readings: of SALB. spark: what mappings promise beside what Spark does.
    """
    from benchmarks.printing import print_figures
    from benchmarks.s3tm import FIGURES, Asking, Corpus, Plan, draw
    from tidings.cli.output import progress

    asking = Asking(Corpus.read(data, posts, seed, source), seed)
    suffix = "" if source == Source.tweets else f"-{source.value}"
    for name in figures or list(S3tmFigure):
        file = save / f"s3tm-{name}{suffix}.json" if save else None
        keep = partial(kept, f"s3tm {name}{suffix}", f"{source.value}.parquet" if data else MADE_UP, seed, file)
        with progress(f"partitionings for {name}", None) as advance:
            plan = Plan(
                learn, folds, measured or folds, networks, subscriptions, most, seed=seed, advance=advance, so_far=keep
            )
            found = FIGURES[name](asking, plan)
        if plot:
            draw(name, found, plot / f"s3tm-{name}{suffix}.svg")
        print_figures(keep(found), output_format)


def shedding(  # noqa: PLR0913
    part: Annotated[SheddingPart, typer.Argument(help="What is measured.")],
    *,
    subscriptions: Subscriptions = 100_000,
    learn: Annotated[int, typer.Option(min=1, help="How many posts are learned from.")] = 60_000,
    posts: Annotated[int, typer.Option(min=1, help="How many others are held out, to measure with.")] = 60_000,
    peak: Annotated[
        float | None, typer.Option(min=0.1, help="The spike, where capacity is 1; 1.6, or 2 live, without.")
    ] = None,
    spike_s: Annotated[float, typer.Option(min=1, help="How long the spike on Spark is.")] = 120.0,
    servers: Annotated[str | None, typer.Option(help="A Kafka broker; one is started, without.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Also draw it: a .svg or .png file.")] = None,
    data: Data = None,
    seed: Seed = 1,
    output_format: HowToPrint = Format.table,
    save: Save = None,
) -> None:
    """Shedding: what it costs in matches, and how it follows a spike.

    accuracy: a post goes to m matchers at most. posts: some posts go nowhere. spike: the level on a simulated clock.
    live: on Spark, from Kafka, shedding and not; needs Java.
    """
    from benchmarks import feed, shedding
    from benchmarks.workloads import workload
    from tidings.cli.output import progress

    if part == SheddingPart.live:
        from benchmarks.shedding import live

        settings = live.Settings(peak=peak or live.Settings().peak, spike_s=spike_s)
        asked = workload(Name.words, data, subscriptions, posts, seed)
        with (
            TemporaryDirectory(prefix="tidings-bench-") as folder,
            feed.broker(servers) as broker,
            progress("seconds", round(settings.seconds())) as advance,
        ):
            figures = live.measure(asked, settings, broker, Path(folder), advance)
    else:
        with progress("matching", learn + posts) as advance:
            setting = shedding.Setting.made(data, subscriptions, learn, posts, seed, advance)
        with progress("shedding", None) as advance:
            if part == SheddingPart.accuracy:
                figures = shedding.by_limit(setting, shedding.Plan(), advance)
            elif part == SheddingPart.posts:
                figures = shedding.by_fraction(setting)
            else:
                figures = shedding.spikes(setting, shedding.Spike(peak) if peak else shedding.Spike())
    if plot:
        shedding.draw(part, figures, plot)
    tell(f"shedding {part}", data, figures, seed, output_format, save)


def balancing(  # noqa: PLR0913
    part: Annotated[BalancingPart, typer.Argument(help="What is measured.")],
    *,
    queries: Annotated[
        int | None, typer.Option(min=100, help="How many stand; 40,000 for loads, 20,000 for shares, else 100,000.")
    ] = None,
    posts: Annotated[int, typer.Option(min=1_000, help="Posts by chance; a drift draws from them again.")] = 40_000,
    batches: Annotated[int, typer.Option(min=10, help="How many batches a drift has.")] = 200,
    share: Annotated[float, typer.Option(min=0, max=1, help="So many regions change their kind an interval.")] = 0.1,
    crowd: Annotated[
        float,
        typer.Option(min=1, help="So many times as much in a tenth of the regions; each interval others."),
    ] = 1.0,
    matchers: Annotated[int, typer.Option(min=2, max=256)] = 8,
    data: Annotated[Path | None, typer.Option(help="Folder with notes.parquet; made-up posts without.")] = None,
    seed: Seed = 1,
    minutes: Annotated[
        float | None, typer.Option(min=0.1, help="End a drift after so many, with what there is.")
    ] = None,
    picture: Annotated[Path | None, typer.Option("--plot", help="Draw a drift over time to a .svg or .png.")] = None,
    output_format: HowToPrint = Format.table,
    save: Save = None,
) -> None:
    """Load adjustment of the PS2Stream paper, on Q3 queries.

    loads: costs of Def. 1, fitted to counters of matchers. migration: what the four algorithms carry. drift: regions
    change the kind of their queries, with adjustment and without. shares: the same where more and more regions change.
    """
    from benchmarks.balancing import drift, loads, migration
    from benchmarks.balancing.world import Drift, World
    from tidings.balancing import Adjuster
    from tidings.cli.output import progress

    smaller = {BalancingPart.loads: 40_000, BalancingPart.shares: 20_000}
    count = queries or smaller.get(part, 100_000)
    if part in (BalancingPart.drift, BalancingPart.shares):
        world, made = World.made(data, posts, 3 * count, seed), Drift.of(count, batches, share, crowd)
        with TemporaryDirectory(prefix="tidings-bench-") as name, progress("batches", None) as advance:
            if part == BalancingPart.drift:
                figures = drift.measure(
                    world, made, Path(name), Adjuster(), matchers, advance, picture=picture, minutes=minutes
                )
            else:
                figures = drift.shares(world, made, Path(name), Adjuster(), matchers, advance, minutes)
    elif part == BalancingPart.loads:
        with progress("sizes", 4) as advance:
            figures = loads.measure(World.made(data, posts, count, seed), count, matchers, advance)
    else:
        with progress("algorithms", 8) as advance:
            figures = migration.measure(World.made(data, posts, count, seed), count, posts // 2, matchers, advance)
    tell(f"balancing {part}", data, figures, seed, output_format, save)
