"""What does [LSM] tell, and what comes out here? The tables of the page, from result files.

The one after ``<!-- beside the paper -->`` puts what [LSM] tells beside ours. What was not measured yet stays as it is.
"""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.ps2.page import Row, one, rows_of
from benchmarks.ps2.page import filled as with_tables

_TABLE = re.compile(r"<!-- (lsm-[\w-]+): [^>]*-->\n+(?:\|.*\n)+")
_MARKED = re.compile(r"(<!-- beside the paper -->\n+)((?:\|.*\n)+)")
_HEAD = ("figure", "how many times as fast", "in the paper", "here")

Line = tuple[str, str, str, str]


def filled(page: str, results: Path) -> str:
    """The page with the numbers that the result files have."""

    def table(found: re.Match[str]) -> str:
        return with_tables(found[0], results) if (results / f"{found[1]}.json").exists() else found[0]

    return _MARKED.sub(lambda found: found[1] + beside_the_paper(results), _TABLE.sub(table, page))


def beside_the_paper(results: Path) -> str:
    lines = [
        _HEAD,
        ("---", "---", "---", "---"),
        *_polls(rows_of(results, "lsm-simple"), "10", "3:1", ("10", "1.05")),
        *_polls(rows_of(results, "lsm-simple"), "11", "1:3", ("3", "1")),
        *_peers(rows_of(results, "lsm-peers")),
        *_joins(rows_of(results, "lsm-joins"), "12", "3:1", "1.20"),
        *_joins(rows_of(results, "lsm-joins"), "13", "1:3", "1.12"),
        *_granular(rows_of(results, "lsm-levels"), "14, 16", "cells", "3, more for upper levels"),
        *_granular(rows_of(results, "lsm-circles"), "15, 17", "circles", "2, more for larger ones"),
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _polls(rows: list[Row], figure: str, load: str, paper: tuple[str, str]) -> list[Line]:
    by_polls, by_two = paper
    pairs = (
        ("DualDB by RepQueries, both on disk", by_polls, "RepQueries, disk", "DualDB, disk"),
        ("TwoDB by RepQueries, both on disk", by_polls, "RepQueries, disk", "TwoDB, disk"),
        ("DualDB by RepQueries, both in memory", "", "RepQueries", "DualDB"),
        ("DualDB in memory by RepQueries on disk", "", "RepQueries, disk", "DualDB"),
        ("TwoDB in memory by RepQueries on disk", "", "RepQueries, disk", "TwoDB"),
        ("DualDB by TwoDB, both on disk", by_two, "TwoDB, disk", "DualDB, disk"),
    )
    return [(figure, f"{load}: {what}", told, _ratio(rows, load, base, own)) for what, told, base, own in pairs]


def _peers(rows: list[Row]) -> list[Line]:
    told = "up to 30, by PADRES on PostgreSQL"
    return [
        (
            "10, 11",
            f"3:1 / 1:3: DualDB by {peer}",
            told if peer == "PostgreSQL" else "",
            " / ".join(_ratio(rows, load, peer, "DualDB") for load in ("3:1", "1:3")),
        )
        for peer in ("PostgreSQL", "SQLite")
    ]


def _joins(rows: list[Row], figure: str, load: str, told: str) -> list[Line]:
    disk, memory = (_ratio(rows, load, f"TwoDB{suffix}", f"DualDB{suffix}") for suffix in (", disk", ""))
    return [
        (figure, f"{load}, self-joins: DualDB by TwoDB, both on disk", told, disk),
        (figure, f"{load}, self-joins: DualDB by TwoDB, both in memory", "", memory),
    ]


def _granular(rows: list[Row], figure: str, what: str, told: str) -> list[Line]:
    overall = f"{one(rows, group='all')['times']:.1f}" if rows else "not yet"
    return [(figure, f"{what}: variable by fixed granularity", told, overall)]


def _ratio(rows: list[Row], load: str, base: str, own: str) -> str:
    if not any(row["load"] == load for row in rows):
        return "not yet"
    return f"{one(rows, load=load, store=base)['us'] / one(rows, load=load, store=own)['us']:.2f}"
