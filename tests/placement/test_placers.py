"""What every placer has to do, and how well each does it."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tidings.analysis import ENGLISH
from tidings.cluster import burdens_of, place
from tidings.model import DataError
from tidings.partitioning import Mapping, Owners
from tidings.placement import RAREST, Anycast, Lasp, Line, Placer, lasp
from tidings.placement.choices import Choices
from tidings.placement.conjunctions import conjunctions_of
from tidings.terms.sample import Sample
from tidings.workloads import Posts, tweet_based

PLACERS: dict[str, Callable[[int], Placer]] = {
    "rarest": lambda matchers: RAREST,
    "anycast": lambda matchers: Anycast(seed=1),
    "lasp": Lasp,
    "lasp of a fitted cost": lambda matchers: Lasp(matchers, Line(0.25, 4.0)),
}
NAMES = [letter + "zz" for letter in "abcdefghij"]
POSTS = Posts(seed=5, vocabulary=2200).table(400)
ASKED = tweet_based(POSTS["text"], 300, 1, ENGLISH)


@pytest.fixture(params=sorted(PLACERS))
def make(request: pytest.FixtureRequest) -> Callable[[int], Placer]:
    return PLACERS[request.param]


def choices_of(asked: pa.Table, mapping: Mapping) -> Choices:
    return Choices.of(asked["id"], conjunctions_of(asked["query"], ENGLISH, Sample(ENGLISH, POSTS)), mapping)


def table(*queries: str) -> pa.Table:
    ids = pa.array([f"s{i}" for i in range(len(queries))], pa.large_string())
    return pa.table({"id": pa.chunked_array([ids]), "query": pa.chunked_array([pa.array(queries, pa.large_string())])})


ENOUGH = (
    "fire",
    "fire smoke",
    "smoke OR rain",
    "(rain OR flood) smoke",
    "fire -rain",
    "topic:news",
    "fire OR topic:news",
)
SPLIT = Mapping.learned(
    pa.array(["fire", "smoke", "rain"], pa.large_string()),
    Owners.of_counts([3, 1, 1], np.array([0, 1, 2, 3, 4], np.int32)),
    5,
)
MIXED = table("fire OR (smoke rain) OR topic:news", '"white house" price:>3', "bounding_box:[0 0 1 1]", "fire -smoke")


@pytest.mark.parametrize("matchers", [1, 7, 200])
def test_a_conjunction_with_words_is_filed_under_one_of_them_or_its_guard(
    make: Callable[[int], Placer], matchers: int
) -> None:
    for asked in (ASKED, MIXED, table()):
        choices = choices_of(asked, Mapping.hashed(matchers))
        chosen = make(matchers).choose(choices)
        assert chosen.dtype == np.int32 and len(chosen) == len(choices.conjunctions)
        for c, term in enumerate(chosen.tolist()):
            assert term in choices.eligible.row(c) or term == -1
            assert term == -1 or len(choices.eligible.row(c)) > 0


@pytest.mark.parametrize("matchers", [1, 7])
def test_lasp_leaves_to_its_guards_what_has_no_word_and_nothing_else(matchers: int) -> None:
    for asked in (MIXED, MIXED.take(pa.array([2, 0, 3, 1])), MIXED.slice(1)):
        choices = choices_of(asked, Mapping.hashed(matchers))
        chosen = Lasp(matchers).choose(choices).tolist()
        assert [term == -1 for term in chosen] == (np.diff(choices.eligible.offsets) == 0).tolist()
        assert -1 in chosen and all(term in choices.eligible.row(c) for c, term in enumerate(chosen) if term >= 0)


def test_the_same_placer_chooses_the_same_and_can_be_pickled(make: Callable[[int], Placer]) -> None:
    choices = choices_of(ASKED, Mapping.hashed(16))
    first, second, third = make(16), make(16), pickle.loads(pickle.dumps(make(16)))
    assert first.choose(choices).tolist() == second.choose(choices).tolist() == third.choose(choices).tolist()


def test_one_matcher_has_everything(make: Callable[[int], Placer]) -> None:
    placement = place(ASKED, Mapping.hashed(1), placer=make(1))
    assert placement.homes.sizes().tolist() == [1] * 300


def test_eligible_words_are_the_rarest_of_each_owner() -> None:
    choices = choices_of(ASKED, Mapping.hashed(7))
    words, owners = choices.conjunctions.words, choices.owners
    for c in range(len(words)):
        owner_of = [owners.of(word)[0] for word in words.row(c)]
        firsts = [owner_of.index(matcher) for matcher in dict.fromkeys(owner_of)]
        assert choices.eligible.row(c).tolist() == words.row(c)[firsts].tolist()


def test_chance_falls_evenly_and_by_id_and_seed_alone() -> None:
    asked = table(*["fire smoke rain"] * 3000)
    mapping = Mapping.hashed(64)
    choices = choices_of(asked, mapping)
    chosen = Anycast(seed=3).choose(choices)
    _, counts = np.unique(chosen, return_counts=True)
    assert len(counts) == 3 and counts.min() > 900
    some = np.random.default_rng(2).permutation(3000)[:100]
    homes = place(asked, mapping, placer=Anycast(seed=3)).homes.words
    alone = table("rain", "smoke", "fire")  # so that words are numbered otherwise
    mixed = pa.concat_tables(
        [alone.set_column(0, "id", pa.array(["x", "y", "z"], pa.large_string())), asked.take(pa.array(some))]
    )
    assert np.array_equal(place(mixed, mapping, placer=Anycast(seed=3)).homes.words[3:], homes[some])
    assert not np.array_equal(place(asked, mapping, placer=Anycast(seed=4)).homes.words, homes)


@examples(80)
@given(
    asked=st.lists(st.sets(st.sampled_from(NAMES), min_size=1, max_size=5), max_size=12),
    owners=st.lists(st.integers(0, 4), min_size=len(NAMES), max_size=len(NAMES)),
    line=st.sampled_from([Line(1.0), Line(2.0, 1.0), Line(0.125, 16.0)]),
)
def test_lasp_takes_the_matcher_of_the_printed_algorithm(asked: list[set[str]], owners: list[int], line: Line) -> None:
    single = Owners.single(np.array(owners, dtype=np.int32))
    mapping, owner = (
        Mapping.learned(pa.array(NAMES, pa.large_string()), single, 5),
        dict(zip(NAMES, owners, strict=True)),
    )
    placer = Lasp(5, line)
    placement = place(table(*(" ".join(own) for own in asked)), mapping, placer=placer)
    assert placement.homes.sizes().tolist() == [1] * len(asked)
    held: list[set[str]] = [set() for _ in range(5)]
    for words, got in zip(asked, placement.homes.pairs()[1].tolist(), strict=True):
        eligible = {owner[word] for word in words}
        losses = {i: loss(words, i, held, line) for i in eligible}
        assert losses[got] <= min(losses.values()) + 1e-9
        if max(losses.values()) == 0:
            assert got == min(eligible, key=lambda i: (len(words - held[i]), len(held[i]), i))
        held[got] |= words
    assert placer.sizes.tolist() == [len(own) for own in held]


def loss(words: set[str], i: int, held: list[set[str]], f: Line) -> float:
    """-u of [S3TM] Alg. 2."""
    loads = f.intercept + f.slope * np.array([len(own | words) if j == i else len(own) for j, own in enumerate(held)])
    return float((f.intercept + f.slope * len(words - held[i])) * np.std(loads) / np.mean(loads))


def test_lasp_goes_on_from_what_it_placed_before() -> None:
    whole, parts = Lasp(16), Lasp(16)
    at_once = place(ASKED, Mapping.hashed(16), Sample(ENGLISH, POSTS), placer=whole).homes.words
    pieces = [
        place(ASKED.slice(first, 100), Mapping.hashed(16), Sample(ENGLISH, POSTS), placer=parts).homes.words
        for first in (0, 100, 200)
    ]
    assert np.array_equal(np.concatenate(pieces), at_once) and parts.sizes.tolist() == whole.sizes.tolist()


@examples(60)
@given(
    steps=st.lists(
        st.tuples(st.lists(st.sampled_from(ENOUGH), max_size=6), st.lists(st.integers(0, 30), max_size=6)), max_size=5
    ),
    mapping=st.sampled_from([Mapping.hashed(5), SPLIT]),
)
def test_lasp_that_forgets_is_as_if_what_is_gone_had_never_been(
    steps: list[tuple[list[str], list[int]]], mapping: Mapping
) -> None:
    placer, live = Lasp(5), dict[str, tuple[str, list[int]]]()
    for step, (queries, gone) in enumerate(steps):
        for name in {f"s{number}" for number in gone} & live.keys():
            query, homes = live.pop(name)
            for matcher in homes:
                placer.forget(matcher, pa.chunked_array([[query]], pa.large_string()), ENGLISH)
        names = [f"s{10 * step + number}" for number in range(len(queries))]
        placement = place(pa.table({"id": names, "query": queries}), mapping, placer=placer)
        for name, query, row in zip(names, queries, range(len(queries)), strict=True):
            live[name] = query, placement.homes.taken(np.array([row])).pairs()[1].tolist()
    fresh = Lasp(5)
    for query, homes in live.values():
        for matcher in homes:
            fresh.hold(matcher, pa.chunked_array([[query]], pa.large_string()), ENGLISH)
    assert [placer.held(matcher) for matcher in range(5)] == [fresh.held(matcher) for matcher in range(5)]
    assert placer.sizes.tolist() == fresh.sizes.tolist()
    choices = choices_of(ASKED, Mapping.hashed(5))
    assert placer.choose(choices).tolist() == fresh.choose(choices).tolist()


def test_lasp_does_not_remember_words_that_nobody_asks_for_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lasp, "_FEW", 10)
    placer = Lasp(3)
    for number in range(200):
        query = pa.chunked_array([[f"word{number} other{number}"]], pa.large_string())
        placer.hold(1, query, ENGLISH)
        if number >= 5:
            gone = pa.chunked_array([[f"word{number - 5} other{number - 5}"]], pa.large_string())
            placer.forget(1, gone, ENGLISH)
    assert placer.sizes.tolist() == [0, 10, 0] and len(placer.held(1)) == 10
    assert len(placer._words) < 40


def test_lasp_counts_a_subscription_at_each_of_its_homes() -> None:
    names = pa.array(["fire", "smoke", "rain", "flood"], pa.large_string())
    mapping = Mapping.learned(names, Owners.of_counts([3, 1, 1, 1], np.array([0, 1, 2, 3, 4, 5], np.int32)), 6)
    placer = Lasp(6)
    placement = place(table("fire", "smoke OR rain", "(rain OR flood) smoke"), mapping, placer=placer)
    sets, matchers = placement.homes.pairs()
    assert list(zip(sets.tolist(), matchers.tolist(), strict=True))[:5] == [(0, 0), (0, 1), (0, 2), (1, 3), (1, 4)]
    third = matchers[sets == 2].tolist()
    assert third == [3]  # both alternatives meet where smoke is
    assert placer.sizes.tolist() == [1, 1, 1, 3, 2, 0]


def test_lasp_groups_words_and_beats_chance() -> None:
    posts = Posts(seed=6, vocabulary=2200).table(4000)
    asked = tweet_based(posts["text"], 3000, 1, ENGLISH)
    placers = Anycast(1), Lasp(16), Lasp(16, Line(1.0))
    by_chance, by_load, together = (
        burdens_of(place(asked, Mapping.hashed(16), Sample(ENGLISH, posts), placer=placer), posts.slice(0, 50)).words
        for placer in placers
    )
    assert by_load.max() < 0.9 * by_chance.max() and by_load.sum() < 0.97 * by_chance.sum()
    assert together.sum() < 0.9 * by_chance.sum()


def test_lasp_is_for_so_many_matchers_as_it_was_made_for() -> None:
    with pytest.raises(DataError, match="for 3 matchers, and there are 4"):
        place(ASKED, Mapping.hashed(4), placer=Lasp(3))
    with pytest.raises(DataError, match="fit it to more data"):
        Line(0.0)
