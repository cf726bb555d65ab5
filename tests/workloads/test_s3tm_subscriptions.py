"""Are tweet-based and topic-based subscriptions those of [S3TM] 6.1?"""

from __future__ import annotations

import importlib
from types import ModuleType

import numpy as np
import pyarrow as pa
import pytest

from tidings.analysis import Analyser
from tidings.language import evaluate, parse
from tidings.model import And, DataError, Publication, Query, Word
from tidings.workloads import Posts, Topics, extract_topics, topic_based, tweet_based
from tidings.workloads.bags import Bags

ANALYSER = Analyser()
TEXTS = Posts(seed=5).table(2000)["text"]

AWKWARD = pa.array(
    [
        "It's not an OR, nor AND or NOT: 50% off @bob's https://t.co/x #Sale2day!!",
        "O'Neill's café — naïve co-operation, e.g. U.S.A. 10:30 3.5% 白宫 Ⅻ",
        "the and of",
        None,
        "“Fires” don’t fire; fired firing \x00 a*b [c] {d} ~e ^f g|h <i> =j",
    ]
)


def _words(query: str) -> list[str]:
    """The words of a query of nothing but words, through the parser."""
    parsed: Query = parse(query)
    children = parsed.children if isinstance(parsed, And) else (parsed,)
    assert all(isinstance(child, Word) for child in children)
    return [child.text for child in children if isinstance(child, Word)]


def test_tweet_based_is_the_same_for_a_seed_and_another_for_another() -> None:
    ours = tweet_based(TEXTS, 200, 1, ANALYSER, words=(2, 4))
    assert ours.equals(tweet_based(TEXTS, 200, 1, ANALYSER, words=(2, 4)))
    assert ours["query"].to_pylist() != tweet_based(TEXTS, 200, 2, ANALYSER, words=(2, 4))["query"].to_pylist()


def test_a_tweet_based_query_asks_for_all_words_of_one_post_and_matches_it() -> None:
    posts = {frozenset(ANALYSER.words(text)): text for text in TEXTS.to_pylist()}
    for query in tweet_based(TEXTS, 200, 3, ANALYSER)["query"].to_pylist():
        text = posts[frozenset(ANALYSER.words(query))]
        assert evaluate(parse(query), Publication("p", text))


def test_posts_with_fewer_words_are_not_asked_for() -> None:
    texts = pa.array(["fire", "the fire", "fire and smoke", "a great fire"])
    asked = tweet_based(texts, 40, 3, ANALYSER, words=(2, None))["query"].to_pylist()
    assert {frozenset(ANALYSER.words(query)) for query in asked} == {
        frozenset({"fire", "smoke"}),
        frozenset({"great", "fire"}),
    }


def test_a_tweet_based_query_of_some_words_matches_a_post() -> None:
    posts = [Publication(str(number), text) for number, text in enumerate(TEXTS.to_pylist()[:100])]
    for query in tweet_based(TEXTS[:100], 60, 3, ANALYSER, words=(2, 4))["query"].to_pylist():
        parsed = parse(query)
        assert any(evaluate(parsed, post) for post in posts)


def test_tweet_based_queries_have_between_least_and_most_words_each_once() -> None:
    queries = tweet_based(TEXTS, 3000, 1, ANALYSER, words=(2, 4))["query"].to_pylist()
    lengths = np.bincount([len(_words(query)) for query in queries[:600]], minlength=6)
    assert lengths[2:5].min() > 150 and lengths.sum() == lengths[2:5].sum()
    assert all(len(ANALYSER.words(query)) == len(query.split()) for query in queries)


def test_every_word_of_a_post_is_as_likely_to_be_asked_for() -> None:
    texts = pa.array(["fire smoke wind storm"])
    queries = tweet_based(texts, 20_000, 1, ANALYSER, words=(2, 2))["query"].to_pylist()
    _, counts = np.unique([word for query in queries for word in query.split()], return_counts=True)
    assert np.allclose(counts / 10_000, 1, atol=0.05)


def test_no_post_is_used_twice_while_there_are_others() -> None:
    queries = tweet_based(TEXTS, 1000, 1, ANALYSER)["query"].to_pylist()
    different_posts = len({frozenset(ANALYSER.words(text)) for text in TEXTS.to_pylist()})
    assert different_posts == len(TEXTS)
    assert len(set(queries)) == 1000


def test_awkward_texts_give_valid_queries_and_empty_ones_none() -> None:
    for query in tweet_based(AWKWARD, 50, 1, ANALYSER)["query"].to_pylist():
        words = _words(query)
        assert len(set(map(ANALYSER.word, words))) == len(words)
        posts = [text for text in AWKWARD.to_pylist() if text]
        assert any(evaluate(parse(query), Publication("p", text)) for text in posts)


def test_a_form_that_cannot_be_asked_for_by_itself_is_left_out() -> None:
    everything = Analyser(stop_words=frozenset())
    assert everything.words("or alarm") == ["or", "alarm"]
    assert set(tweet_based(pa.array(["or alarm"]), 5, 1, everything)["query"].to_pylist()) == {"alarm"}


def test_another_analyser_gives_queries_that_it_understands() -> None:
    plain = Analyser(stop_words=frozenset({"fire"}), stemming=False)
    queries = tweet_based(pa.array(["The fire fires on"]), 10, 1, plain)["query"].to_pylist()
    assert set(queries) == {"the fires on"}


def test_a_very_long_post_still_gives_a_valid_query() -> None:
    text = " ".join(f"{'x' * 58}{number}" for number in range(3000))
    [query] = tweet_based(pa.array([text]), 1, 1, ANALYSER)["query"].to_pylist()
    assert len(_words(query)) == 60


def test_the_one_post_with_words_is_found_among_many_without() -> None:
    texts = pa.array(["the"] * 1000 + ["fire smoke"])
    assert tweet_based(texts, 2, 1, ANALYSER)["query"].to_pylist() == ["fire smoke"] * 2


def test_texts_without_words_are_refused() -> None:
    with pytest.raises(DataError, match="words"):
        tweet_based(pa.array(["the of", None]), 1, 1, ANALYSER)


def test_no_subscriptions_are_an_empty_table() -> None:
    for words in ((1, None), (2, 4)):
        assert tweet_based(pa.array([], pa.string()), 0, 1, ANALYSER, words=words).num_rows == 0


@pytest.mark.parametrize("words", [(0, 2), (3, 2), (1, 1000)])
def test_word_counts_that_make_no_sense_are_refused(words: tuple[int, int]) -> None:
    with pytest.raises(DataError, match="words is"):
        tweet_based(TEXTS, 1, 1, ANALYSER, words=words)


def test_ids_are_distinct_and_subscribers_have_ten_each() -> None:
    table = tweet_based(TEXTS, 1000, 1, ANALYSER)
    assert table.column_names == ["id", "query", "subscriber"]
    assert len(set(table["id"].to_pylist())) == 1000
    assert 90 <= len(set(table["subscriber"].to_pylist())) <= 100


def test_bags_name_a_stem_by_its_most_frequent_form() -> None:
    bags = Bags.of(pa.array(["fires fires fire", "smoke fired"]), ANALYSER)
    assert bags.forms.to_pylist() == ["fires", "smoke"]
    assert bags.distinct().lengths().tolist() == [1, 2]


@pytest.fixture(scope="module")
def topics() -> Topics:
    return extract_topics(TEXTS, 1, ANALYSER, topics=12)


def test_topics_have_as_many_distinct_words_as_asked_for(topics: Topics) -> None:
    assert len(topics.words) == 12
    assert all(len(set(map(ANALYSER.word, words))) == 5 for words in topics.words)


def test_topics_gather_words_that_belong_together(topics: Topics) -> None:
    """The hidden topics of the generator are found again: some topic holds three words of the same theme."""
    themes = [{"storm", "rain", "flood", "thunder"}, {"fire", "smoke", "bushfire", "drill"}, {"snow", "ice", "frost"}]
    assert any(len(theme & set(words)) >= 2 for theme in themes for words in topics.words)


def test_topic_based_is_the_same_for_a_seed_and_another_for_another() -> None:
    texts = TEXTS[:300]
    ours = topic_based(texts, 50, 1, ANALYSER, topics=5)
    assert ours.equals(topic_based(texts, 50, 1, ANALYSER, topics=5))
    assert not ours.equals(topic_based(texts, 50, 2, ANALYSER, topics=5))


def test_topic_based_queries_take_all_their_words_from_one_topic(topics: Topics) -> None:
    for query in topics.subscriptions(300, seed=2)["query"].to_pylist():
        words = _words(query)
        assert len(set(words)) == len(words)
        assert any(set(words) <= set(topic) for topic in topics.words)


def test_topic_based_lengths_follow_zipf_with_skew_one_half(topics: Topics) -> None:
    queries = topics.subscriptions(50_000, seed=3)["query"].to_pylist()
    shares = np.bincount([len(query.split()) for query in queries], minlength=6)[1:] / len(queries)
    expected = np.arange(1, 6) ** -0.5
    assert np.allclose(shares, expected / expected.sum(), atol=0.01)


def test_topics_use_forms_that_stem_back(topics: Topics) -> None:
    found = extract_topics(pa.array(["running horses"] * 20), 1, ANALYSER, topics=1, words_per_topic=2)
    assert sorted(found.words[0]) == ["horses", "running"]


def test_without_tomotopy_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> ModuleType:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(DataError, match=r'pip install "tidings\[workloads\]"'):
        extract_topics(TEXTS[:10], 1, ANALYSER)


def test_topics_of_no_words_are_refused() -> None:
    with pytest.raises(DataError, match="no text"):
        extract_topics(pa.array(["the"]), 1, ANALYSER)
    with pytest.raises(DataError, match="topic"):
        Topics(()).subscriptions(1, seed=1)
