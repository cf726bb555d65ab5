"""What would people subscribe to who want more of what they have read? The words of a random post."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tidings.analysis import Analyser
from tidings.model import DataError
from tidings.workloads.bags import Bags
from tidings.workloads.draws import IntArray, distinct_draws
from tidings.workloads.subscriptions import check_count, joined, subscription_table

MAX_WORDS = 60
"""A subscription has at most so many words of its post: more might not be a valid query."""


def tweet_based(
    texts: pa.Array | pa.ChunkedArray,
    count: int,
    seed: int,
    analyser: Analyser,
    words: tuple[int, int | None] = (1, None),
) -> pa.Table:
    """``count`` subscriptions (id, query, subscriber), each for all words of one random post.

    ``words`` is (least, most): posts with fewer words are skipped, and with a ``most`` each subscription asks for so
    many random words of its post only, at least ``least``. Stop words are left out, a word is asked for once. No post
    is used twice while there are others. Usually 1.25 ``count`` posts are analysed; the rest takes a few seconds for a
    million.

    Implements [S3TM] 6.1, "tweet-based subscriptions". Departs from the paper: ``words`` is ours, and a post's words
    after the sixtieth are not asked for.

    >>> from tidings.workloads import Posts
    >>> tweet_based(Posts(seed=1).table(99)["text"], 2, seed=5, analyser=Analyser(), words=(2, 3))["query"].to_pylist()
    ['tizibak traffic sovefak', 'fire dovogam fabifak']
    """
    check_count(count)
    least, most = words
    if not 1 <= least <= (MAX_WORDS if most is None else most) <= MAX_WORDS:
        raise DataError(f"words is (least, most) between 1 and {MAX_WORDS}, got {words}")
    rng = np.random.default_rng(seed)
    bags = _shuffled(texts, count, least, analyser, rng)
    posts = _picked(np.flatnonzero(bags.lengths() >= least), count, rng)
    if most is None:
        return subscription_table(_whole_posts(bags, posts), rng)
    sizes = bags.lengths()[posts]
    lengths = np.minimum(rng.integers(least, most + 1, size=count), sizes)
    chosen = bags.at(posts, distinct_draws(sizes, lengths, rng))
    return subscription_table(joined(bags.forms, chosen), rng)


def _shuffled(
    texts: pa.Array | pa.ChunkedArray, count: int, least: int, analyser: Analyser, rng: np.random.Generator
) -> Bags:
    """Texts in random order: so many that ``count`` should be usable, or all of them if that proves too few."""
    order = rng.permutation(len(texts))
    sample = count + count // 4 + 100
    bags = Bags.of(texts.take(pa.array(order[:sample])), analyser).distinct()
    if sample >= len(order) or np.count_nonzero(bags.lengths() >= least) >= count:
        return bags
    return Bags.of(texts.take(pa.array(order)), analyser).distinct()


def _picked(usable: IntArray, count: int, rng: np.random.Generator) -> IntArray:
    """Each usable post once if there are enough, otherwise at random."""
    if count and not len(usable):
        raise DataError("no post has enough words to subscribe to; give other texts or ask for fewer words")
    return usable[:count] if count <= len(usable) else rng.choice(usable, size=count)


def _whole_posts(bags: Bags, posts: IntArray) -> pa.Array:
    """One text for each different post, then as often as it was picked."""
    different, which = np.unique(posts, return_inverse=True)
    return joined(bags.forms, bags.selected(different, MAX_WORDS)).take(pa.array(which))
