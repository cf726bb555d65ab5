"""How does a result become a picture? As panels, two in a row, over the same axis; the only home of matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidings.model import DataError

_COLOURS, _GRID = ("#1f5fa8", "#d1495b", "#3a8f5d", "#e09f3e", "#6d4c9f", "#555555", "#17a2b8"), "#d9d9d9"
_FEW = 10
"""Where all values are below, the axis has fractions."""


@dataclass(frozen=True, slots=True)
class Curve:
    """``error``: how far each value may be off, above and below."""

    label: str
    across: Sequence[float]
    up: Sequence[float]
    error: Sequence[float] | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """One curve, or several, for which the first panel has a legend; ``log_up``: values by their logarithm as well."""

    title: str
    across: Sequence[float] = ()
    up: Sequence[float] = ()
    curves: Sequence[Curve] = ()
    log_up: bool = False


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
            curves = panel.curves or [Curve("", panel.across, panel.up)]
            for curve, colour in zip(curves, _COLOURS, strict=False):
                size = {"linewidth": 2} if len(curves) == 1 else {"linewidth": 1.4, "markersize": 3.5}
                axes.errorbar(curve.across, curve.up, curve.error, label=curve.label, marker="o", color=colour, **size)
            if log:
                axes.set_xscale("log")
                axes.set_xticks(curves[0].across)
                axes.minorticks_off()
            top = 1.1 * max(max(curve.up) for curve in curves) or 1
            if panel.log_up:
                axes.set_yscale("log")
            else:
                axes.set_ylim(bottom=0, top=top)
            if panel is panels[0] and len(curves) > 1:
                axes.legend(fontsize=8, frameon=False)
            axes.set_title(panel.title, loc="left", fontsize=12)
            axes.set_xlabel(label)
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
            has_fractions = panel.log_up or top < _FEW
            shown = _fraction if has_fractions else lambda value, _: f"{value:,.0f}"
            axes.yaxis.set_major_formatter(FuncFormatter(shown))
            axes.grid(color=_GRID, linewidth=0.8)
            axes.set_axisbelow(True)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=160, metadata={"Date": None} if path.suffix == ".svg" else None)


def _fraction(number: float, _: int) -> str:
    return f"{number:g}"


def _short(number: float) -> str:
    """1000 as 1k, a million as 1M.

    >>> _short(300), _short(30_000), _short(3e6)
    ('300', '30k', '3M')
    """
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if number >= unit:
            return f"{number / unit:g}{letter}"
    return f"{number:g}"
