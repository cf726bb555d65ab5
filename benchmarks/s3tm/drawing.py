"""How do the figures look? A panel for each measure and model, a curve with error bars for each partitioner."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.names import S3tmFigure
from tidings.cli.plot import Curve, Panel, save

_MEASURES = {"throughput": "Throughput, in matchers", "spread": "Spread", "imbalance": "Imbalance"}
_FOUND = {"spread": ("", "on Spark"), "throughput": ("time_", "on Spark, by time")}
_MODELS = {"tweets": "tweet-based", "topics": "topic-based", "short": "posts of 4 words"}


def draw(name: S3tmFigure, figures: dict[str, Any], path: Path) -> None:
    """The figures of one name, as they were measured, as the picture ``path``."""
    if name == S3tmFigure.words:
        save(path, "rank", [Panel("Posts that have the word of this rank", figures["rank"], figures["frequency"])])
    elif name == S3tmFigure.learning:
        each = [_panel(figures, "learned_s", "posts_learned", "Seconds to learn, N = 16", {"matchers": 16}, log=True)]
        each.append(_panel(figures, "throughput", "posts_learned", "Throughput, N = 16", {"matchers": 16}))
        save(path, "posts learned from", each)
    elif name == S3tmFigure.placement:
        each = [
            _panel(figures, "most_operations", "matchers", f"Look-ups a post at the busiest, {_MODELS[model]}",
                   {"model": model}, by="placer")
            for model in ("tweets", "topics")
        ]  # fmt: skip
        save(path, "matchers", each)
    elif name == S3tmFigure.cost:
        save(path, "different words", _costs(figures), log=False)
    elif name in (S3tmFigure.headline, S3tmFigure.readings):
        each = [
            _panel(figures, "throughput", "matchers", f"Throughput by {sent}{', split' if split else ''}",
                   {"sent_for": sent, "split": split})
            for sent in ("words", "guards")
            for split in (False, True)
        ]  # fmt: skip
        save(path, "matchers", each)
    elif name == S3tmFigure.spark:
        titles = {"spread": "Spread", "throughput": "Throughput"}
        each = [
            _panel(figures, f"{kind}{measure}", "matchers", f"{title}, {said}", {})
            for measure, title in titles.items()
            for kind, said in (("predicted_", "predicted"), _FOUND[measure])
        ]
        save(path, "matchers", each)
    else:
        _save_models(name, figures, path)


def _costs(figures: dict[str, Any]) -> list[Panel]:
    """Look-ups by words, and their line, for each model and number of subscriptions."""
    each = []
    for n, model in enumerate(figures["model"]):
        words, line = figures["words"][n], (figures["intercept"][n], figures["slope"][n])
        curves = [Curve("measured", words, figures["look_ups"][n])]
        curves.append(Curve("line", words, [line[0] + line[1] * count for count in words]))
        each.append(Panel(f"Look-ups a post, {_MODELS[model]}", curves=curves))
    return each


def _save_models(name: S3tmFigure, figures: dict[str, Any], path: Path) -> None:
    models = list(dict.fromkeys(figures["model"]))
    each = [
        _panel(figures, measure, name.value, f"{title}, {_MODELS[model]}", {"model": model}, log=measure == "imbalance")
        for model in models
        for measure, title in ({"relative": "Throughput, that of SALB is 1"} | _MEASURES).items()
    ]
    save(path, name.value, each, log=name != S3tmFigure.weeks)


def _panel(
    figures: dict[str, Any],
    measure: str,
    axis: str,
    title: str,
    only: dict[str, Any],
    *,
    by: str = "partitioner",
    log: bool = False,
) -> Panel:
    rows = [n for n in range(len(figures[by])) if all(figures[name][n] == value for name, value in only.items())]
    curves = []
    for label in dict.fromkeys(figures[by][n] for n in rows):
        own = [n for n in rows if figures[by][n] == label]
        error = [figures[f"{measure}_sd"][n] for n in own] if f"{measure}_sd" in figures else None
        curves.append(Curve(label, [figures[axis][n] for n in own], [figures[measure][n] for n in own], error))
    return Panel(title, curves=curves, log_up=log)
