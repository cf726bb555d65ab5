"""What would people subscribe to who follow a theme? A few of the words that posts about it share."""

from __future__ import annotations

import importlib
import warnings
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import pyarrow as pa

from tidings.analysis import Analyser
from tidings.model import DataError
from tidings.workloads.bags import Bags
from tidings.workloads.draws import distinct_draws
from tidings.workloads.subscriptions import check_count, joined, subscription_table

PRIOR = 0.1
"""alpha and beta of [S3TM] 6.1: the same for every topic and every word, and not optimised."""

SKEW = 0.5
"""Of the Zipf distribution of the lengths."""

_ITERATIONS = 100


@dataclass(frozen=True, slots=True)
class Topics:
    """The words of each topic, the most typical first; each is a form that a query can ask for.

    >>> topics = Topics((("fire", "smoke", "wind"), ("goal", "fans")))
    >>> topics.subscriptions(3, seed=1)["query"].to_pylist()
    ['smoke', 'goal fans', 'goal']
    """

    words: tuple[tuple[str, ...], ...]

    def subscriptions(self, count: int, seed: int) -> pa.Table:
        """``count`` subscriptions (id, query, subscriber): a length by Zipf's law, as many words of a random topic."""
        check_count(count)
        sizes = np.array([len(words) for words in self.words], dtype=np.int64)
        if not len(sizes) or not sizes.min():
            raise DataError("there is no topic, or one without words; give more texts or ask for fewer topics")
        rng = np.random.default_rng(seed)
        topic = rng.integers(len(sizes), size=count)
        weights = np.arange(1, sizes.max() + 1) ** -SKEW
        lengths = 1 + rng.choice(len(weights), size=count, p=weights / weights.sum())
        drawn = distinct_draws(sizes[topic], np.minimum(lengths, sizes[topic]), rng)
        starts = np.cumsum(sizes) - sizes
        chosen = np.where(drawn >= 0, starts[topic][:, None] + drawn, -1)
        forms = pa.array([word for words in self.words for word in words], pa.string())
        return subscription_table(joined(forms, chosen), rng)


def extract_topics(
    texts: pa.Array | pa.ChunkedArray, seed: int, analyser: Analyser, topics: int = 100, words_per_topic: int = 5
) -> Topics:
    """The topics of a column of texts by latent Dirichlet allocation (tomotopy), on one core.

    The same for the same seed on the same kind of processor. The cost grows with texts * topics: a sample of
    some 10,000 texts is plenty for 100 topics.

    Implements [S3TM] 6.1: alpha = beta = 0.1. Departs from the paper: tomotopy's collapsed Gibbs sampler instead of
    Mallet's, 100 sweeps.
    """
    if topics < 1 or words_per_topic < 1:
        raise DataError(f"there is at least 1 topic and 1 word each, got {topics} and {words_per_topic}")
    bags = Bags.of(texts, analyser)
    if not len(bags.ids):
        raise DataError("no text has a word to find topics by")
    model = _tomotopy().LDAModel(k=topics, alpha=PRIOR, eta=PRIOR, seed=seed)
    model.optim_interval = 0
    forms = bags.forms.to_pylist()
    for ids in np.split(bags.ids, bags.offsets[1:-1]):
        if len(ids):
            model.add_doc([forms[number] for number in ids.tolist()])
    model.train(_ITERATIONS, workers=1)
    found = (model.get_topic_words(topic, top_n=words_per_topic) for topic in range(topics))
    return Topics(tuple(tuple(word for word, _ in words) for words in found))


def topic_based(
    texts: pa.Array | pa.ChunkedArray,
    count: int,
    seed: int,
    analyser: Analyser,
    topics: int = 100,
    words_per_topic: int = 5,
) -> pa.Table:
    """``count`` subscriptions (id, query, subscriber), each for 1 to 5 words of a topic of these texts.

    Implements [S3TM] 6.1, "topic-based subscriptions". To draw from the same topics again, keep what
    :func:`extract_topics` returns and call its ``subscriptions``.
    """
    return extract_topics(texts, seed, analyser, topics, words_per_topic).subscriptions(count, seed)


def _tomotopy() -> ModuleType:
    with warnings.catch_warnings():
        # It warns of its own types when it is loaded, and where warnings are errors it would fail to load.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            return importlib.import_module("tomotopy")
        except ImportError as error:
            problem = f"topics are found by tomotopy, which cannot be imported ({error})"
            raise DataError(f'{problem}: pip install "tidings[workloads]"') from error
