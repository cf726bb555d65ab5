"""Do the matchers together deliver what brute force does, each match once?"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples, thorough_but
from tests.index.strategies import NOW, subscriptions, tables
from tests.language.strategies import PATHS, SYMBOLS, WORDS
from tidings.analysis import ENGLISH
from tidings.cluster import Cluster, Homes, Router, Routing, once, place
from tidings.cluster.cluster import Member
from tidings.index import BruteForce
from tidings.index.subscribers import Record, table_of
from tidings.language import parse, to_text
from tidings.model import DataError, Subscription
from tidings.model.query import Topic
from tidings.partitioning import Mapping, Move, Owners
from tidings.placement import RAREST, Anycast, Lasp, Line, Placer
from tidings.terms.dictionary import Dictionary
from tidings.terms.sample import Sample
from tidings.workloads import Posts, Stocks, q1, stock_subscriptions, tweet_based

ROUTINGS: tuple[Routing, ...] = ("guards", "words")


def reopened(cluster: Cluster, folder: Path) -> Cluster:
    """The same with its router and homes from files."""
    again = Cluster(cluster.mapping)
    for matcher, member in enumerate(cluster.members):
        member.homes.save(folder / f"homes-{matcher}")
        again.members[matcher] = Member(member.index, Homes.open(folder / f"homes-{matcher}"))
    if cluster.router is not None:
        cluster.router.save(folder / "router")
        again.router = Router.open(folder / "router")
    return again


def as_table(asked: list[Subscription]) -> pa.Table:
    return table_of([Record.of(subscription, to_text(subscription.query)) for subscription in asked])


NAMES = (*WORDS, "fi*", "symbol=A", "has:price", "topic:news", "topic:news/*/final")


@st.composite
def mappings(draw: st.DrawFn) -> Mapping:
    """Some terms are split, some go where chance has it, all others are hashed."""
    count = draw(st.sampled_from([1, 2, 7, 16, 256]))
    learned = draw(st.lists(st.sampled_from(NAMES), unique=True))
    several = st.lists(st.integers(0, count - 1), min_size=1, max_size=4, unique=True)
    owners = [draw(several) for _ in learned]
    table = Owners.of_counts([len(own) for own in owners], np.array([m for own in owners for m in own], dtype=np.int32))
    return Mapping.learned(pa.array(learned, pa.large_string()), table, count)


def moves(mapping: Mapping, rng: random.Random) -> list[Move]:
    """Some parcels of what people ask for, and some others, to any matchers."""
    asked = mapping.parcels.of(pa.array(NAMES)).parcels.tolist()
    parcels = [*rng.sample(asked, rng.randint(0, len(asked))), *(rng.randrange(mapping.parcels.count) for _ in "abc")]
    return [Move(parcel, rng.randrange(mapping.matchers)) for parcel in parcels]


def placers(matchers: int) -> st.SearchStrategy[Placer]:
    lines = st.sampled_from([Line(1.0), Line(0.5, 3.0)])
    return st.one_of(
        st.just(RAREST), st.integers(-3, 3).map(Anycast), lines.map(lambda line: Lasp(matchers, line))
    )  # fmt: skip


FORMS = (
    "{}", "{} {}", "{} OR {}", "{} {} {}", "{} {} OR {}", '"{} {}"', "{} -{}", "{} OR topic:news", "{} price:>2",
    "{} bounding_box:[0 0 2 4]", "{}* OR {}", "symbol:A OR {}",
)  # fmt: skip


def simple(name: str, rng: random.Random) -> Subscription:
    """A subscription that much of the small world answers, unlike those that hypothesis likes best."""
    return Subscription(name, parse(rng.choice(FORMS).format(*rng.sample(WORDS, 3))))


def crowd(rng: random.Random, rows: int = 25) -> pa.Table:
    """Publications that have much in common."""
    return pa.table(
        {
            "id": [f"p{number}" for number in rng.sample(range(10**6), rows)],
            "text": [" ".join(rng.choices(WORDS, k=rng.randint(0, 6))) for _ in range(rows)],
            "lat": [float(rng.randint(0, 4)) for _ in range(rows)],
            "lon": [float(rng.randint(0, 4)) for _ in range(rows)],
            "topic": rng.choices(PATHS, k=rows),
            "symbol": rng.choices(SYMBOLS, k=rows),
            "price": [rng.randint(0, 4) for _ in range(rows)],
        }
    )


def come_and_go(data: st.DataObject, folders: pytest.TempPathFactory) -> None:
    rng = random.Random(data.draw(st.integers(0, 10**6)))
    sample = data.draw(st.sampled_from([None, crowd(rng)]))
    mapping = data.draw(mappings())
    placer, routing = data.draw(placers(mapping.matchers)), data.draw(st.sampled_from(ROUTINGS))
    cluster = Cluster(mapping, ENGLISH, sample, placer, routing, clock=lambda: NOW)
    oracle = BruteForce(clock=lambda: NOW)
    for _ in range(data.draw(st.integers(1, 3))):
        names = data.draw(st.lists(st.sampled_from("abcdefgh"), max_size=3))
        added = [data.draw(subscriptions(name)) for name in names]
        added += [simple(name, rng) for name in rng.sample("efghijklmnop", 6)]
        gone = data.draw(st.lists(st.sampled_from("abcefghz")))
        oracle.remove(gone)
        oracle.add(added)
        cluster.change(as_table(added), gone)
        for table in (crowd(rng), data.draw(tables())):
            assert cluster.deliver(table).pairs() == sorted(oracle.match(table).pairs())
        cluster.move(moves(mapping, rng))
        table = crowd(rng)
        assert cluster.deliver(table).pairs() == sorted(oracle.match(table).pairs())
    if data.draw(st.integers(0, 4)) == 0:  # files are slow
        again, table = reopened(cluster, folders.mktemp("matchers")), crowd(rng)
        assert again.deliver(table).pairs() == sorted(oracle.match(table).pairs())


@examples(25)
@given(data=st.data())
def test_matchers_together_equal_brute_force_while_subscriptions_come_and_go_and_parcels_move(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    come_and_go(data, tmp_path_factory)


@pytest.mark.slow
@examples(500)
@given(data=st.data())
def test_matchers_together_equal_brute_force_in_many_more_cases(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    come_and_go(data, tmp_path_factory)


POSTS = Posts(seed=4, vocabulary=2200).table(150)
QUOTES = Stocks(seed=2).table(300)


GENERATED: dict[str, Callable[[], tuple[pa.Table, pa.Table]]] = {
    "tweet": lambda: (tweet_based(POSTS["text"], 400, 1, ENGLISH, words=(1, 3)), POSTS),
    "q1": lambda: (q1(POSTS, 400, 1, ENGLISH), POSTS),
    "stock": lambda: (stock_subscriptions(QUOTES, 400, 1), QUOTES),
}


@pytest.mark.parametrize("workload", thorough_but(GENERATED, "tweet"))
def test_matchers_together_equal_brute_force_on_generators(workload: str) -> None:
    asked, posts = GENERATED[workload]()
    oracle = BruteForce()
    oracle.add(Subscription(row["id"], parse(row["query"])) for row in asked.to_pylist())
    expected = sorted(oracle.match(posts).pairs())
    assert len(expected) > 20
    for make in (lambda: RAREST, lambda: Anycast(1), lambda: Lasp(7)):
        spreads = []
        for routing in ROUTINGS:
            placer: Placer = make()
            cluster = Cluster(half_split(7, posts), ENGLISH, posts, placer, routing)
            cluster.change(asked.select(["id", "query"]))
            assert cluster.deliver(posts).pairs() == expected
            spreads.append(cluster.loads().matchers.posts.sum() / posts.num_rows)
        assert spreads[0] <= spreads[1] < 7


def half_split(matchers: int, posts: pa.Table) -> Mapping:
    """Every other word of these publications has three owners."""
    texts = posts["text"].to_pylist() if "text" in posts.column_names else []
    words = sorted({word for text in texts for word in ENGLISH.words(text)})[::2]
    owners = (np.arange(len(words))[:, None] + np.arange(3)) % matchers
    table = Owners.of_counts(np.full(len(words), 3), owners.ravel().astype(np.int32))
    return Mapping.learned(pa.array(words, pa.large_string()), table, matchers)


def split(matchers: int = 16, **owners: list[int]) -> Mapping:
    flat = np.array([matcher for own in owners.values() for matcher in own], dtype=np.int32)
    table = Owners.of_counts([len(own) for own in owners.values()], flat)
    return Mapping.learned(pa.array(list(owners), pa.large_string()), table, matchers)


@pytest.mark.parametrize("placer", [RAREST, Anycast(), Lasp(16)], ids=["rarest", "anycast", "lasp"])
def test_hot_words_place_a_subscription_only_where_it_has_no_others(placer: Placer) -> None:
    """[S3TM] 5.1, its three kinds of subscriptions; smoke is the rarer of the two hot words."""
    mapping = split(fire=[1, 2, 3], smoke=[4, 5], rain=[6], flood=[7])
    posts = pa.table({"id": list("abcdefg"), "text": ["fire smoke"] * 2 + ["fire"] * 2 + ["rain flood"] * 3})
    queries = [
        "fire smoke",
        "fire",
        "rain fire smoke",
        "rain",
        '"fire smoke"',
        "fire topic:news",
        "(rain OR smoke) fire",
    ]
    asked = pa.table({"id": [f"s{i}" for i in range(len(queries))], "query": queries})
    placement = place(asked, mapping, Sample(ENGLISH, posts), placer=placer)
    sets, matchers = placement.homes.pairs()
    homes = [matchers[sets == i].tolist() for i in range(len(queries))]
    assert homes[:5] == [[4, 5], [1, 2, 3], [6], [6], [4, 5]] and homes[6] == [4, 5, 6]
    terms = Dictionary()
    term = terms.term(Topic(("news",)))
    topic = Mapping.hashed(16).owners(terms).of(term)
    assert homes[5] == (topic if placer is RAREST else [1, 2, 3])


def test_words_route_what_guards_do_not() -> None:
    asked = pa.table({"id": ["s"], "query": ["rain fire -flood"]})
    posts = pa.table({"id": ["a", "b", "c"], "text": ["fire", "rain", "flood"]})
    mapping = split(fire=[3], rain=[6], flood=[9])
    routes = {routing: place(asked, mapping, routing=routing).router.route(posts) for routing in ROUTINGS}
    assert routes["guards"].sizes().sum() == 1
    assert [pair.tolist() for pair in routes["words"].pairs()] == [[0, 1], [3, 6]]
    with pytest.raises(DataError, match="got 'all'"):
        place(asked, mapping, routing="all")  # type: ignore[arg-type]


def test_a_subscription_lives_whole_wherever_one_of_its_guards_is_owned() -> None:
    asked = pa.table({"id": ["s", "t"], "query": ["fire OR smoke OR (rain flood)", "fire"]})
    placement = place(asked, Mapping.hashed(256))
    assert placement.homes.sizes().tolist() == [3, 1]
    shares = [share for m in range(256) if (share := placement.share(m)).table.num_rows]
    assert sorted(share.table["id"].to_pylist() for share in shares) == [["s"], ["s"], ["s", "t"]]
    assert all(share.homes.ids.texts().to_pylist() == ["s"] for share in shares)
    assert {share.table["query"][0].as_py() for share in shares} == {"fire OR smoke OR (rain flood)"}


def test_the_later_of_two_equal_ids_counts() -> None:
    asked = pa.table({"id": ["s", "s"], "query": ["fire", "smoke"]})
    placement = place(asked, Mapping.hashed(256))
    assert placement.table["query"].to_pylist() == ["smoke"] and len(placement.homes) == len(placement.router) == 1


def test_what_nothing_can_match_lives_nowhere() -> None:
    query = "price:{2 TO 2.0000000000000004}"  # no number of 64 bits lies between
    placement = place(pa.table({"id": ["s"], "query": [query]}), Mapping.hashed(3))
    assert placement.homes.sizes().tolist() == [0] and len(placement.router) == 0


def test_without_homes_elsewhere_every_match_is_delivered_and_with_them_only_by_the_first() -> None:
    asked = pa.table({"id": ["s", "t"], "query": ["fire OR smoke", "fire"]})
    posts = pa.table({"id": ["p", "q"], "text": ["fire and smoke", "smoke"]})
    placement = place(asked, Mapping.hashed(256))
    routes = placement.router.route(posts)
    (fire,) = placement.homes.taken(pa.array([1]).to_numpy()).pairs()[1]
    (smoke,) = set(placement.homes.pairs()[1].tolist()) - {fire}
    rows, ids = pa.array([0, 1]).to_numpy(), pa.array(["s", "s"])
    both = [once(rows, ids, m, routes, placement.share(m).homes).tolist() for m in sorted((fire, smoke))]
    assert both[0][0] and not both[1][0]  # both find the first post, the lower delivers it
    assert once(rows[1:], ids[1:], smoke, routes, placement.share(smoke).homes).all()
