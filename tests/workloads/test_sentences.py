import numpy as np

from tidings.workloads import Posts
from tidings.workloads.sentences import sentences
from tidings.workloads.themes import CITIES, THEMES


def test_a_sentence_speaks_of_its_topic_and_its_city() -> None:
    topic, city = np.arange(500) % (2 * len(THEMES)), np.arange(500) % len(CITIES)
    made = sentences(np.random.default_rng(1), topic, city).to_pylist()
    for text, subject, place in zip(made, topic.tolist(), city.tolist(), strict=True):
        words = [*THEMES.values()][subject % len(THEMES)]
        assert sum(word in text.lower() for word in words) >= 2, text
        assert not any(name in text for name, _, _ in CITIES if name != CITIES[place][0]), text
        assert text[0].isupper() and "{" not in text


def test_readable_posts_are_the_same_rows_whatever_is_asked_for() -> None:
    posts = Posts(seed=3, readable=True)
    assert posts.table(5_000).slice(4_090, 20) == posts.table(20, start=4_090)
    assert posts.table(50)["topic"] == Posts(seed=3, readable=True).table(50)["topic"]
