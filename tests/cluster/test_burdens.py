from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tidings.analysis import ENGLISH
from tidings.cluster import burdens_of, place
from tidings.index import Trie
from tidings.language import parse
from tidings.model import DataError, Subscription
from tidings.partitioning import Mapping
from tidings.placement import LookUps, fitted
from tidings.placement.cost import Nodes, paths_of, texts_of
from tidings.workloads import Posts, tweet_based

POSTS = Posts(seed=5, vocabulary=2200).table(300)


def test_burdens_are_counted_by_matcher() -> None:
    asked = pa.table({"id": ["s", "t", "u"], "query": ["fire", "fire smoke", "rain"]})
    posts = pa.table({"id": ["a", "b", "c"], "text": ["fire smoke", "rain", "fire flood storm"]})
    placement = place(asked, Mapping.hashed(256), routing="words")
    burdens = burdens_of(placement, posts)
    homes = dict(zip(placement.table["id"].to_pylist(), placement.homes.pairs()[1].tolist(), strict=True))
    rows, matchers = placement.router.route(posts).pairs()
    assert burdens.publications.tolist() == np.bincount(matchers, minlength=256).tolist() and rows.tolist() == [
        0,
        0,
        1,
        2,
    ]
    assert burdens.subscriptions[homes["s"]] + burdens.subscriptions[homes["t"]] == (
        2 if homes["s"] != homes["t"] else 4
    )
    assert burdens.subscriptions.sum() == 3 and burdens.words[homes["u"]] == 1
    assert burdens.operations[homes["u"]] == 1  # the only word of the only post that comes there
    total, ratio = burdens.figures()["subscriptions"]
    assert total == 3 and ratio == pytest.approx(burdens.subscriptions.max() / (3 / 256))


def test_look_ups_are_those_of_the_trie() -> None:
    asked = tweet_based(POSTS["text"], 200, 1, ENGLISH)
    trie = Trie()
    trie.add(Subscription(row["id"], parse(row["query"])) for row in asked.to_pylist())
    nodes = Nodes()
    nodes.grow(paths_of(asked["query"], ENGLISH))
    assert sum(map(nodes.look_ups, texts_of(POSTS, ENGLISH))) == trie.match(POSTS).counters.candidates > 1000


def test_a_line_is_fitted_to_the_operations_of_a_trie() -> None:
    asked = tweet_based(POSTS["text"], 200, 1, ENGLISH, words=(1, 3))
    line = fitted(asked, POSTS)
    burdens = burdens_of(place(asked, Mapping.hashed(1)), POSTS)
    operations = burdens.operations[0] / POSTS.num_rows
    assert line.slope > 0
    assert line.intercept >= np.mean([len(text) for text in texts_of(POSTS, ENGLISH)])  # look-ups at the root
    assert line.intercept + line.slope * burdens.words[0] == pytest.approx(operations, rel=0.3)


def test_a_line_can_be_fitted_where_more_subscriptions_bring_no_more_words() -> None:
    found = LookUps([10, 10, 10], [4.0, 5.0, 6.0], root=2.0)
    assert found.line().slope == pytest.approx(0.3) and found.line().intercept == 2.0


def test_a_line_begins_at_the_look_ups_of_the_root() -> None:
    """Posts that are subscribed to are walked to the end, so look-ups rise steeply: fitted freely, from below 0."""
    asked = tweet_based(POSTS["text"], 300, 1, ENGLISH)
    line, words = fitted(asked, POSTS), np.mean([len(text) for text in texts_of(POSTS, ENGLISH)])
    assert line.intercept == words and line.slope > 0
    burdens = burdens_of(place(asked, Mapping.hashed(1)), POSTS)
    operations = burdens.operations[0] / POSTS.num_rows
    assert line.intercept + line.slope * burdens.words[0] == pytest.approx(operations, rel=0.5)


def test_a_fit_to_too_little_is_refused() -> None:
    with pytest.raises(DataError, match="at least 8 subscriptions"):
        fitted(pa.table({"id": ["s"], "query": ["fire"]}), POSTS)
