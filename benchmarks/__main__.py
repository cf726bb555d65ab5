"""``make bench ARGS="…"``: each figure of the documentation, made again."""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benchmarks import brokers, keep, policies
from benchmarks.lsm.command import lsm
from benchmarks.names import (
    BalancingPart,
    Name,
    Part,
    Peer,
    Placed,
    S3tmFigure,
    Seam,
    SheddingPart,
    Source,
    SparkPart,
)
from benchmarks.padres.__main__ import app as padres
from benchmarks.pipeline_past import EXAMPLE, pipeline_past
from tidings.cli.format import Format
from tidings.cli.terminal import say
from tidings.model import TidingsError

if TYPE_CHECKING:
    from benchmarks.matching import Workload
    from benchmarks.result import Result

app = typer.Typer(name="benchmarks", help="Measure, and check that what is compared is equal.", no_args_is_help=True)

app.add_typer(padres, name="padres")

app.command(epilog="Example: python -m benchmarks lsm speed --operations 1000000 --data path/to/data")(lsm)

MADE_UP = "made-up posts"


Subscriptions = Annotated[int, typer.Option(min=1, help="How many ask.")]
Rounds = Annotated[int, typer.Option(min=1, help="How often it is measured; the best and the median are told.")]
Data = Annotated[
    Path | None, typer.Option(help="Folder with tweets, traffic and stocks .parquet; made-up posts without.")
]
Seed = Annotated[int, typer.Option(min=0, help="Of the subscriptions, and of made-up posts.")]
HowToPrint = Annotated[Format, typer.Option("--format", help="How to print.")]
Save = Annotated[Path | None, typer.Option(help="Also write the figures with their origin to this file.")]


app.command(epilog=brokers.EXAMPLE)(brokers.brokers)
app.command(epilog=policies.EXAMPLE)(policies.policies)


@app.callback()
def about() -> None:
    """Measure, and check that what is compared is equal."""


@app.command(epilog="Example: python -m benchmarks analysis --posts tweets.parquet --save docs/results/analysis.json")
def analysis(
    posts: Annotated[
        Path | None, typer.Option(help="A Parquet file with a column 'text'; made-up posts without.")
    ] = None,
    rows: Annotated[
        int | None, typer.Option(min=1, help="How many posts; all of the file, or 50,000, without.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the made-up posts.")] = 1,
    output_format: HowToPrint = Format.table,
    save: Save = None,
) -> None:
    """The fast analyser against the exact one: equal words on every post, and how many times as fast."""
    from benchmarks.analysis import measure  # heavy imports only when they are needed
    from benchmarks.printing import print_figures
    from benchmarks.result import Result
    from tidings.cli.output import progress
    from tidings.workloads import Posts, read_texts

    table = read_texts(posts, rows) if posts else Posts(seed=seed).table(rows or 50_000)
    with progress("analysing", table.num_rows) as advance:
        figures = measure(table["text"], advance)
    dataset = posts.name if posts else MADE_UP
    result = Result("analysis", dataset, figures, None if posts else seed)
    if save:
        result.save(save)
    print_figures(result, output_format)


@app.command(
    epilog="Example: python -m benchmarks matching --workload words --subscriptions 1000000 --data path/to/data"
)
def matching(  # noqa: PLR0913  # each is an option
    *,
    workload_name: Annotated[Name, typer.Option("--workload", help="What is asked.")] = Name.words,
    subscriptions: Subscriptions = 100_000,
    posts: Annotated[int, typer.Option(min=1, help="How many posts are matched.")] = 40_000,
    rounds: Rounds = 5,
    placed: Annotated[Placed, typer.Option("--places", help="Which file has the posts with places.")] = Placed.traffic,
    peer_name: Annotated[
        Peer | None, typer.Option("--peer", help="Also measure this one; lucene needs JDK and Maven.")
    ] = None,
    peer_posts: Annotated[int, typer.Option(min=1, help="How many posts the peer matches one at a time.")] = 2_000,
    peer_batch: Annotated[int, typer.Option(min=1, help="How many it gets at once in its second run.")] = 4_096,
    data: Data = None,
    seed: Seed = 1,
    output_format: HowToPrint = Format.table,
    save: Save = None,
) -> None:
    """The index, checked against brute force first: publications matched a second, on one core.

    With a peer, that gets the same subscriptions and posts: equal matches first, then both in turn. With gi2, both are
    also measured while subscriptions change: one is added and one is deleted for every 10 posts ([PS2] VI-A).
    """
    from benchmarks import gi2, matching, peer
    from benchmarks.workloads import workload
    from tidings.cli.output import progress

    asked = workload(workload_name, data, subscriptions, posts, seed, placed=placed)
    with progress("matching", rounds * asked.round_posts) as advance:
        if peer_name == Peer.gi2:
            figures = gi2.measure(asked, rounds, advance)
        elif peer_name:
            beside = peer.Settings(peer_posts, peer_batch)
            figures = peer.measure(workload_name, asked, rounds, beside, advance)
        else:
            figures = matching.measure(asked, rounds, advance)
    _tell("matching", data, figures, seed, output_format, save)


@app.command(epilog="Example: python -m benchmarks growth --most 100000 --plot growth.svg --save growth.json")
def growth(  # noqa: PLR0913
    *,
    most: Annotated[int, typer.Option(min=1, help="Stop at so many subscriptions.")] = 3_000_000,
    posts: Annotated[int, typer.Option(min=1, help="How many posts are matched.")] = 40_000,
    rounds: Rounds = 5,
    plot: Annotated[Path | None, typer.Option(help="Also draw it: a .svg or .png file; needs matplotlib.")] = None,
    data: Data = None,
    seed: Seed = 1,
    output_format: HowToPrint = Format.table,
    save: Save = None,
) -> None:
    """The index from a thousand subscriptions to millions: speed, memory, time to register."""
    from benchmarks.growth import draw, grown, sizes
    from benchmarks.workloads import workload
    from tidings.cli.output import progress

    counts = sizes(most)
    with progress("matching", 2 * posts * rounds * len(counts)) as advance:
        figures = grown(lambda count: workload(Name.words, data, count, posts, seed), counts, rounds, advance)
    if plot:
        draw(figures, plot)
    _tell("growth", data, figures, seed, output_format, save)


@app.command(epilog="Example: python -m benchmarks moves --subscriptions 100000 --matchers 8 --share 0.01")
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
        _tell("moves live", data, figures, seed, output_format, save)
        return
    made = workload(Name.words, data, subscriptions, 20_000, seed)
    with progress("moving", rounds) as advance:
        figures = measure(made, matchers, share, rounds, advance)
    _tell("moves", data, figures, seed, output_format, save)


@app.command(epilog="Example: python -m benchmarks router --data path/to/data --subscriptions 1000000")
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
    print_figures(_kept("router", "notes.parquet", seed, save, figures), output_format)


@app.command(epilog="Example: python -m benchmarks registry --commits 20000 --plot registry.svg --save registry.json")
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
    from benchmarks.result import Result
    from tidings.cli.output import progress

    settings = Settings(commits, live)
    with TemporaryDirectory(prefix="tidings-") as folder, progress("committing", commits) as advance:
        figures = measure(Path(folder) / "registry", settings, advance)
    if plot:
        draw(figures, plot)
    result = Result("registry", "made-up queries", figures)
    if save:
        result.save(save)
    print_figures(result, output_format)


@app.command(epilog="Example: python -m benchmarks engine latency --subscriptions 1000000 --data path/to/data")
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
    _tell(f"engine {part}", data, figures, seed, output_format, save)


@app.command(epilog="Example: python -m benchmarks spark replicated --workload words --data path/to/data")
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
        _tell(f"spark {part}", data, figures, seed, output_format, save)
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
    _tell(f"spark {part}", data, figures, seed, output_format, save)


@app.command(epilog="Example: python -m benchmarks s3tm matchers --posts 50000 --learn 10000 --folds 5 --plot pictures")
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
        keep = partial(_kept, f"s3tm {name}{suffix}", f"{source.value}.parquet" if data else MADE_UP, seed, file)
        with progress(f"partitionings for {name}", None) as advance:
            plan = Plan(
                learn, folds, measured or folds, networks, subscriptions, most, seed=seed, advance=advance, so_far=keep
            )
            found = FIGURES[name](asking, plan)
        if plot:
            draw(name, found, plot / f"s3tm-{name}{suffix}.svg")
        print_figures(keep(found), output_format)


@app.command(epilog="Example: python -m benchmarks shedding accuracy --data path/to/data --plot shedding-accuracy.svg")
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
            tempfile.TemporaryDirectory(prefix="tidings-bench-") as folder,
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
    _tell(f"shedding {part}", data, figures, seed, output_format, save)


@app.command(epilog="Example: python -m benchmarks balancing drift --data path/to/data --save drift.json")
def balancing(  # noqa: PLR0913
    part: Annotated[BalancingPart, typer.Argument(help="What is measured.")],
    *,
    queries: Annotated[
        int | None, typer.Option(min=100, help="How many stand; 40,000 for loads, 100,000 for migration, else 10,000.")
    ] = None,
    posts: Annotated[int, typer.Option(min=1_000, help="Posts by chance; a drift draws from them again.")] = 40_000,
    batches: Annotated[int, typer.Option(min=10, help="How many batches a drift has.")] = 200,
    rows: Annotated[int, typer.Option(min=10, help="How many posts a batch of a drift has.")] = 2_500,
    share: Annotated[float, typer.Option(min=0, max=1, help="So many regions change their kind an interval.")] = 0.1,
    matchers: Annotated[int, typer.Option(min=2, max=256)] = 8,
    data: Annotated[Path | None, typer.Option(help="Folder with notes.parquet; made-up posts without.")] = None,
    seed: Seed = 1,
    output_format: HowToPrint = Format.table,
    save: Save = None,
) -> None:
    """Load adjustment of the PS2Stream paper, on Q3 queries.

    loads: costs of Def. 1, fitted to counters of matchers. migration: what the four algorithms carry. drift: regions
    change the kind of their queries, with adjustment and without.
    """
    from benchmarks.balancing import drift, loads, migration
    from benchmarks.balancing.world import Drift, World
    from tidings.balancing import Adjuster
    from tidings.cli.output import progress

    count = (
        queries or {BalancingPart.loads: 40_000, BalancingPart.migration: 100_000, BalancingPart.drift: 10_000}[part]
    )
    if part == BalancingPart.drift:
        world, made = World.made(data, posts, 10 * count, seed), Drift(count, batches, rows, count, share)
        with TemporaryDirectory(prefix="tidings-bench-") as folder, progress("batches", batches) as advance:
            figures = drift.measure(world, made, Path(folder), Adjuster(), matchers, advance)
    elif part == BalancingPart.loads:
        with progress("sizes", 4) as advance:
            figures = loads.measure(World.made(data, posts, count, seed), count, matchers, advance)
    else:
        with progress("algorithms", 8) as advance:
            figures = migration.measure(World.made(data, posts, count, seed), count, posts // 2, matchers, advance)
    _tell(f"balancing {part}", data, figures, seed, output_format, save)


@app.command(epilog="Example: python -m benchmarks compare HEAD~3 . --figure match --data path/to/data")
def compare(  # noqa: PLR0913, PLR0917  (options)
    old: Annotated[str, typer.Argument(help="A commit.")],
    new: Annotated[str, typer.Argument(help="Another one, or . for the files as they are.")] = ".",
    figure: Annotated[
        list[Seam] | None, typer.Option(help="What is measured, several times if several; all without.")
    ] = None,
    workload_name: Annotated[Name, typer.Option("--workload", help="What is asked and published.")] = Name.words,
    subscriptions: Subscriptions = 100_000,
    posts: Annotated[int, typer.Option(min=1, help="How many posts a round has.")] = 16_384,
    rounds: Rounds = 20,
    data: Data = None,
    seed: Seed = 1,
    output_format: HowToPrint = Format.table,
    save: Save = None,
) -> None:
    """Two commits side by side, in turns: how many times as fast is the new one, and is that noise?"""
    from benchmarks.compare import compared
    from benchmarks.workloads import workload
    from tidings.cli.output import progress

    asked, figures = workload(workload_name, data, subscriptions, posts, seed), figure or [*Seam]
    found: dict[str, Any] = {"old": old, "new": new, "workload": asked.name, "posts": asked.posts.num_rows}
    columns: dict[str, list[Any]] = {"figure": [str(one) for one in figures]}
    with progress("rounds", rounds * len(figures)) as advance:
        for one in figures:
            for name, value in compared(one, asked, (old, new), rounds, advance).items():
                columns.setdefault(name, []).append(value)
    _tell("compare", data, found | columns, seed, output_format, save)


app.command(epilog=keep.EXAMPLE)(keep.keep)


app.command(name="pipeline-past", epilog=EXAMPLE)(pipeline_past)


def _tell(
    name: str, data: Path | None, figures: dict[str, Any], seed: int, output_format: Format, save: Path | None
) -> None:
    """Print the figures, and write them to a file if asked."""
    from benchmarks.printing import print_figures

    print_figures(_kept(name, "real files" if data else MADE_UP, seed, save, figures), output_format)


def _kept(name: str, dataset: str, seed: int, save: Path | None, figures: dict[str, Any]) -> Result:
    """The figures with their origin, also in a file if there is one."""
    from benchmarks.result import Result

    result = Result(name, dataset, figures, seed)
    if save:
        result.save(save)
    return result


def main() -> None:
    """The entry point: errors are one line and a hint."""
    try:
        app()
    except (TidingsError, OSError) as error:
        say(f"benchmarks: {error}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
