"""How do the figures of shedding look?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.names import SheddingPart
from tidings.cli.plot import Curve, Panel, save


def draw(part: SheddingPart, figures: dict[str, Any], path: Path) -> None:
    """The figures of one part, as they were measured, as the picture ``path``."""
    if part == SheddingPart.accuracy:
        layouts = dict.fromkeys(zip(figures["partitioner"], figures["matchers"], strict=True))
        panels = [
            Panel(f"{title}, {name}, N = {matchers}", curves=_curves(figures, "policy", "m", measure,
                  partitioner=name, matchers=matchers))
            for name, matchers in layouts
            for measure, title in (("accuracy", "Accuracy"), ("copies_shed", "Copies shed"))
        ]  # fmt: skip
        save(path, "matchers of a post at most, m", panels, log=False)
    elif part == SheddingPart.posts:
        panels = [
            Panel(title, curves=_curves(figures, "policy", "kept", measure))
            for measure, title in (("accuracy", "Accuracy"), ("work_shed", "Work shed"))
        ]
        save(path, "part of the posts that is kept", panels, log=False)
    elif part == SheddingPart.spike:
        titles = {"rate": "Rate, where capacity is 1", "level": "Level", "waiting_s": "Waiting, in seconds of work"}
        panels = [Panel(title, curves=_curves(figures, "delay_s", "second", name)) for name, title in titles.items()]
        save(path, "seconds", panels, log=False)
    else:
        titles = {
            "came": "Posts that came since the last sample",
            "lag_s": "Oldest waiting post, seconds",
            "level": "Expected to be lost, per cent of the matches",
            "batch_s": "Time of a batch, seconds",
        }
        panels = [Panel(title, curves=_curves(figures, "overload", "second", name)) for name, title in titles.items()]
        save(path, "seconds", panels, log=False)


def _curves(figures: dict[str, Any], by: str, across: str, up: str, **only: object) -> list[Curve]:
    rows = [n for n in range(len(figures[by])) if all(figures[name][n] == value for name, value in only.items())]
    curves = []
    for label in dict.fromkeys(figures[by][n] for n in rows):
        own = [n for n in rows if figures[by][n] == label]
        curves.append(Curve(str(label), [figures[across][n] for n in own], [figures[up][n] for n in own]))
    return curves
