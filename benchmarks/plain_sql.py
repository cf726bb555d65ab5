"""How would one match in plain Spark SQL? Words of posts exploded, joined with guards, the rest verified by arrays.

It gets what it cannot do by itself for nothing: words that are analysed, and of each query the rarest word by the very
posts to come. Which way of asking is the fastest depends on the subscriptions, so there are several.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tidings.analysis import ENGLISH
from tidings.analysis.fast import FastAnalyser
from tidings.analysis.vocabulary import TermSets, Vocabulary
from tidings.arrays import IntArray
from tidings.index.subscribers import with_all_columns

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SETTINGS = {
    "spark.sql.constraintPropagation.enabled": "false",  # or Spark 4.3 fails on forall over both sides of a join
    "spark.sql.autoBroadcastJoinThreshold": "-1",  # each way says itself what is broadcast
}
PAIRS = "pairs"
WAYS = ("forall", "next_word", "array_except", "aggregate", "sort_merge", PAIRS)
"""All but PAIRS join on the rarest word; that one joins on the two rarest, with all pairs of words of a post."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """``posts``: publication_id, words. ``subscriptions``: the columns of a match, and the words of the query.

    Those are ``guard``, ``next`` (the two rarest; the only one twice), and ``rest``, all but the guard, rarest first.
    """

    posts: pa.Table
    subscriptions: pa.Table


def prepared(posts: pa.Table, asked: pa.Table) -> Prepared:
    """Posts (id, text) and subscriptions of plain words as SQL takes them.

    >>> found = prepared(
    ...     pa.table({"id": ["p", "q"], "text": ["white houses", "the House"]}),
    ...     pa.table({"id": ["s"], "query": ["house white"]}),
    ... )
    >>> found.posts["words"].to_pylist()
    [['white', 'hous'], ['hous']]
    >>> found.subscriptions.select(["guard", "next", "rest"]).to_pylist()
    [{'guard': 'white', 'next': 'hous', 'rest': ['hous']}]
    """
    analyser = FastAnalyser(ENGLISH)
    told, wanted = analyser.analyse(posts["text"]), analyser.analyse(asked["query"])
    lengths = np.diff(wanted.offsets)
    counts = np.bincount(told.ids, minlength=len(analyser.vocabulary))
    order = np.lexsort((counts[wanted.ids], np.repeat(np.arange(len(wanted)), lengths)))
    rarest_first = wanted.ids[order]
    guards = rarest_first[wanted.offsets[:-1]]
    following = rarest_first[wanted.offsets[:-1] + np.minimum(lengths - 1, 1)]
    others = np.delete(rarest_first, wanted.offsets[:-1])
    rest = TermSets(wanted.offsets - np.arange(len(wanted) + 1), others)
    table = with_all_columns(asked).select(["id", "subscriber", "tag", "query_version"])
    return Prepared(
        pa.table({"publication_id": posts["id"], "words": _lists(told, analyser.vocabulary)}),
        table.rename_columns(["subscription_id", "subscriber", "tag", "query_version"])
        .append_column("guard", _texts(guards, analyser.vocabulary))
        .append_column("next", _texts(following, analyser.vocabulary))
        .append_column("rest", _lists(rest, analyser.vocabulary)),
    )


def asked_by(way: str, posts: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """The matches, with the columns that :func:`tidings.spark.match` gives, by one of the WAYS."""
    from pyspark.sql import functions as F  # noqa: N812

    words = posts.withColumn("word", F.explode("words"))
    small = subscriptions.hint("merge") if way == "sort_merge" else F.broadcast(subscriptions)
    if way == PAIRS:
        words = words.withColumn("other", F.explode("words")).where("word <= other")
        both = [words.word == F.least("guard", "next"), words.other == F.greatest("guard", "next")]
        joined = words.join(small, both)
    else:
        joined = words.join(small, words.word == small.guard)
    return joined.where(_verified(way)).select(
        "publication_id",
        "subscription_id",
        "subscriber",
        "tag",
        "query_version",
        F.lit(None).cast("timestamp").alias("ts"),
    )


def _verified(way: str) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    has_all = F.expr("forall(rest, word -> array_contains(words, word))")
    match way:
        case "array_except":
            return F.size(F.array_except("rest", "words")) == 0
        case "aggregate":
            return F.expr("aggregate(rest, true, (so_far, word) -> so_far AND array_contains(words, word))")
        case "next_word":
            return F.expr("array_contains(words, next)") & has_all
        case _:
            return has_all


def _texts(ids: IntArray | Any, vocabulary: Vocabulary) -> pa.Array:
    return pa.array(list(vocabulary), pa.string()).take(pa.array(ids))


def _lists(sets: TermSets, vocabulary: Vocabulary) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(sets.offsets.astype(np.int32)), _texts(sets.ids, vocabulary))
