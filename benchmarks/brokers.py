"""``python -m benchmarks brokers``: real brokers under load, with a migration and a death."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from benchmarks.commands.options import HowToPrint, Save, kept
from tidings.cli.format import Format


def brokers(  # noqa: PLR0913  # each is an option
    *,
    subscribers: Annotated[int, typer.Option(min=1, help="How many subscribe.")] = 500,
    seconds: Annotated[float, typer.Option(min=5, help="How long publications come.")] = 60,
    rate: Annotated[float, typer.Option(min=1, help="Publications a second.")] = 20,
    mbps: Annotated[float, typer.Option(min=0.01, help="What each broker sends at most.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Of quotes and subscriptions.")] = 1,
    plot: Annotated[Path | None, typer.Option(help="Where the picture goes: a .png or .svg file.")] = None,
    output_format: HowToPrint = Format.table,
    save: Save = None,
) -> None:
    """Five brokers as processes: subscribers move under load, one broker is killed, and nothing promised is lost."""
    from benchmarks.broker_processes import Plan, draw, measure  # heavy imports only when they are needed
    from benchmarks.printing import print_figures
    from tidings.cli.output import progress

    with progress("publications", int(seconds * rate)) as advance:
        figures, diary = measure(Plan(subscribers, seconds, rate, mbps, seed), advance)
    if plot:
        draw(diary, plot)
    print_figures(kept("brokers", "made-up quotes", seed, save, figures), output_format)
