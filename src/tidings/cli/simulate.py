"""``tidings simulate``: how would brokers share their load? A scenario in simulated time, summed up and drawn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from tidings.cli.format import Format
from tidings.cli.terminal import cell

if TYPE_CHECKING:
    from tidings.cli.plot import Curve
    from tidings.simulate.record import Recording, WindowRecord

EXAMPLE = "Example: tidings simulate docs/scenarios/local.toml --plot load.svg"


def simulate(
    scenario: Annotated[Path, typer.Argument(help="What shall happen: a TOML file.")],
    *,
    seed: Annotated[int | None, typer.Option(min=0, help="Instead of that of the scenario.")] = None,
    seconds: Annotated[float | None, typer.Option(min=30, help="How many simulated seconds, instead of all.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Where the picture goes: a .png or .svg file.")] = None,
    output_format: Annotated[Format, typer.Option("--format", help="How to print the summary.")] = Format.table,
) -> None:
    """Play a scenario of brokers, publishers and subscribers in simulated time; the same seed gives the same run."""
    from dataclasses import replace  # noqa: PLC0415  # each loads only when it is needed

    from tidings.cli.output import progress  # noqa: PLC0415
    from tidings.simulate.record import record  # noqa: PLC0415
    from tidings.simulate.scenario import read_scenario  # noqa: PLC0415

    asked = read_scenario(scenario)
    asked = replace(
        asked,
        seed=asked.seed if seed is None else seed,
        duration_s=asked.duration_s if seconds is None else seconds,
    )
    with progress("simulated seconds", int(asked.duration_s)) as advance:
        done = 0.0

        def tell(at_s: float) -> None:
            nonlocal done
            advance(int(at_s - done))
            done = at_s

        recording = record(asked, tell)
    if plot is not None:
        _draw(recording, plot)
    _print(recording, output_format)


def _print(recording: Recording, output_format: Format) -> None:
    summary = recording.summary()
    last = recording.samples[-1]
    if output_format == Format.json:
        brokers = {
            name: {
                "subscribers": last.subscribers[name],
                "input_ratio": metrics.input_ratio,
                "matching_delay_s": metrics.matching_delay_s,
                "output_ratio": metrics.output_ratio,
            }
            for name, metrics in last.metrics.items()
        }
        page = {"name": recording.scenario.name, "seed": recording.scenario.seed, "brokers": brokers}
        typer.echo(json.dumps(page | summary, indent=2))
        return
    if output_format == Format.csv:
        typer.echo("figure,value")
        for name, value in summary.items():
            typer.echo(f"{name},{value}")
        return
    _print_tables(recording, last, summary)


def _print_tables(recording: Recording, last: WindowRecord, summary: dict[str, float | int]) -> None:
    console = Console()
    title = f"{recording.scenario.name}, seed {recording.scenario.seed}: at {last.at_s:,.0f} s"
    table = Table(
        "broker",
        "subscribers",
        "input",
        "matching",
        "output",
        box=None,
        pad_edge=False,
        title_justify="left",
        title=cell(title, "table.title"),
    )
    for name, metrics in last.metrics.items():
        table.add_row(
            cell(name),
            f"{last.subscribers[name]:,}",
            f"{metrics.input_ratio:.3f}",
            f"{1000 * metrics.matching_delay_s:.2f} ms",
            f"{metrics.output_ratio:.3f}",
        )
    console.print(table)
    figures = Table("", "", box=None, pad_edge=False, show_header=False)
    for name, value in summary.items():
        figures.add_row(name.replace("_", " "), f"{value:,}" if isinstance(value, int) else f"{value:,.4g}")
    console.print(figures)


def _draw(recording: Recording, path: Path) -> None:
    """Load by broker, subscribers, delay and overhead over time ([PADRES] Fig. 12, 14, 15, 16)."""
    from tidings.cli.plot import Panel, save  # noqa: PLC0415

    samples = recording.samples
    times = [sample.at_s for sample in samples]
    names = list(samples[-1].metrics)

    def loads(metric: str) -> list[Curve]:
        return _curves(names, times, [[getattr(each.metrics[name], metric) for each in samples] for name in names])

    panels = [
        Panel("input utilization ratio", curves=loads("input_ratio")),
        Panel("output utilization ratio", curves=loads("output_ratio")),
        Panel("matching delay, s", curves=loads("matching_delay_s")),
        Panel("subscribers", curves=_curves(names, times, [[s.subscribers[n] for s in samples] for n in names])),
        Panel("delivery delay, s", times, [sample.delay_s for sample in samples]),
        Panel("control messages, % of all", times, [100 * sample.overhead for sample in samples]),
    ]
    save(path, "simulated seconds", panels, log=False)


def _curves(names: list[str], times: list[float], values: list[list[float]]) -> list[Curve]:
    from tidings.cli.plot import Curve  # noqa: PLC0415

    return [Curve(name, times, up) for name, up in zip(names, values, strict=True)]
