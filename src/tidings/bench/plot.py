"""How does a result become a picture? As panels, two in a row, over the same axis; the only home of matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidings.model import DataError

_COLOUR, _GRID = "#1f5fa8", "#d9d9d9"


@dataclass(frozen=True, slots=True)
class Panel:
    title: str
    across: Sequence[float]
    up: Sequence[float]


def save(path: Path, label: str, panels: Sequence[Panel], *, log: bool = True) -> None:
    """Draw the panels to a .svg or .png file; ``label`` is what goes across, by its logarithm unless ``log`` is False.

    The same figures give the same file.
    """
    try:
        import matplotlib as mpl  # noqa: PLC0415
        from matplotlib.figure import Figure  # noqa: PLC0415
        from matplotlib.ticker import FuncFormatter  # noqa: PLC0415
    except ImportError:
        raise DataError("a picture needs matplotlib; install it: pip install 'tidings[plots]'") from None
    if path.suffix not in (".svg", ".png"):
        raise DataError(f"a picture is a .svg or a .png file, got {str(path)!r}")
    settings: Any = {"svg.hashsalt": "tidings", "font.size": 11, "axes.spines.top": False, "axes.spines.right": False}
    with mpl.rc_context(settings):
        rows = -(-len(panels) // 2)
        figure = Figure(figsize=(9.6, 3.4 * rows), layout="constrained")
        for axes, panel in zip(figure.subplots(rows, 2, squeeze=False).flat, panels, strict=False):
            axes.plot(panel.across, panel.up, marker="o", color=_COLOUR, linewidth=2)
            if log:
                axes.set_xscale("log")
                axes.set_xticks(panel.across)
                axes.minorticks_off()
            axes.set_ylim(bottom=0, top=1.1 * max(panel.up) or 1)
            axes.set_title(panel.title, loc="left", fontsize=12)
            axes.set_xlabel(label)
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
            axes.grid(color=_GRID, linewidth=0.8)
            axes.set_axisbelow(True)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=160, metadata={"Date": None} if path.suffix == ".svg" else None)


def _short(number: float) -> str:
    """1000 as 1k, a million as 1M.

    >>> _short(300), _short(30_000), _short(3e6)
    ('300', '30k', '3M')
    """
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if number >= unit:
            return f"{number / unit:g}{letter}"
    return f"{number:g}"
