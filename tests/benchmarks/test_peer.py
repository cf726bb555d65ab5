import shutil
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from benchmarks import lucene, peer, translation
from benchmarks.lucene import Box, Comparison, Outcome, PlacedPost, Quote, StockQuery
from benchmarks.matching import Workload
from benchmarks.names import Name
from benchmarks.workloads import workload
from tidings.analysis import ENGLISH
from tidings.index import BruteForce
from tidings.language import parse
from tidings.model import DataError, Subscription

TINY = peer.Settings(posts=30, batch=50, warmup_s=0, heap_mb=256)


@pytest.fixture
def no_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lucene, "build", lambda: None)


def queries(*texts: str) -> pa.ChunkedArray:
    return pa.chunked_array([list(texts)], pa.string())


def test_words_are_translated_as_they_are_analysed() -> None:
    assert list(translation.word_queries(queries("White houses", "été fires"))) == [["white", "hous"], ["été", "fire"]]
    assert list(translation.word_posts(pa.table({"text": ["The fires", None]}))) == [["fire"], []]


def test_boxes_are_translated_with_all_or_any_of_their_words() -> None:
    asked = queries(
        "fire smoke bounding_box:[1 2 3 4]", "(fire OR smoke) bounding_box:[1 2 3 4]", "bounding_box:[1 2 3 4]"
    )
    assert list(translation.box_queries(asked)) == [
        Box(1, 2, 3, 4, ["fire", "smoke"]),
        Box(1, 2, 3, 4, ["fire", "smoke"], any_of=True),
        Box(1, 2, 3, 4, []),
    ]
    posts = pa.table({"text": ["fires"], "lat": [2.5], "lon": [1.5]})
    assert list(translation.placed_posts(posts)) == [PlacedPost(1.5, 2.5, ["fire"])]


def test_quotes_are_translated_as_terms_and_numbers() -> None:
    asked = queries("class:STOCK symbol:YHOO high:>31.75", "class:STOCK low:<3", "class:STOCK volume:>=100 symbol:A")
    assert list(translation.stock_queries(asked)) == [
        StockQuery(["class=STOCK", "symbol=YHOO"], Comparison("high", ">", 31.75)),
        StockQuery(["class=STOCK"], Comparison("low", "<", 3)),
        StockQuery(["class=STOCK", "symbol=A"], Comparison("volume", ">=", 100)),
    ]
    row = {"class": ["STOCK"], "symbol": ["A"], "high": [2.5], "low": pa.array([None], pa.float64()), "volume": [7]}
    assert list(translation.quotes(pa.table(row))) == [Quote(["class=STOCK", "symbol=A"], {"high": 2.5, "volume": 7.0})]


@pytest.mark.parametrize(
    ("translate", "query"),
    [
        (translation.word_queries, "fire -drill"),
        (translation.word_queries, '"white house"'),
        (translation.box_queries, "fire"),
        (translation.box_queries, "(fire OR (smoke wind)) bounding_box:[1 2 3 4]"),
        (translation.box_queries, "fire bounding_box:[1 2 3 4] lang:en"),
        (translation.stock_queries, "symbol:A high:>1 low:<2"),
        (translation.stock_queries, "symbol:A volume:1..2"),
        (translation.stock_queries, "fire symbol:A"),
    ],
)
def test_what_has_no_translation_is_refused(translate: object, query: str) -> None:
    with pytest.raises(DataError, match="no translation"):
        list(translate(queries(query)))  # type: ignore[operator]


def test_on_the_grid_queries_and_posts_stay_where_lucene_keeps_them() -> None:
    moved = translation.on_lucenes_grid(workload(Name.q1, None, subscriptions=20, posts=50, seed=2, made_up_rows=3_000))
    for box in translation.box_queries(moved.subscriptions["query"]):
        assert lucene.on_grid([box.west, box.east], 180).tolist() == [box.west, box.east]
        assert lucene.on_grid([box.south, box.north], 90).tolist() == [box.south, box.north]
    lat = moved.posts["lat"].to_numpy()
    assert np.array_equal(lucene.on_grid(lat, 90), lat) and not np.isnan(lat).any()


def pretended(made: Workload, lost: int = 0) -> Iterator[Outcome]:
    """What Lucene would say of each run, but for matches that it loses in runs without pairs."""
    for posts, pairs in ((300, True), *[(8, False), (30, False), (50, False)] * 9):
        oracle = BruteForce(ENGLISH)
        rows = made.subscriptions.to_pylist()
        oracle.add(Subscription(row["id"], parse(row["query"])) for row in rows)
        numbers = {row["id"]: number for number, row in enumerate(rows)}
        found = sorted((post, numbers[name]) for post, name in oracle.match(made.posts.slice(0, posts)).pairs())
        matches = len(found) - (0 if pairs else lost)
        array = np.array(found, dtype=np.int64).reshape(-1, 2) if pairs else None
        yield Outcome("9", len(rows), posts, matches, 5, 0.1, 1.0, 1.0, 100.0, array)


def test_both_are_measured_in_turn_and_compared(monkeypatch: pytest.MonkeyPatch, no_build: None) -> None:
    made = workload(Name.words, None, subscriptions=40, posts=60, seed=2, made_up_rows=3_000)
    outcomes = pretended(made)
    given: list[tuple[int, int, bool]] = []

    def run(self: peer.Side, _: Workload, run: peer.Run, settings: peer.Settings, *, pairs: bool = False) -> Outcome:
        given.append((run.posts.num_rows, run.batch, run.is_tuned))
        return next(outcomes)

    monkeypatch.setattr(peer.Side, "run", run)
    figures = peer.measure(Name.words, made, 2, TINY)
    assert given == [(60, 1, True), *[(8, 1, False), (30, 1, True), (50, 50, True)] * 2]
    assert figures["lucene"] == "9" and figures["lucene_single_posts"] == 30 and figures["lucene_batched_posts"] == 50
    assert figures["ratio_single"] > 0 < figures["ratio_batched_with_fan_out"] and figures["ratio_untuned"] > 0


def test_a_match_that_lucene_lacks_fails_the_run(monkeypatch: pytest.MonkeyPatch, no_build: None) -> None:
    made = workload(Name.words, None, subscriptions=40, posts=60, seed=2, made_up_rows=3_000)
    outcomes = pretended(made, lost=1)
    monkeypatch.setattr(peer.Side, "run", lambda *_, **__: next(outcomes))
    with pytest.raises(DataError, match="differ"):
        peer.measure(Name.words, made, 1, TINY)


def test_without_maven_the_peer_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    made = workload(Name.words, None, subscriptions=4, posts=4, seed=2, made_up_rows=3_000)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(lucene, "build", lambda: lucene._program("mvn"))
    with pytest.raises(DataError, match="no program 'mvn'"):
        peer.measure(Name.words, made, 1, TINY)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in Name if name != Name.topics])
def test_lucene_itself_finds_the_same(name: Name) -> None:
    if shutil.which("mvn") is None or shutil.which("java") is None:
        pytest.skip("there is no JDK or no Maven on PATH")
    made = workload(name, None, subscriptions=300, posts=60, seed=2, made_up_rows=3_000)
    assert peer.measure(name, made, 1, TINY)["lucene"]
