import operator
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks import lucene
from benchmarks.lucene import Box, Comparison, PlacedPost, Quote, Settings, StockQuery
from tidings.model import DataError

QUICK = Settings(warmup_s=0, rounds=1, heap_mb=256)
MANY = Settings(batch=7, warmup_s=0, rounds=1, heap_mb=256)
TWICE = Settings(passes=2, warmup_s=0, rounds=1, heap_mb=256)
COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@pytest.fixture(scope="module")
def maven() -> None:
    for program in ("mvn", "java"):
        if shutil.which(program) is None:
            pytest.skip(f"there is no {program} on PATH: the peer benchmark against Lucene needs a JDK 17 and Maven")


def _pairs(holds: list[list[bool]]) -> list[list[int]]:
    """The (post, query) that hold, from one row for each post."""
    return [[post, query] for post, row in enumerate(holds) for query, held in enumerate(row) if held]


def _words(rng: random.Random, most: int, least: int = 0) -> list[str]:
    return rng.sample(["fire", "smoke", "été", "x" * 300, "white house", "火"], rng.randint(least, most))


@pytest.mark.slow
@pytest.mark.parametrize("settings", [QUICK, MANY, TWICE])
def test_words_match_as_sets_do(maven: None, settings: Settings) -> None:
    rng = random.Random(1)
    queries = [_words(rng, 3, least=1) for _ in range(60)]
    posts = [_words(rng, 5) for _ in range(40)]
    outcome = lucene.match_words(queries, posts, settings, pairs=True)
    expected = _pairs([[set(query) <= set(post) for query in queries] for post in posts])
    assert outcome.pairs is not None and outcome.pairs.tolist() == expected
    assert (outcome.queries, outcome.posts, outcome.matches) == (60, 40, len(expected))
    assert 0 < len(expected) < 60 * 40


@pytest.mark.slow
@pytest.mark.parametrize("settings", [QUICK, MANY, TWICE])
def test_boxes_match_as_comparisons_do_on_lucenes_grid(maven: None, settings: Settings) -> None:
    rng = random.Random(2)
    lons = lucene.on_grid([-180, -0.1, 0, 0.3, 151.2, 180], 180).tolist()
    lats = lucene.on_grid([-90, -33.9, 0, 0.7, 90], 90).tolist()

    def box() -> Box:
        (west, east), (south, north) = sorted(rng.choices(lons, k=2)), sorted(rng.choices(lats, k=2))
        words = _words(rng, 2)
        return Box(west, south, east, north, words, any_of=bool(words) and rng.random() < 0.5)

    def holds(box: Box, post: PlacedPost) -> bool:
        inside = box.west <= post.lon <= box.east and box.south <= post.lat <= box.north
        return inside and (any if box.any_of else all)(word in post.words for word in box.words)

    queries = [box() for _ in range(80)]
    posts = [PlacedPost(rng.choice(lons), rng.choice(lats), _words(rng, 4)) for _ in range(40)]
    outcome = lucene.match_boxes(queries, posts, settings, pairs=True)
    expected = _pairs([[holds(query, post) for query in queries] for post in posts])
    assert outcome.pairs is not None and outcome.pairs.tolist() == expected
    assert 0 < len(expected) < 80 * 40


@pytest.mark.slow
@pytest.mark.parametrize("settings", [QUICK, MANY, TWICE])
def test_stock_queries_match_as_comparisons_do(maven: None, settings: Settings) -> None:
    rng = random.Random(3)
    numbers = [-1.5, 0.0, 3e5, 1e-7, float("nan")]

    def query() -> StockQuery:
        attribute, operation = rng.choice(["high", "volume"]), rng.choice(["<", "<=", ">", ">="])
        comparison = Comparison(attribute, operation, rng.choice(numbers[:-1]))  # type: ignore[arg-type]
        terms = rng.sample(["class=STOCK", "symbol=A B", "symbol=C"], rng.randint(0, 2))
        return StockQuery(terms, comparison if not terms or rng.random() < 0.7 else None)

    def holds(query: StockQuery, post: Quote) -> bool:
        asked = query.comparison
        compared = asked is None or COMPARE[asked.operator](post.numbers[asked.attribute], asked.number)
        return set(query.terms) <= set(post.terms) and compared

    queries = [query() for _ in range(80)]
    posts = [
        Quote(
            ["class=STOCK", rng.choice(["symbol=A B", "symbol=C"])],
            {"high": rng.choice(numbers), "volume": rng.choice(numbers)},
        )
        for _ in range(40)
    ]
    outcome = lucene.match_stock(queries, posts, settings, pairs=True)
    expected = _pairs([[holds(query, post) for query in queries] for post in posts])
    assert outcome.pairs is not None and outcome.pairs.tolist() == expected
    assert 0 < len(expected) < 80 * 40


@pytest.mark.slow
def test_without_matches_there_are_no_pairs(maven: None) -> None:
    outcome = lucene.match_words([["fire"]], [["smoke"], [], [""]], QUICK, pairs=True)
    assert outcome.pairs is not None and outcome.pairs.shape == (0, 2) and outcome.posts == 3
    assert lucene.match_words([["fire"]], [["fire"]], QUICK).pairs is None


def test_degrees_on_the_grid_stay_where_they_are() -> None:
    degrees = np.random.default_rng(4).uniform(-90, 90, 1000)
    for limit in (90, 180):
        once = lucene.on_grid(degrees, limit)
        assert np.array_equal(lucene.on_grid(once, limit), once)
        assert np.all((degrees - once >= 0) & (degrees - once < 1e-7))
    assert lucene.on_grid(90, 90) < 90 and lucene.on_grid(-180, 180) == -180


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: lucene.match_words([[]], []), "for no word"),
        (lambda: lucene.match_words([], [["a\tb"]]), "no tab"),
        (lambda: lucene.match_words([[""]], []), "no empty term"),
        (lambda: lucene.match_boxes([Box(0, 0, 1, 1, any_of=True)], []), "any of no words"),
        (lambda: lucene.match_stock([StockQuery([])], []), "neither"),
        (lambda: lucene.match_stock([], [Quote([], {"a b": 1.0})]), "'a b'"),
    ],
)
def test_what_cannot_be_written_is_refused(call: Callable[[], object], complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        call()


def test_an_installed_package_without_the_sources_says_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="from a checkout"):
        lucene.build(tmp_path / "bench" / "lucene")


def test_without_maven_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pom.xml").write_text("<project/>")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DataError, match=r"no program 'mvn'.*apt install openjdk-17-jdk-headless maven"):
        lucene.build(tmp_path)


@pytest.mark.slow
def test_a_failed_build_shows_mavens_error(maven: None, tmp_path: Path) -> None:
    (tmp_path / "pom.xml").write_text("<project>")
    with pytest.raises(DataError, match=r"Maven could not build .*ERROR"):
        lucene.build(tmp_path)
