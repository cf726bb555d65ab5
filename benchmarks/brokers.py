"""``python -m benchmarks brokers``: real brokers under load, with a migration and a death."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tidings.cli.format import Format


def brokers(  # noqa: PLR0913  # each is an option
    *,
    subscribers: Annotated[int, typer.Option(min=1, help="How many subscribe.")] = 500,
    seconds: Annotated[float, typer.Option(min=5, help="How long publications come.")] = 60,
    rate: Annotated[float, typer.Option(min=1, help="Publications a second.")] = 20,
    mbps: Annotated[float, typer.Option(min=0.01, help="What each broker sends at most.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Of quotes and subscriptions.")] = 1,
    plot: Annotated[Path | None, typer.Option(help="Where the picture goes: a .png or .svg file.")] = None,
    output_format: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.table,
    save: Annotated[Path | None, typer.Option(help="Also write the figures with their origin to this file.")] = None,
) -> None:
    """Five brokers as processes: subscribers move under load, one broker is killed, and nothing promised is lost."""
    from benchmarks.broker_processes import Plan, draw, measure  # heavy imports only when they are needed
    from benchmarks.printing import print_figures
    from benchmarks.result import Result
    from tidings.cli.output import progress

    with progress("publications", int(seconds * rate)) as advance:
        figures, diary = measure(Plan(subscribers, seconds, rate, mbps, seed), advance)
    result = Result("brokers", "made-up quotes", figures, seed)
    if plot:
        draw(diary, plot)
    if save:
        result.save(save)
    print_figures(result, output_format)
