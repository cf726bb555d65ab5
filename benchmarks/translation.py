"""How would somebody who uses Lucene ask the same, and what would the same posts be there?

Lucene gets analysed words, boxes and equalities as terms, in the order of the tables. Its places lie on a grid: where a
workload has places, :func:`on_lucenes_grid` moves those of both sides there first, by 1e-7 degrees at most.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from benchmarks.lucene import Box, Comparison, PlacedPost, Quote, StockQuery, on_grid
from benchmarks.matching import Workload
from tidings.analysis import ENGLISH
from tidings.analysis.fast import FastAnalyser
from tidings.language import Conjunction, Sequence, parse_normal
from tidings.language.plain import plain_queries
from tidings.model import DataError
from tidings.model.query import Equals, Range, Within
from tidings.model.region import Rectangle
from tidings.tables.columns import place_columns

_BOX = re.compile(r"bounding_box:\[([^\]]*)\]")
_LIMITS = (180, 90, 180, 90)
_NUMBERS = ("high", "low", "volume")


def on_lucenes_grid(workload: Workload) -> Workload:
    """The same workload with all places where Lucene can keep them."""
    asked = workload.subscriptions
    queries = [_BOX.sub(_moved_box, query) for query in asked["query"].to_pylist()]
    return replace(
        workload,
        subscriptions=asked.set_column(asked.column_names.index("query"), "query", pa.array(queries)),
        posts=_moved(workload.posts),
        others=_moved(workload.others),
    )


def word_queries(queries: pa.ChunkedArray) -> Iterator[list[str]]:
    """Queries for nothing but words, as sets of words."""
    fast = FastAnalyser()
    read = plain_queries(queries, fast)
    for row, (query, plain) in enumerate(zip(queries.to_pylist(), read.is_plain.tolist(), strict=True)):
        yield [fast.vocabulary[i] for i in read.words.row(row)] if plain else _words(query, _conjunction(query))


def word_posts(posts: pa.Table) -> Iterator[list[str]]:
    fast = FastAnalyser()
    sets = fast.analyse(posts["text"])
    return ([fast.vocabulary[i] for i in sets.row(row)] for row in range(len(sets)))


def box_queries(queries: pa.ChunkedArray) -> Iterator[Box]:
    """Queries for one box, with all or any of some words or without words."""
    for query in queries.to_pylist():
        form = parse_normal(query, analyser=ENGLISH)[1]
        regions = {atom.region for part in form for atom in part.required if isinstance(atom, Within)}
        words = [_words(query, part, Within) for part in form]
        region = regions.pop() if len(regions) == 1 else None
        if not isinstance(region, Rectangle) or (len(form) > 1 and any(len(own) != 1 for own in words)):
            raise _untranslated(query)
        flat = [word for own in words for word in own]
        yield Box(region.west, region.south, region.east, region.north, flat, any_of=len(form) > 1)


def placed_posts(posts: pa.Table) -> Iterator[PlacedPost]:
    lon, lat = place_columns(posts)
    if np.isnan(lon).any():
        raise DataError("Lucene is given posts with a place, and some have none")
    for words, x, y in zip(word_posts(posts), lon.tolist(), lat.tolist(), strict=True):
        yield PlacedPost(x, y, words)


def stock_queries(queries: pa.ChunkedArray) -> Iterator[StockQuery]:
    """Queries for equalities and at most one comparison with a number."""
    for query in queries.to_pylist():
        required = _conjunction(query).required
        terms = [f"{atom.name}={atom.value}" for atom in required if isinstance(atom, Equals)]
        ranges = [atom for atom in required if isinstance(atom, Range)]
        if len(ranges) > 1 or len(terms) + len(ranges) < len(required):
            raise _untranslated(query)
        yield StockQuery(terms, _comparison(query, ranges[0]) if ranges else None)


def quotes(posts: pa.Table) -> Iterator[Quote]:
    """With the numbers that are asked for alone: each field more would cost Lucene time."""
    for row in posts.select(["class", "symbol", *_NUMBERS]).to_pylist():
        numbers = {name: float(row[name]) for name in _NUMBERS if row[name] is not None}
        yield Quote([f"class={row['class']}", f"symbol={row['symbol']}"], numbers)


def _conjunction(query: str) -> Conjunction:
    form = parse_normal(query, analyser=ENGLISH)[1]
    if len(form) != 1 or form[0].forbidden:
        raise _untranslated(query)
    return form[0]


def _words(query: str, conjunction: Conjunction, *left_out: type) -> list[str]:
    """What is asked for, each a single word; atoms of the kinds ``left_out`` are told otherwise."""
    words = []
    for atom in conjunction.required:
        if isinstance(atom, Sequence) and len(atom.words) == 1:
            words.append(atom.words[0])
        elif not isinstance(atom, left_out):
            raise _untranslated(query)
    return words


def _comparison(query: str, asked: Range) -> Comparison:
    if asked.high is None and isinstance(asked.low, int | float):
        return Comparison(asked.name, ">=" if asked.low_included else ">", asked.low)
    if asked.low is None and isinstance(asked.high, int | float):
        return Comparison(asked.name, "<=" if asked.high_included else "<", asked.high)
    raise _untranslated(query)


def _untranslated(query: str) -> DataError:
    return DataError(f"the peer benchmark has no translation of {query!r} for Lucene; choose another workload")


def _moved_box(found: re.Match[str]) -> str:
    bounds = [on_grid(float(bound), limit) for bound, limit in zip(found[1].split(), _LIMITS, strict=True)]  # type: ignore[arg-type]
    return f"bounding_box:[{' '.join(np.format_float_positional(float(bound)) for bound in bounds)}]"


def _moved(posts: pa.Table) -> pa.Table:
    """Posts without a place are left out."""
    lon, lat = place_columns(posts)
    placed = pa.array(~np.isnan(lon))
    lon, lat = on_grid(lon, 180), on_grid(lat, 90)
    for name, degrees in (("lon", lon), ("lat", lat)):
        posts = posts.set_column(posts.column_names.index(name), name, pa.array(degrees))
    return posts.filter(placed)
