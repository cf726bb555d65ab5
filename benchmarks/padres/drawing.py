"""How does a run look? Load, subscribers and delay over time; or, where brokers are added, by their number."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks.padres.experiments import PadresFigure, Played, row
from tidings.cli.plot import Curve, Panel, save
from tidings.simulate.record import WindowRecord


def draw(figure: PadresFigure, played: list[Played], path: Path) -> None:
    """All runs of a figure as one picture."""
    if figure in (PadresFigure.edges, PadresFigure.clusters):
        _draw_scaling(figure, played, path)
    else:
        panels = [panel for each in played for panel in _over_time(each)]
        save(path, "simulated seconds", panels, log=False)


def _over_time(played: Played) -> list[Panel]:
    samples, name = played.recording.samples, played.run.name
    times = [each.at_s for each in samples]

    def by_broker(value: Callable[[WindowRecord, str], float]) -> list[Curve]:
        return [Curve(broker, times, [value(each, broker) for each in samples]) for broker in samples[-1].metrics]

    return [
        Panel(f"Input utilization, {name}", curves=by_broker(lambda each, broker: each.metrics[broker].input_ratio)),
        Panel(f"Output utilization, {name}", curves=by_broker(lambda each, broker: each.metrics[broker].output_ratio)),
        Panel(f"Subscribers, {name}", curves=by_broker(lambda each, broker: each.subscribers[broker])),
        Panel(f"Delay of a delivery, s, {name}", times, [each.delay_s for each in samples]),
    ]


def _draw_scaling(figure: PadresFigure, played: list[Played], path: Path) -> None:
    counts = [float(each.run.name) for each in played]
    rows = [row(each) for each in played]
    panels = [
        Panel("Mean output utilization at rest", counts, [each["mean_output"] for each in rows]),
        Panel("Delay of a delivery at rest, ms", counts, [each["delay_at_rest_ms"] for each in rows]),
    ]
    save(path, figure.value, panels, log=False)
