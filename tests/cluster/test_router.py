from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.index.strategies import subscriptions, tables
from tidings.analysis import ENGLISH, Analyser
from tidings.arrays import NamedArrays
from tidings.arrays.files import JSON, write_arrays
from tidings.cluster import Homes, Router, place
from tidings.cluster.router import FORMAT
from tidings.language import to_text
from tidings.model import DataError
from tidings.partitioning import Mapping, MatcherSets, TermParcels
from tidings.partitioning.mapping import PER_MATCHER
from tidings.terms.dictionary import Dictionary
from tidings.terms.sample import Sample
from tidings.workloads import Posts, tweet_based

POSTS = Posts(seed=3, vocabulary=2200).table(300)
META: dict[str, JSON] = {"kind": "router", "terms": 2, "matchers": 4, "analyser": ["english", [], True]}


def router_of(*queries: str, matchers: int = 16, analyser: Analyser = ENGLISH) -> Router:
    asked = pa.table({"id": [str(i) for i in range(len(queries))], "query": pa.array(queries, pa.string())})
    return place(asked, Mapping.hashed(matchers), analyser=analyser).router


def routed(router: Router, table: pa.Table) -> list[tuple[int, int]]:
    rows, matchers = router.route(table).pairs()
    return list(zip(rows.tolist(), matchers.tolist(), strict=True))


def test_a_post_goes_to_the_owners_of_the_guards_among_its_words_and_nowhere_else() -> None:
    asked = tweet_based(POSTS["text"], 300, 1, ENGLISH, words=(1, 3))
    router = place(asked, Mapping.hashed(16)).router
    names = router._terms.term_names().to_pylist()
    owners = Mapping.hashed(16).owners(router._terms)
    owner = {name: owners.of(term)[0] for term, name in enumerate(names) if term}
    expected = [
        (row, matcher)
        for row, text in enumerate(POSTS["text"].to_pylist())
        for matcher in sorted({owner[word] for word in ENGLISH.words(text) if word in owner})
    ]
    assert routed(router, POSTS) == expected and len(expected) > 300


def test_rows_without_any_guard_and_rows_that_are_no_publications_go_nowhere() -> None:
    router = router_of("fire smoke", "volume:>5", "bounding_box:[0 0 1 1]")
    posts = pa.table(
        {
            "id": ["a", None, "c", "d", "e"],
            "text": ["rain", "fire smoke", None, "fire and smoke", "smoke fire"],
            "volume": [-4.0, 6.0, None, None, None],
            "lat": [50.0, 0.5, None, 99.0, None],
            "lon": [50.0, 0.5, None, 0.0, None],
        }
    )
    assert [row for row, _ in routed(router, posts)] == [4]
    assert routed(router, posts.slice(0, 0)) == routed(router_of(), posts) == []


def random_routers(data: st.DataObject, count: int) -> list[Router]:
    matchers = data.draw(st.sampled_from([1, 7, 65]))
    lists = st.lists(subscriptions("s").map(lambda subscription: to_text(subscription.query)), max_size=4)
    return [router_of(*data.draw(lists), matchers=matchers) for _ in range(count)]


@examples(40)
@given(data=st.data())
def test_a_router_and_what_extends_it_come_back_from_files(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder, routers, table = tmp_path_factory.mktemp("router"), random_routers(data, 3), data.draw(tables(8))
    each = {pair for router in routers for pair in routed(router, table)}
    paths = [folder / str(number) for number in range(3)]
    for router, path in zip(routers, paths, strict=True):
        router.save(path)
    first, *newer = routers
    for router in newer:
        assert set(routed(first, table)) <= each
        first.extend(router)
    first.save(folder / "all")
    everyone = sorted(each)
    assert routed(first, table) == routed(Router.open(*paths), table) == everyone
    assert routed(Router.open(folder / "all"), table) == everyone
    assert len(Router.open(folder / "all")) == len(first)


def test_extending_by_what_is_known_changes_nothing() -> None:
    queries = [
        "fire",
        "fi*",
        "symbol:A",
        "symbol:A*",
        "symbol:*A",
        "has:price",
        "topic:news",
        "topic:*/war",
        "price:2..3",
    ]
    router = router_of(*queries, "bounding_box:[0 0 1 1]", "ts:[2020-01-01 TO 2020-02-01]")
    count = len(router)
    router.extend(router_of("bounding_box:[0 0 1 1]", *reversed(queries), "ts:[2020-01-01 TO 2020-02-01]"))
    assert len(router) == count


def test_an_opened_router_is_mapped(tmp_path: Path) -> None:
    router_of("fire", "smoke").save(tmp_path / "router")
    opened = Router.open(tmp_path / "router")
    assert not opened.parcels.parcels.flags.owndata and not opened._terms._old_words.data.flags.owndata


def test_the_analyser_is_saved_with_the_router(tmp_path: Path) -> None:
    plain = Analyser(stop_words=frozenset({"fire"}), stemming=False)
    router_of("smoke", "fires", analyser=plain).save(tmp_path / "router")
    posts = pa.table({"id": ["a", "b"], "text": ["smokes", "the smoke"]})
    assert {row for row, _ in routed(Router.open(tmp_path / "router"), posts)} == {1}


def test_routers_that_do_not_agree_are_not_joined() -> None:
    with pytest.raises(DataError, match="other matchers or another analyser"):
        router_of("fire", matchers=2).extend(router_of("fire", matchers=3))
    with pytest.raises(DataError, match="other matchers or another analyser"):
        router_of("fire").extend(router_of("fire", analyser=Analyser("german")))
    terms = Dictionary()
    terms.word("fire")
    terms.word("rain")
    router = router_of("fire")
    posts = pa.table({"id": ["a", "b"], "text": ["fire", "rain"]})
    ((_, before),) = routed(router, posts)
    other = 1 - min(int(router.parcels.parcels[0]), 1)
    parcels = TermParcels(np.array([0, 0, 1, 2]), np.array([other, 5 * PER_MATCHER], dtype=np.int32))
    with pytest.raises(DataError, match="another mapping"):
        router.extend(Router(terms, parcels, Mapping.hashed(16).owner, 16))
    assert routed(router, posts) == [(0, before), (1, 5)]  # what was known is kept, what was not does no harm


def test_a_file_that_is_no_router_is_told_by_name(tmp_path: Path) -> None:
    homes = Homes.of(pa.array(["s"]), MatcherSets(np.array([[3]], dtype=np.uint64)))
    homes.save(tmp_path / "homes")
    with pytest.raises(DataError, match="homes' is no router"):
        Router.open(tmp_path / "homes")
    router_of("fire").save(tmp_path / "router")
    with pytest.raises(DataError, match="router' has no homes"):
        Homes.open(tmp_path / "router")


@pytest.mark.parametrize(
    ("offsets", "parcels", "owner", "complaint"),
    [
        ([0, 0, 1], [9], [0, 1, 2], "parcel that is not there"),
        ([0, 0, 1], [-1], [0, 1, 2], "parcel that is not there"),
        ([0, 0, 1], [0], [4, 1, 2], "owner that is not there"),
        ([0, 0, 1], [0], [-1, 1, 2], "owner that is not there"),
        ([0, 0, 0], [], [0, 1, 2], "in no parcel"),
        ([0, 1, 2], [1, 2], [0, 1, 2], "in no parcel"),
        ([0, 0, 3], [1, 2], [0, 1, 2], "in no parcel"),
        ([0, 0, 1, 2], [1, 2], [0, 1, 2], "do not fit together"),
    ],
)
def test_owners_that_make_no_sense_are_told(
    tmp_path: Path, offsets: list[int], parcels: list[int], owner: list[int], complaint: str
) -> None:
    arrays: NamedArrays = {
        "parcel_offsets": np.array(offsets, dtype=np.int64),
        "parcels": np.array(parcels, dtype=np.int32),
        "owner": np.array(owner, dtype=np.int32),
    }
    write_arrays(tmp_path / "odd", arrays, {**META, "format": FORMAT})
    with pytest.raises(DataError, match=complaint):
        Router.open(tmp_path / "odd")


def test_a_router_of_the_format_before_is_refused_with_the_remedy(tmp_path: Path) -> None:
    write_arrays(tmp_path / "old", {"owners": np.array([-1, 3], dtype=np.int32)}, META)
    with pytest.raises(DataError, match=r"format 1, and this tidings reads 6; compile the index again"):
        Router.open(tmp_path / "old")


def split_router(**owners: list[int]) -> Router:
    terms = Dictionary()
    for word in owners:
        terms.word(word)
    counts = [0, *(len(own) for own in owners.values())]
    flat = np.array([matcher for own in owners.values() for matcher in own], dtype=np.int32)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return Router(terms, TermParcels(offsets, flat), np.arange(16, dtype=np.int32), 16)


SENT = pa.table({"id": [f"p{i}" for i in range(4000)], "text": ["fire and smoke"] * 4000})


def test_a_post_with_a_split_term_goes_to_one_of_its_versions_by_its_id(tmp_path: Path) -> None:
    router = split_router(fire=[7, 2, 11, 0], rain=[5])
    routes = router.route(SENT)
    assert routes.sizes().tolist() == [1] * 4000
    counts = np.bincount(routes.pairs()[1], minlength=16)
    assert np.flatnonzero(counts).tolist() == [0, 2, 7, 11] and counts[counts > 0].min() > 900
    router.save(tmp_path / "router")
    order = np.random.default_rng(1).permutation(4000)
    again = Router.open(tmp_path / "router").route(SENT.take(pa.array(order)))
    assert np.array_equal(again.words, routes.words[order])  # whoever sends it, and whatever is beside it


def test_a_post_takes_versions_at_the_same_part_of_all_split_terms() -> None:
    routes = split_router(fire=[0, 1], smoke=[2, 3, 4, 5]).route(SENT)
    both, counts = np.unique(routes.words, return_counts=True)
    assert both.tolist() == [0b101, 0b1001, 0b10010, 0b100010] and counts.min() > 900


def test_a_router_that_is_extended_by_split_terms_sends_as_one_that_had_them(tmp_path: Path) -> None:
    whole = split_router(fire=[4, 9], rain=[5], smoke=[1, 3, 12])
    first, second = split_router(rain=[5]), split_router(smoke=[1, 3, 12], rain=[5], fire=[4, 9])
    first.extend(second)
    assert np.array_equal(first.route(SENT).words, whole.route(SENT).words)
    first.save(tmp_path / "router")
    assert np.array_equal(Router.open(tmp_path / "router").route(SENT).words, whole.route(SENT).words)
    with pytest.raises(DataError, match="another mapping"):
        split_router(fire=[4]).extend(split_router(fire=[4, 9]))
    with pytest.raises(DataError, match="another mapping"):
        split_router(fire=[9, 4]).extend(split_router(fire=[4, 9]))


def test_what_is_expected_of_a_term_are_the_shares_of_posts_that_have_the_other_words(tmp_path: Path) -> None:
    texts = ["fire smoke"] * 2 + ["fire house"] * 3 + ["rain"] * 5
    posts = pa.table({"id": [str(row) for row in range(10)], "text": texts})
    share = {"fire": 5.5 / 11, "smoke": 2.5 / 11, "hous": 3.5 / 11}
    sample = Sample(ENGLISH, posts)
    asked = pa.table({"id": ["a", "b"], "query": ["fire smoke", "smoke"]})
    later = pa.table({"id": ["c", "d", "e"], "query": ["house fire smoke", "house", "likes:>3 fire"]})
    router, newer = (place(table, Mapping.hashed(16), sample).router for table in (asked, later))

    def expected(router: Router) -> dict[str, float]:
        return dict(zip(router.terms.term_names().to_pylist()[1:], router.expected.tolist()[1:], strict=True))

    first, second = expected(router), expected(newer)
    assert first == pytest.approx({"smoke": share["fire"] + 1})
    assert second["smoke"] == pytest.approx(share["fire"] * share["hous"]) and second["hous"] == pytest.approx(1)
    router.save(tmp_path / "first")
    newer.save(tmp_path / "second")
    router.extend(newer)
    both = {name: first.get(name, 0) + second.get(name, 0) for name in {*first, *second}}
    assert expected(router) == pytest.approx(both)
    assert expected(Router.open(tmp_path / "first", tmp_path / "second")) == pytest.approx(both)
    with pytest.raises(DataError, match="give all"):
        router.expect(np.ones(1))
