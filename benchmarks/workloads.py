"""Which subscriptions and posts is the index measured on? Those of the papers, on real files or on generated posts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.matching import Workload
from benchmarks.names import Name, Placed
from tidings.analysis import ENGLISH, Analyser
from tidings.analysis.fast import FastAnalyser
from tidings.model import DataError
from tidings.workloads import (
    Posts,
    Stocks,
    q1,
    q2,
    q3,
    read_notes,
    read_stocks,
    read_traffic,
    read_tweets,
    stock_subscriptions,
    topic_based,
    tweet_based,
)

SOURCE_ROWS = 100_000
"""Subscriptions come from so many rows at most, guards are chosen by a fifth of that; then comes what is matched, and
after it as many rows, or what is left, to warm up with."""

TOPIC_ROWS = 10_000
"""Topics are found in so many of those rows."""

FREQUENT = 100
"""So many words are the most frequent: two to four of them give some 200 matches a post with 100,000 subscriptions."""

IN_WORDS = (Name.words, Name.frequent, Name.posts, Name.topics)
IN_QUOTES = (Name.stock, Name.volume)


def workload(
    name: Name,
    data: Path | None,
    subscriptions: int,
    posts: int,
    seed: int,
    made_up_rows: int = 300_000,
    placed: Placed = Placed.traffic,
) -> Workload:
    """The workload of that name: ``data`` is a folder with tweets, traffic, notes and stocks .parquet.

    Without it all comes from ``made_up_rows``.
    """
    table = _publications(name, data, seed, made_up_rows, placed)
    source_rows = min(SOURCE_ROWS, table.num_rows // 2)
    sample_rows = source_rows // 5
    if table.num_rows <= source_rows + sample_rows + posts:
        raise DataError(f"{name}: {table.num_rows:,} rows are too few to match {posts:,}; ask for fewer posts")
    asked = _asked(name, table.slice(0, source_rows), subscriptions, seed)
    rest = _matched_columns(name, table.slice(source_rows))
    sample, to_match, others = (
        rest.slice(0, sample_rows),
        rest.slice(sample_rows, posts),
        rest.slice(sample_rows + posts),
    )
    return Workload(f"{name} {subscriptions:,}", asked, sample, to_match, others.slice(0, posts))


def independent_notes(data: Path) -> pa.Table:
    """Notes that people wrote by themselves: not by an app, and not to answer another one."""
    table = read_notes(data / "notes.parquet")
    return table.filter(pc.and_(pc.equal(table["kind"], "opened"), pc.equal(table["app"], "none")))


def _publications(name: Name, data: Path | None, seed: int, made_up_rows: int, placed: Placed) -> pa.Table:
    """All rows, in random order: neighbours in time resemble each other."""
    if name in IN_QUOTES:
        table = Stocks(seed=seed).table(made_up_rows) if data is None else read_stocks(data / "stocks.parquet")
    elif data is None:
        table = Posts(seed=seed).table(made_up_rows)
    elif name in IN_WORDS:
        table = read_tweets(data / "tweets.parquet")
    else:
        table = read_traffic(data / "traffic.parquet") if placed == Placed.traffic else independent_notes(data)
    table = table.take(pa.array(np.random.default_rng(seed).permutation(table.num_rows)))
    if "id" in table.column_names:
        return table
    return table.append_column("id", pa.array(np.arange(table.num_rows)).cast(pa.string()))


def _matched_columns(name: Name, table: pa.Table) -> pa.Table:
    if name in IN_QUOTES:
        return table
    return table.select(["id", "text"] if name in IN_WORDS else ["id", "text", "lat", "lon"])


def _asked(name: Name, source: pa.Table, count: int, seed: int) -> pa.Table:
    match name:
        case Name.words:
            return tweet_based(source["text"], count, seed, ENGLISH, words=(2, 4))
        case Name.frequent:
            return tweet_based(_of_frequent_words(source["text"]), count, seed, ENGLISH, words=(2, 4))
        case Name.posts:
            return tweet_based(source["text"], count, seed, ENGLISH, words=(2, None))  # one word is no post: "lol"
        case Name.topics:
            return topic_based(source["text"].slice(0, TOPIC_ROWS), count, seed, ENGLISH)
        case Name.squares:
            asked = q1(source, count, seed, ENGLISH)
            squares = pc.struct_field(pc.extract_regex(asked["query"], r"(?P<box>bounding_box:\[[^\]]*\])"), "box")
            return asked.set_column(asked.column_names.index("query"), "query", squares)
        case Name.q1:
            return q1(source, count, seed, ENGLISH)
        case Name.q2:
            return q2(source, count, seed, ENGLISH)
        case Name.q3:
            return q3(source, count, seed, ENGLISH)
        case Name.stock:
            return stock_subscriptions(source, count, seed)
        case Name.volume:
            asked = stock_subscriptions(source, 6 * count, seed)  # a fifth of them ask for a symbol and a volume
            return asked.filter(pc.match_substring_regex(asked["query"], r"symbol:.* volume:")).slice(0, count)


def _of_frequent_words(texts: pa.ChunkedArray) -> pa.Array:
    """What is left of texts without their rarer words."""
    forms = FastAnalyser(Analyser(stemming=False))
    found = forms.analyse(texts)
    most = set(np.argsort(-np.bincount(found.ids))[:FREQUENT].tolist())
    rows = (found.row(row).tolist() for row in range(len(found)))
    return pa.array([" ".join(forms.vocabulary.some([form for form in row if form in most])) for row in rows])
