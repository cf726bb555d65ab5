"""How do the tables of a page get their numbers? From result files, as a comment before each table says.

``<!-- FILE: ROWS by COLUMNS, VALUE where NAME=VALUE … -->`` or, for several values side by side,
``<!-- FILE: ROWS with VALUE VALUE … where NAME=VALUE … -->``. A number keeps as many digits as it had. The table after
``<!-- figure by figure -->`` puts the numbers that [PS2] tells beside ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

Row = dict[str, Any]

_TABLE = re.compile(r"(<!-- ([\w-]+): (\w+) by (\w+), (\w+)(?: where ([^>]*?))? -->\n+)((?:\|.*\n)+)")
_BESIDE = re.compile(r"(<!-- ([\w-]+): (\w+) with ([\w ]+?)(?: where ([^>]*?))? -->\n+)((?:\|.*\n)+)")
_FIGURES = re.compile(r"(<!-- figure by figure -->\n+)((?:\|.*\n)+)")
_HERE = {"map": "country", "length": "own"}


def filled(page: str, results: Path) -> str:
    """The page with the numbers that the result files have."""
    page = _TABLE.sub(lambda found: _crossed(*found.groups(), results=results), page)
    page = _BESIDE.sub(lambda found: _beside(*found.groups(), results=results), page)
    return _FIGURES.sub(lambda found: found[1] + figure_by_figure(results), page)


def rows_of(results: Path, name: str) -> list[Row]:
    """The rows of the columns of a result file."""
    columns = {key: value for key, value in figures_of(results, name).items() if isinstance(value, list)}
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def figures_of(results: Path, name: str) -> dict[str, Any]:
    """The figures of a result file; none if there is no such file."""
    path = results / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["figures"] if path.exists() else {}
    return found


def one(rows: list[Row], **labels: object) -> Row:
    """The only row with these values."""
    (row,) = (row for row in rows if all(str(row[name]) == str(value) for name, value in labels.items()))
    return row


def _crossed(  # noqa: PLR0913  (the groups of the pattern)
    head: str, name: str, down: str, across: str, value: str, where: str | None, table: str, *, results: Path
) -> str:
    columns = _cells(table.splitlines()[0])[1:]

    def numbers(first: str, old: list[str]) -> list[str]:
        found = [one(rows_of(results, name), **_labels(where), **{down: first, across: own}) for own in columns]
        return [_like(row[value], number) for row, number in zip(found, old, strict=True)]

    return head + _refilled(table, numbers)


def _beside(head: str, name: str, down: str, values: str, where: str | None, table: str, *, results: Path) -> str:
    def numbers(first: str, old: list[str]) -> list[str]:
        row = one(rows_of(results, name), **_labels(where), **{down: first})
        return [_like(row[value], number) for value, number in zip(values.split(), old, strict=True)]

    return head + _refilled(table, numbers)


def _refilled(table: str, numbers: Callable[[str, list[str]], list[str]]) -> str:
    title, line, *rows = table.splitlines()
    cells = [_cells(row) for row in rows]
    return "\n".join([title, line, *(_line(first, *numbers(first, old)) for first, *old in cells)]) + "\n"


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _labels(where: str | None) -> dict[str, str]:
    return dict(pair.split("=") for pair in (where or "").split())


def _like(value: float, number: str) -> str:
    return f"{value:,.{len(number.partition('.')[2])}f}"


def figure_by_figure(results: Path) -> str:
    """The table of the paper's figures: what it tells, and what comes out here; on the map of a country where maps
    differ, by the largest load on posts held out."""
    head = [("figure", "what", "in the paper", "here"), ("---",) * 4]
    table = [*head, *_throughput(results), *_clusters(results), *_moving(results)]
    return "\n".join(_line(*row) for row in table) + "\n"


_Lines = list[tuple[str, str, str, str]]


def _throughput(results: Path) -> _Lines:
    """Fig. 6 and 7."""
    loads = rows_of(results, "ps2-hybrid-own")

    def of(partitioner: str, kind: str) -> Row:
        return one(loads, **_HERE, partitioner=partitioner, queries=kind)

    def ratio(one: str, other: str, kind: str) -> str:
        return f"{of(one, kind)['largest_load'] / of(other, kind)['largest_load']:.2f}"

    ahead = {kind: f"{of('hybrid', kind)['by_best_plain_base']:.2f}" for kind in ("q1", "q2", "q3")}
    return [
        ("6a, 6c", "Q1: grid by frequency", "2.09", ratio("frequency", "grid", "q1")),
        ("6b, 6d", "Q2: metric by R-tree", "1.47", ratio("r-tree", "metric", "q2")),
        ("7a", "Q1: hybrid by the best base", "slightly above 1", ahead["q1"]),
        ("7b", "Q2: hybrid by the best base", "about 1", ahead["q2"]),
        ("7c", "Q3: hybrid by the best base", "1.30", ahead["q3"]),
    ]


def _clusters(results: Path) -> _Lines:
    """Fig. 8 to 10, of the hybrid, the metric and the kd-tree."""
    rows, told = rows_of(results, "ps2-cluster"), "hybrid / metric / kd-tree"

    def beside(kind: str, value: str) -> str:
        names = told.split(" / ")
        return " / ".join(f"{one(rows, queries=kind, partitioner=name)[value]:.1f}" for name in names)

    return [
        ("8", f"Q2: ms for 1,000 posts, {told}", "about 15 / 15 / 25 a tuple", beside("q2", "batch_ms")),
        ("9", f"Q2: MB of the router, {told}", "the kd-tree has the least", beside("q2", "router_mb")),
        ("10", f"Q3: MB of a matcher, {told}", "hybrid has the least", beside("q3", "matcher_mb")),
    ]


def _moving(results: Path) -> _Lines:
    """Fig. 12 to 16."""
    carried = {row["algorithm"]: row for row in rows_of(results, "migration") if row["formula"] == "counted"}
    less = " / ".join(
        f"{1 - carried['GR']['carried_by_dp'] / carried[name]['carried_by_dp']:.0%}" for name in ("SI", "RA")
    )
    ms = " / ".join(f"{carried[name]['ms']:.2f}" for name in ("DP", "GR", "SI", "RA"))
    live, drift = figures_of(results, "moves-live"), figures_of(results, "drift")
    return [
        ("12a, 13", "ms to select, DP / GR / SI / RA", "DP takes far longer", ms),
        ("12b, 14", "GR carries less than SI / RA", "30 to 40 %", less),
        (
            "12c, 15",
            "the longest batch while parcels move, by the usual one",
            "80 % of tuples within 100 ms",
            f"{live['longest_by_usual']:.2f}",
        ),
        (
            "16",
            "drift: posts with adjustment by those without",
            "1.26",
            f"{drift['by_load']:.2f} by counters, {drift['times_as_many_moved_beside']:.2f} by the clock, moved beside",
        ),
    ]
