"""How does the work divide among 2 to 64 matchers? Throughput by loads on what was held out: [PS2] Fig. 11.

``times_one``: the load of one matcher that has and gets everything, by the largest load. It may be above the number of
matchers: half of the posts and half of the queries are a quarter of the pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.ps2.division import COMPARED, POSTS_PER_CHANGE, Plan, Samples, Setting

COUNTS = (2, 4, 8, 16, 32, 64)
"""Of matchers."""


def figures(data: Path, plan: Plan, settings: list[Setting], counts: list[int]) -> Iterator[dict[str, Any]]:
    """A row for each setting, number of matchers, and partitioner."""
    for setting in settings:
        samples = Samples.of(data, plan, setting)
        posts = len(samples.held_out.posts)
        changes = posts / POSTS_PER_CHANGE
        alone = float(plan.costs.of(1.0 * posts * plan.standing, posts, changes, changes))
        for matchers in counts:
            partitioners = replace(plan, matchers=matchers).partitioners()
            for name in COMPARED:
                largest = samples.counted(partitioners[name](samples.learn, matchers), plan.costs).largest
                yield {
                    "map": setting.map_name,
                    "length": setting.length,
                    "queries": setting.kind,
                    "matchers": matchers,
                    "partitioner": name,
                    "largest_load": round(largest),
                    "times_one": round(alone / largest, 2),
                }
