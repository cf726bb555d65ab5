"""What do the analyser and the index do a second, on one core?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.commands.options import MADE_UP, Data, HowToPrint, Rounds, Save, Seed, Subscriptions, kept, tell
from benchmarks.names import Name, Peer, Placed, Seam
from tidings.cli.format import Format


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
    from tidings.cli.output import progress
    from tidings.workloads import Posts, read_texts

    table = read_texts(posts, rows) if posts else Posts(seed=seed).table(rows or 50_000)
    with progress("analysing", table.num_rows) as advance:
        figures = measure(table["text"], advance)
    dataset = posts.name if posts else MADE_UP
    print_figures(kept("analysis", dataset, None if posts else seed, save, figures), output_format)


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
    tell("matching", data, figures, seed, output_format, save)


def fences(
    *,
    subscriptions: Subscriptions = 100_000,
    posts: Annotated[int, typer.Option(min=1, help="How many places are matched.")] = 40_000,
    rounds: Rounds = 5,
    data: Data = None,
    seed: Seed = 1,
    output_format: HowToPrint = Format.table,
    save: Save = None,
) -> None:
    """Fences, half of them circles, against a shapely STRtree with names on both sides; circles against boxes."""
    from benchmarks.fences import Fences, measure, placed
    from tidings.cli.output import progress
    from tidings.workloads import Posts, read_traffic

    table = read_traffic(data / "traffic.parquet") if data else Posts(seed=seed).table(2 * posts)
    table = placed(table, seed)
    with progress("matching", rounds * posts) as advance:
        figures = measure(Fences.around(table, subscriptions, seed), table.slice(0, posts), rounds, advance)
    tell("fences", data, figures, seed, output_format, save)


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
    tell("growth", data, figures, seed, output_format, save)


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
    tell("compare", data, found | columns, seed, output_format, save)
