"""Do all stores of the benchmark find the same, and are the figures there?"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.lsm.drawing import draw
from benchmarks.lsm.figures import FIGURES, Plan
from benchmarks.lsm.workload import DEPTH, circles, levels, places
from tidings.terms import cells, labels

PLAN = Plan(places(None, 600, 1) * 0.02, seed=1, rate=50)
"""Few cells, so that something is found."""


def test_two_db_and_dual_db_find_the_same_in_memory_and_on_disk() -> None:
    for name in ("simple", "joins"):
        figures = FIGURES[name](PLAN)
        rows = zip(figures["load"], figures["store"], figures["found_each"], strict=True)
        found = {(load, store): each for load, store, each in rows if "DB" in store}
        for load in ("3:1", "1:3"):
            assert len({each for (own, _), each in found.items() if own == load}) == 1
        assert min(found.values()) > 0


def test_sqlite_finds_the_same() -> None:
    figures = FIGURES["peers"](PLAN)
    for load in ("3:1", "1:3"):
        rows = zip(figures["load"], figures["store"], figures["found_each"], strict=True)
        found = {each for own, store, each in rows if own == load and "puts" not in store}
        assert len(found) == 1 and min(found) > 0


def test_both_granularities_find_the_same_by_levels() -> None:
    figures = FIGURES["levels"](PLAN)
    assert figures["variable_found"] == figures["fixed_found"] > 0
    assert figures["group"][3:] == [f"level {level}" for level in range(DEPTH + 1)]


def test_a_circle_lies_in_its_cell_and_touches_the_leaf_of_its_centre() -> None:
    at = places(None, 200, 1)
    around, own, leaves = circles(at, 1)
    for number, (x, y) in enumerate(at.tolist()):
        wide = labels.from_bytes(around.names[around.label[number]])
        touched = [labels.from_bytes(leaf) for leaf in leaves[own.names[number]]]
        assert all(labels.contains(wide, leaf) for leaf in touched)
        assert cells.cell(360 * x - 180, 180 * y - 90, DEPTH) in touched


def test_a_level_up_is_half_as_likely() -> None:
    counts = np.bincount(levels(places(None, 20_000, 1), 1).group)
    assert all(1.5 < below / above < 2.7 for above, below in pairwise(counts[1:]))


def test_speed_is_told_for_each_part_and_drawn(tmp_path: Path) -> None:
    one_by_one, figures = FIGURES["single"](PLAN), FIGURES["batches"](PLAN)
    assert len(figures["a_second"]) == len(one_by_one["a_second"]) == 2 * 2 * 15
    assert sum(figures["found_each"]) > 0 and max(figures["disk_mb"]) > 0
    draw(figures, tmp_path / "speed.svg")
    assert (tmp_path / "speed.svg").read_text(encoding="utf-8").startswith("<?xml")
