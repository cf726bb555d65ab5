"""How do speed, memory and registration change from a thousand subscriptions to millions?

Each size is a workload of words of its own, measured as :mod:`benchmarks.matching` does.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.matching import Advance, Workload, measure, silent
from tidings.model import DataError

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000)
_COLUMNS = (
    "subscriptions",
    "posts_per_s",
    "posts_per_s_median",
    "with_fan_out_posts_per_s",
    "candidates_per_post",
    "matches_per_post",
    "bytes_per_subscription",
    "registered_s",
)


def sizes(most: int) -> list[int]:
    """Those up to ``most``."""
    found = [size for size in SIZES if size <= most]
    if not found:
        raise DataError(f"growth begins with {SIZES[0]:,} subscriptions, got {most:,} as the most")
    return found


def grown(
    made: Callable[[int], Workload], counts: list[int], rounds: int = 5, advance: Advance = silent
) -> dict[str, Any]:
    """The figures of the workloads that ``made`` gives for each count, as columns; ``advance`` is told of posts."""
    found = [measure(made(count), rounds, advance) for count in counts]
    columns = {name: [figures[name] for figures in found] for name in _COLUMNS}
    return {"workload": "words", "posts": found[0]["posts"], "rounds": rounds, **columns}


def draw(figures: dict[str, Any], path: Path) -> None:
    """Posts a second and bytes a subscription against the number of subscriptions, as the picture ``path``."""
    from tidings.cli.plot import Panel, save  # matplotlib loads only where something is drawn

    across = figures["subscriptions"]
    save(
        path,
        "subscriptions",
        [
            Panel("Posts matched per second, one core", across, figures["posts_per_s"]),
            Panel("Bytes of index per subscription", across, figures["bytes_per_subscription"]),
        ],
    )
