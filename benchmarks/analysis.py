"""How much faster is the fast analyser than the exact one, and does it give the same words?

Both read the same posts in one run, block after block in turn, so that whatever else the machine does hits both alike.
Every post is compared; a single difference fails the run.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import TypeVar

import pyarrow as pa

from tidings.analysis import Analyser
from tidings.analysis.fast import FastAnalyser
from tidings.model import DataError

BLOCK_ROWS = 10_000
_S = TypeVar("_S")
_T = TypeVar("_T")


def measure(texts: pa.ChunkedArray, advance: Callable[[int], None] = lambda _: None) -> dict[str, float | int]:
    """The figures for a column of texts; ``advance`` is told how many posts each step did.

    The fast analyser is measured on a first pass, in which it meets most words for the first time, and on a second one,
    as a stream that has run for a while.
    """
    if not len(texts):
        raise DataError("there are no posts to analyse")
    exact, fast = Analyser(), FastAnalyser()
    fast.analyse(pa.array(["the"]))  # compiling is not analysing; a stop word leaves no trace
    blocks = [texts.slice(start, BLOCK_ROWS).combine_chunks() for start in range(0, len(texts), BLOCK_ROWS)]
    exact_s, first_s, again_s = [], [], []
    for block in blocks:
        rows = block.to_pylist()
        words, spent = _timed(lambda texts: [exact.words(text or "") for text in texts], rows)
        exact_s.append(spent)
        sets, spent = _timed(fast.analyse, block)
        first_s.append(spent)
        _check_equal(rows, words, [[fast.vocabulary[i] for i in sets.row(r)] for r in range(len(sets))])
        advance(len(block))
    for block in blocks:
        again_s.append(_timed(fast.analyse, block)[1])
    return {
        "posts": len(texts),
        "posts_that_differ": 0,
        "distinct_words": len(fast.vocabulary),
        "exact_posts_per_s": round(len(texts) / sum(exact_s)),
        "fast_first_pass_posts_per_s": round(len(texts) / sum(first_s)),
        "fast_second_pass_posts_per_s": round(len(texts) / sum(again_s)),
        "ratio_first_pass": round(sum(exact_s) / sum(first_s), 1),
        "ratio_second_pass": round(sum(exact_s) / sum(again_s), 1),
        "ratio_median_block": round(statistics.median(e / f for e, f in zip(exact_s, first_s, strict=True)), 1),
    }


def _timed(work: Callable[[_S], _T], given: _S) -> tuple[_T, float]:
    began = time.perf_counter()
    done = work(given)
    return done, time.perf_counter() - began


def _check_equal(texts: list[str], expected: list[list[str]], got: list[list[str]]) -> None:
    for text, ours, theirs in zip(texts, expected, got, strict=True):
        if ours != theirs:
            raise DataError(f"the analysers differ on {text!r}: exact {ours}, fast {theirs}")
