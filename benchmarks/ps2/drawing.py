"""How do the figures of [PS2] look? For each length of posts, the hybrid by the width of squares on the map."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tidings.cli.plot import Curve, Panel, save

_LENGTHS = {"short": "posts of 4 words", "own": "posts as they are", "long": "posts of three"}
_TITLES = {
    "by_best_base": "Best base by hybrid, {}",
    "by_bound": "Hybrid by the bound, {}",
}


def draw_sweep(figures: dict[str, Any], path: Path) -> None:
    """The map of a sweep: largest load of the best base by that of the hybrid, and that of the hybrid by the bound."""
    columns = {name: values for name, values in figures.items() if isinstance(values, list)}
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    hybrid = [row for row in rows if row["partitioner"] == "hybrid"]
    panels = [
        Panel(
            title.format(_LENGTHS[length]), curves=_curves([row for row in hybrid if row["length"] == length], measure)
        )
        for length in dict.fromkeys(row["length"] for row in hybrid)
        for measure, title in _TITLES.items()
    ]
    save(path, "mean side of a square by the width of the map", panels)


def _curves(rows: list[dict[str, Any]], measure: str) -> list[Curve]:
    curves = []
    for kind in dict.fromkeys(row["queries"] for row in rows):
        own = sorted((row["side_by_width"], row[measure]) for row in rows if row["queries"] == kind)
        curves.append(Curve(kind, [across for across, _ in own], [up for _, up in own]))
    return curves
