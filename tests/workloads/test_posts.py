"""Are generated posts the same each time, alike to real ones, and fit for a demo?"""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tidings.analysis import Analyser
from tidings.analysis.stopwords import ENGLISH
from tidings.language import evaluate, parse
from tidings.model import DataError, Publication
from tidings.tables import publications
from tidings.workloads import Posts
from tidings.workloads.bags import Bags
from tidings.workloads.lexicon import REAL_WORDS
from tidings.workloads.posts import BLOCK_ROWS
from tidings.workloads.themes import CITIES, GLUE, THEMES
from tidings.workloads.words import made_up_words

POSTS = Posts(seed=11)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return POSTS.table(10_000)


def test_a_seed_gives_the_same_posts_each_time(table: pa.Table) -> None:
    assert Posts(seed=11).table(10_000).equals(table)


def test_two_seeds_give_different_posts() -> None:
    ours, theirs = Posts(seed=1).table(1000), Posts(seed=2).table(1000)
    assert not set(ours["text"].to_pylist()) & set(theirs["text"].to_pylist())
    assert not ours["lat"].equals(theirs["lat"])


@examples(15)
@given(st.integers(0, 2 * BLOCK_ROWS), st.integers(0, 200))
def test_any_slice_equals_the_same_rows_of_a_larger_table(start: int, count: int) -> None:
    whole = POSTS.table(2 * BLOCK_ROWS + 200)
    assert POSTS.table(count, start=start).equals(whole.slice(start, count))


def test_ids_never_repeat_and_instants_never_go_back(table: pa.Table) -> None:
    assert pc.count_distinct(table["id"]).as_py() == len(table)
    instants = table["ts"].cast(pa.int64()).to_numpy()
    assert (np.diff(instants) >= 0).all()


def test_posts_come_at_the_rate_asked_for_from_the_start_asked_for() -> None:
    since = datetime(2020, 2, 3, tzinfo=UTC)
    instants = Posts(since=since, rate_per_s=10).table(3, start=6000)["ts"].to_pylist()
    tenths = [(instant - since - timedelta(minutes=10)) // timedelta(seconds=0.1) for instant in instants]
    assert tenths == [0, 1, 2]


def test_word_frequencies_fall_as_zipf_says(table: pa.Table) -> None:
    counts = np.sort(np.bincount(Bags.of(table["text"], Analyser()).ids))[::-1]
    ranks = np.arange(10, 1000)
    slope, _ = np.polyfit(np.log(ranks), np.log(counts[ranks - 1]), 1)
    assert -1.15 < slope < -0.7


def test_a_higher_skew_makes_the_first_words_more_frequent() -> None:
    shares = []
    for skew in (0.5, 1.0, 1.5):
        counts = np.sort(np.bincount(Bags.of(Posts(skew=skew).table(1000)["text"], Analyser()).ids))[::-1]
        shares.append(counts[:10].sum() / counts.sum())
    assert shares[0] < shares[1] / 2 and shares[1] < shares[2] / 1.5


def _share(texts: pa.ChunkedArray, *words: str) -> float:
    hits = [pc.match_substring_regex(texts, rf"(?i)\b{word}\b").to_numpy() for word in words]
    return float(np.logical_and.reduce(hits).mean())


def test_words_of_a_topic_occur_together_far_more_often_than_by_chance(table: pa.Table) -> None:
    for one, other in (("fire", "smoke"), ("market", "stocks"), ("snow", "ice")):
        by_chance = _share(table["text"], one) * _share(table["text"], other)
        assert _share(table["text"], one, other) > 4 * by_chance
    assert _share(table["text"], "fire", "album") < 2 * _share(table["text"], "fire") * _share(table["text"], "album")


def test_topics_are_paths_that_people_understand(table: pa.Table) -> None:
    assert set(table["topic"].to_pylist()) == set(THEMES)
    assert {label.split("/")[0] for label in THEMES} >= {"weather", "traffic", "markets", "sports"}


def test_more_topics_than_themes_lie_below_the_themes() -> None:
    labels = set(Posts(topics=100).table(BLOCK_ROWS)["topic"].to_pylist())
    deeper = {label for label in labels if label.count("/") == 2}
    assert deeper and {label.rsplit("/", 1)[0] for label in deeper} <= set(THEMES)


def test_a_demo_query_finds_some_posts_and_leaves_most(table: pa.Table) -> None:
    query = parse("(fire OR smoke) -drill")
    found = sum(evaluate(query, row) for row in publications(table.slice(0, 2000)) if isinstance(row, Publication))
    assert 20 < found < 400


def test_places_lie_around_the_cities_or_anywhere_and_some_posts_have_none(table: pa.Table) -> None:
    assert 0.75 < 1 - table["lat"].null_count / len(table) < 0.85
    assert table["lat"].is_valid().equals(table["lon"].is_valid())
    lat, lon = table["lat"].drop_null().to_numpy(), table["lon"].drop_null().to_numpy()
    assert (np.abs(lat) <= 90).all() and (np.abs(lon) <= 180).all()
    near = np.zeros(len(lat), dtype=bool)
    for _, city_lon, city_lat in CITIES:
        near |= np.hypot(lon - city_lon, lat - city_lat) < 1
    assert 0.85 < near.mean() < 0.95


def test_cities_prefer_different_topics(table: pa.Table) -> None:
    def favourite(city: int) -> str:
        _, lon, lat = CITIES[city]
        near = pc.and_(
            pc.less(pc.abs(pc.subtract(table["lon"], lon)), 1), pc.less(pc.abs(pc.subtract(table["lat"], lat)), 1)
        )
        counts = table.filter(near)["topic"].value_counts().to_pylist()
        return str(max(counts, key=lambda count: count["counts"])["values"])

    assert len({favourite(city) for city in (1, 2, 3)}) > 1


def test_every_generated_row_is_a_valid_publication(table: pa.Table) -> None:
    assert all(isinstance(row, Publication) for row in publications(table.slice(0, 500)))


def test_made_up_words_are_distinct_plain_and_their_own_stems() -> None:
    words = made_up_words(50_000, np.random.default_rng(3))
    analyser = Analyser()
    assert len(set(words)) == len(words)
    assert all(word.isascii() and word.isalpha() and word.islower() for word in words)
    assert all(analyser.word(word) == word for word in words)


def test_no_stop_word_can_be_made_up() -> None:
    pattern = r"(?:[bdfghjklmnprstvz][aeiou]){2}[bdfghjklmnprstvz][aou][kmn]?"
    assert pc.match_substring_regex(pa.array(["kamoru"]), f"^{pattern}$")[0].as_py()
    assert not pc.any(pc.match_substring_regex(pa.array(sorted(ENGLISH)), f"^{pattern}$")).as_py()


def test_real_words_can_all_be_asked_for_and_glue_cannot() -> None:
    analyser = Analyser()
    assert all(analyser.words(word) for word in REAL_WORDS)
    assert len(set(map(analyser.word, REAL_WORDS))) == len(REAL_WORDS)
    assert not any(analyser.words(glue) for glue in GLUE)


def test_texts_have_as_many_words_as_asked_for() -> None:
    texts = Posts(words=(3, 5)).table(500)["text"].to_pylist()
    tokens = [len(text.split()) for text in texts]
    assert set(tokens) == {3, 4, 5}
    assert all(Analyser().words(text) for text in texts)


def test_no_text_ends_with_a_function_word(table: pa.Table) -> None:
    assert not {text.rsplit(" ", 1)[-1] for text in table["text"].to_pylist()} & ENGLISH


def test_options_survive_pickling() -> None:
    assert pickle.loads(pickle.dumps(POSTS)).table(5).equals(POSTS.table(5))


@pytest.mark.parametrize(
    "options", [{"vocabulary": 10}, {"vocabulary": 10**8}, {"topics": 0}, {"words": (5, 2)}, {"rate_per_s": 0}]
)
def test_options_that_make_no_sense_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(DataError, match="got"):
        Posts(**options)  # type: ignore[arg-type]


def test_a_negative_count_is_refused() -> None:
    with pytest.raises(DataError, match="-1"):
        POSTS.table(-1)
