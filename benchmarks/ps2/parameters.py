"""Which δ, σ and θ are good for the hybrid? Each is varied alone: [PS2] gives no values.

``by_default``: the largest load with the values that are the default, by that with these, on posts that were held out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.ps2.division import Plan, Setting, samples
from tidings.partitioning.hybrid import Hybrid, Workload, measure

SWEPT: dict[str, tuple[str, tuple[float, ...]]] = {
    "δ": ("dissimilar", (0.1, 0.3, 0.5, 0.7, 0.9)),
    "σ": ("uneven", (1.02, 1.05, 1.1, 1.2, 1.5)),
    "θ": ("most", (1, 2, 4, 8, 16, 32)),
}
"""By its letter the field of :class:`Hybrid`, and its values; θ is for each matcher."""


def figures(data: Path, plan: Plan, settings: list[Setting]) -> Iterator[dict[str, Any]]:
    """A row for each setting, both hybrids, and each value."""
    for setting in settings:
        learn, held_out = samples(data, plan, setting)
        for name, compare in (("hybrid", True), ("as in the paper", False)):
            default = Hybrid(costs=plan.sample_costs(), compare=compare)
            found = {default: _largest(default, learn, held_out, plan)}
            for letter, (field, values) in SWEPT.items():
                for value in values:
                    own = replace(default, **{field: type(getattr(default, field))(value)})
                    if own not in found:
                        found[own] = _largest(own, learn, held_out, plan)
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


def _largest(hybrid: Hybrid, learn: Workload, held_out: Workload, plan: Plan) -> float:
    return float(measure(hybrid.partition(learn, plan.matchers), held_out).loads(plan.sample_costs()).max())
