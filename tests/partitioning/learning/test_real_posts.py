from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from tidings.analysis import ENGLISH
from tidings.analysis.fast import FastAnalyser
from tidings.partitioning.learning import Incidence, Refined, Salb, measure
from tidings.terms.dictionary import Dictionary
from tidings.workloads import tweet_based


@pytest.fixture(scope="module")
def folds(data: Path) -> tuple[Incidence, Incidence]:
    """Posts to learn from and others, as sets of the words of 20,000 tweet-based subscriptions.

    All posts: with a tenth of 200,000, chance alone makes the largest of 256 loads some 9 % larger than the mean.
    """
    posts = pq.read_table(data / "tweets.parquet", columns=["id", "text"])
    fast, terms = FastAnalyser(ENGLISH), Dictionary()
    fast.analyse(tweet_based(posts["text"], 20_000, 1, ENGLISH)["query"])
    for word in fast.vocabulary:
        terms.word(word)
    incidence = Incidence.of(posts, terms)
    seen = np.random.default_rng(1).random(len(incidence.sets)) < 0.9
    return incidence.taken(np.flatnonzero(seen)), incidence.taken(np.flatnonzero(~seen))


@pytest.mark.slow
@pytest.mark.parametrize("matchers", [16, 64])
def test_refined_beats_salb_by_a_tenth_on_real_posts(folds: tuple[Incidence, Incidence], matchers: int) -> None:
    seen, unseen = folds
    ours, theirs = (measure(kind().partition(seen, matchers), unseen) for kind in (Refined, Salb))
    assert ours.throughput > 1.1 * theirs.throughput and ours.imbalance < 1.05


@pytest.mark.slow
def test_with_splitting_256_matchers_are_even_on_real_posts(folds: tuple[Incidence, Incidence]) -> None:
    seen, unseen = folds
    whole, split_up = (measure(Salb(share=share).partition(seen, 256), unseen) for share in (np.inf, 0.5))
    assert split_up.imbalance < 1.1 < whole.imbalance and split_up.throughput > 1.5 * whole.throughput
