"""Which δ, σ and θ are good for the hybrid? Each is varied alone: [PS2] gives no values.

``by_default``: the largest load with the values that are the default, by that with these, on posts and queries that
were held out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.ps2.division import Plan, Samples, Setting
from tidings.partitioning.hybrid import Hybrid, PaperHybrid

Swept = dict[str, tuple[str, tuple[float, ...]]]
"""By its letter the field of a partitioner, and its values."""

LEAVES: Swept = {"θ": ("most", (1, 2, 4, 8, 16))}
PAPER: Swept = {
    "δ": ("dissimilar", (0.1, 0.3, 0.5, 0.7, 0.9)),
    "σ": ("uneven", (1.02, 1.05, 1.1, 1.2, 1.5)),
    "θ": ("most", (1, 2, 4, 8, 16, 32)),
}
"""θ is for each matcher."""


def figures(data: Path, plan: Plan, settings: list[Setting]) -> Iterator[dict[str, Any]]:
    """A row for each setting, both hybrids, and each value."""
    both = (
        ("hybrid", Hybrid(costs=plan.sample_costs()), LEAVES),
        ("as in the paper", PaperHybrid(costs=plan.sample_costs()), PAPER),
    )
    for setting in settings:
        samples = Samples.of(data, plan, setting)
        for name, default, swept in both:
            found = {default: _largest(default, samples, plan)}
            for letter, (field, values) in swept.items():
                for value in values:
                    own = replace(default, **{field: type(getattr(default, field))(value)})
                    if own not in found:
                        found[own] = _largest(own, samples, plan)
                    yield {
                        "map": setting.map_name,
                        "length": setting.length,
                        "queries": setting.kind,
                        "partitioner": name,
                        "parameter": letter,
                        "value": f"{value:g}",
                        "largest_load": round(found[own]),
                        "by_default": round(found[default] / found[own], 3),
                    }


def _largest(hybrid: Hybrid | PaperHybrid, samples: Samples, plan: Plan) -> float:
    return samples.counted(hybrid.partition(samples.learn, plan.matchers), plan.costs).largest
