"""How do the figures of [LSM] look?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tidings.cli.plot import Curve, Panel, save


def draw(figures: dict[str, Any], path: Path) -> None:
    """Speed and size on disk by operations done, as the picture ``path``."""
    rows = [
        dict(zip(("load", "store", "operations", "a_second", "disk_mb"), row, strict=True))
        for row in zip(*(figures[name] for name in ("load", "store", "operations", "a_second", "disk_mb")), strict=True)
    ]
    panels = [
        Panel(
            f"{title}, {load}",
            curves=[_curve(rows, load, store, measure) for store in dict.fromkeys(row["store"] for row in rows)],
        )
        for measure, title in (("a_second", "Operations a second"), ("disk_mb", "On disk, MiB"))
        for load in dict.fromkeys(row["load"] for row in rows)
    ]
    save(path, "operations done", panels, log=False)


def _curve(rows: list[dict[str, Any]], load: str, store: str, measure: str) -> Curve:
    own = [row for row in rows if (row["load"], row["store"]) == (load, store)]
    return Curve(store, [row["operations"] for row in own], [row[measure] for row in own])
