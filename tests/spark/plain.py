"""What do posts match, by nothing that the product is made of? For the queries that the Spark tests write.

A query is alternatives between ``OR``, each of them conditions, ``-`` before one denies it: words, phrases, beginnings
of words, equalities, comparisons, ``has:``, topics and boxes. There are no brackets. Of the product only the list of
stop words is used. The log of a registry is read by deltalake and followed change by change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import Stemmer
from deltalake import DeltaTable

from tidings.analysis import stopwords

Condition = Callable[["Post"], bool]

_PART = re.compile(r'-?(?:"[^"]*"|[\w.]+:\[[^\]]*\]|\S+)')
_COMPARED = re.compile(r"(\w+):(>=|>)(\d+)")
_stem = cache(Stemmer.Stemmer("porter").stemWord)


@dataclass(frozen=True, slots=True)
class Post:
    """A row, and its words as they stand, and by their stems; that of a stop word is empty."""

    row: dict[str, Any]
    forms: tuple[str, ...]
    stems: tuple[str, ...]

    @classmethod
    def of(cls, row: dict[str, Any]) -> Post:
        forms = tuple(re.findall(r"[a-z0-9]+", row["text"].lower()))
        return cls(row, forms, tuple("" if form in stopwords.ENGLISH else _stem(form) for form in forms))

    @property
    def is_bad(self) -> bool:
        return self.row["lat"] is not None and not -90 <= self.row["lat"] <= 90


def live(registry: Path, version: int) -> dict[str, dict[str, Any]]:
    """The subscriptions that live at a version, by id, each with the version that brought it."""
    rows = DeltaTable(registry / "log").to_pyarrow_table().to_pylist()
    found: dict[str, dict[str, Any]] = {}
    for row in sorted(rows, key=lambda row: (row["version"], row["position"])):
        if row["version"] <= version:
            found.pop(row["id"], None)
            if row["op"] == "add":
                found[row["id"]] = row | {"query_version": row["version"]}
    return found


def pairs(posts: pa.Table, asked: dict[str, dict[str, Any]]) -> Iterator[tuple[int, str]]:
    """(row, id of a subscription) of each match."""
    read = {name: (row, _read(row["query"])) for name, row in asked.items()}
    for at, row in enumerate(posts.to_pylist()):
        post = Post.of(row)
        if post.is_bad:
            continue
        for name, (subscription, alternatives) in read.items():
            since, until = subscription["since"], subscription["until"]
            is_valid = (since is None or since <= row["ts"]) and (until is None or row["ts"] < until)
            if is_valid and any(all(holds(post) for holds in conditions) for conditions in alternatives):
                yield at, name


def _read(query: str) -> list[list[Condition]]:
    alternatives: list[list[Condition]] = [[]]
    for part in _PART.findall(query):
        if part == "OR":
            alternatives.append([])
        elif part.startswith("-"):
            alternatives[-1].append(_denied(_condition(part[1:])))
        else:
            alternatives[-1].append(_condition(part))
    assert all(alternatives), query
    return alternatives


def _denied(holds: Condition) -> Condition:
    return lambda post: not holds(post)


def _condition(part: str) -> Condition:
    assert not re.search(r"[(){}~]", part), f"{part!r} is more than this can read"
    if part.startswith('"'):
        return _phrase(part.strip('"'))
    if compared := _COMPARED.fullmatch(part):
        return _compared(*compared.groups())
    name, colon, value = part.partition(":")
    if colon and name == "topic":
        return lambda post: f"{post.row['topic'] or ''}/".startswith(f"{value}/")
    if colon and name == "has":
        return lambda post: post.row[value] is not None
    if colon and name == "bounding_box":
        return _box(*(float(side) for side in value.strip("[]").split()))
    if colon:
        return lambda post: post.row[name] is not None and str(post.row[name]) == value
    if part.endswith("*"):
        beginning = part[:-1].lower()
        return lambda post: any(w.startswith(beginning) for w in post.forms if w not in stopwords.ENGLISH)
    return _phrase(part)


def _phrase(text: str) -> Condition:
    wanted = Post.of({"text": text, "lat": None}).stems
    assert wanted and all(wanted), f"{text!r} is more than this can read"

    def holds(post: Post) -> bool:
        return any(post.stems[at : at + len(wanted)] == wanted for at in range(len(post.stems)))

    return holds


def _compared(name: str, sign: str, number: str) -> Condition:
    least = int(number) + (sign == ">")  # of whole numbers
    return lambda post: post.row[name] is not None and post.row[name] >= least


def _box(west: float, south: float, east: float, north: float) -> Condition:
    def holds(post: Post) -> bool:
        lon, lat = post.row["lon"], post.row["lat"]
        return lon is not None and lat is not None and west <= lon <= east and south <= lat <= north

    return holds
