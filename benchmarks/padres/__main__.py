"""``python -m benchmarks.padres``: the evaluation of [PADRES], in simulated time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tidings.cli.format import Format
from tidings.cli.terminal import say
from tidings.model import TidingsError

app = typer.Typer(name="benchmarks.padres", help="The evaluation of PADRES.", no_args_is_help=True)

HowToPrint = Annotated[Format, typer.Option("--format", help="How to print.")]
SAVE_EVERY = 1_000
Save = Annotated[Path | None, typer.Option(help="Also write the figures with their origin to this file.")]


@app.callback()
def about() -> None:
    """The evaluation of PADRES."""


@app.command(epilog="Example: python -m benchmarks.padres figure local --data path/to/data --plot padres-local.svg")
def figure(  # each is an option
    name: Annotated[str, typer.Argument(help="local, random, churn, edges, clusters or global.")],
    *,
    data: Annotated[Path | None, typer.Option(help="Folder with stocks.parquet; made-up quotes without.")] = None,
    seed: Annotated[int, typer.Option(min=0)] = 1,
    output_format: HowToPrint = Format.table,
    save: Save = None,
    plot: Annotated[Path | None, typer.Option(help="Also draw it: a .svg or .png file; needs matplotlib.")] = None,
) -> None:
    """Play the runs of a figure: spreads of load, moved subscribers, delays, messages, errors of estimates."""
    from benchmarks.padres.drawing import draw  # heavy imports only when they are needed
    from benchmarks.padres.experiments import PadresFigure, Played, play, row, runs
    from benchmarks.printing import print_figures
    from benchmarks.result import Result

    if name not in list(PadresFigure):
        raise typer.BadParameter(f"choose one of {', '.join(PadresFigure)}", param_hint="NAME")
    chosen = PadresFigure(name)
    played: list[Played] = []
    for run in runs(chosen, data / "stocks.parquet" if data else None, seed):
        played.append(play(run))
        rows = [row(each) for each in played]
        say(f"{run.name}: {rows[-1]['moves']:,} moves, {played[-1].cpu_s:.1f} s of CPU", err=True)
        columns = {key: [each[key] for each in rows] for key in rows[0]}
        result = Result(f"padres {name}", "stocks.parquet" if data else "made-up quotes", columns, seed)
        if save:
            result.save(save)
        if plot:
            draw(chosen, played, plot)
    print_figures(result, output_format)


@app.command(epilog="Example: python -m benchmarks.padres repeated --seeds 10 --data path/to/data")
def repeated(
    *,
    data: Annotated[Path | None, typer.Option(help="Folder with stocks.parquet; made-up quotes without.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds, from 1 on.")] = 10,
    name: Annotated[str, typer.Option("--figure", help="local, random, churn, edges, clusters or global.")] = "local",
    output_format: HowToPrint = Format.table,
    save: Save = None,
) -> None:
    """Play a figure with several seeds: means and deviations of what one run says little about."""
    from benchmarks.padres.experiments import PadresFigure, play, runs
    from benchmarks.padres.experiments import repeated as summed_up
    from benchmarks.printing import print_figures
    from benchmarks.result import Result

    if name not in list(PadresFigure):
        raise typer.BadParameter(f"choose one of {', '.join(PadresFigure)}", param_hint="--figure")
    played = []
    for seed in range(1, seeds + 1):
        for run in runs(PadresFigure(name), data / "stocks.parquet" if data else None, seed):
            played.append(play(run))
            say(f"{run.name}, seed {seed}: {played[-1].cpu_s:.1f} s of CPU", err=True)
    rows = summed_up(played)
    columns = {key: [each[key] for each in rows] for key in rows[0]}
    result = Result("padres repeated", "stocks.parquet" if data else "made-up quotes", columns)
    if save:
        result.save(save)
    print_figures(result, output_format)


@app.command(epilog="Example: python -m benchmarks.padres seeds --count 1000 --first 5000")
def seeds(
    *,
    count: Annotated[int, typer.Option(min=1, help="How many small worlds.")] = 1_000,
    first: Annotated[int, typer.Option(min=0, help="The first seed.")] = 0,
    output_format: HowToPrint = Format.table,
    save: Save = None,
) -> None:
    """Play small random worlds with faults; each one that breaks a promise is told, and its seed brings it again.

    A hundred thousand take long: the file is written after every thousand, with what was played until then.
    """
    from time import process_time

    from benchmarks.padres.experiments import seeds_result
    from benchmarks.printing import print_figures
    from tidings.cli.output import progress
    from tidings.simulate.chaos import search

    begun, failures, played = process_time(), 0, 0
    with progress("worlds", count) as advance:
        while played < count:
            chunk = range(first + played, first + min(played + SAVE_EVERY, count))
            for failure in search(chunk, advance):
                failures += 1
                say(f"seed {failure.seed} ({failure.faults}): {failure.problem}", err=True)
            played += len(chunk)
            result = seeds_result(range(first, chunk.stop), failures, process_time() - begun)
            if save:
                result.save(save)
    print_figures(result, output_format)
    if failures:
        raise typer.Exit(1)


@app.command(epilog="Example: python -m benchmarks.padres speed --rounds 3")
def speed(
    *,
    rounds: Annotated[int, typer.Option(min=1, help="The best one is told.")] = 3,
    seconds: Annotated[float, typer.Option(min=60, help="How many simulated seconds.")] = 3_600.0,
    output_format: HowToPrint = Format.table,
    save: Save = None,
) -> None:
    """One simulated hour of the local experiment: how much CPU it takes, and events for each second of it.

    A step is an entry of the clock's heap: something is published, matched, sent, received, or a timer is up. All
    deliveries of a publication by a broker are one step. An event is a step or the delivery to one subscriber.
    """
    from dataclasses import replace

    from benchmarks.padres.experiments import PadresFigure, play, runs
    from benchmarks.printing import print_figures
    from benchmarks.result import Result

    run = runs(PadresFigure.local, None, 1)[0]
    run = replace(run, scenario=replace(run.scenario, duration_s=seconds))
    played = min((play(run) for _ in range(rounds)), key=lambda each: each.cpu_s)
    deliveries = sum(sample.deliveries for sample in played.recording.samples)
    steps = played.recording.events
    figures = {
        "simulated_s": seconds,
        "cpu_s": round(played.cpu_s, 1),
        "steps": steps,
        "deliveries": deliveries,
        "steps_per_s": round(steps / played.cpu_s),
        "events_per_s": round((steps + deliveries) / played.cpu_s),
    }
    result = Result("padres speed", "made-up quotes", figures, 1)
    if save:
        result.save(save)
    print_figures(result, output_format)


def main() -> None:
    """The entry point: errors are one line."""
    try:
        app()
    except TidingsError as error:
        raise SystemExit(f"error: {error}") from None


if __name__ == "__main__":
    main()
