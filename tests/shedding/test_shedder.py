from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tidings.analysis.vocabulary import TermSets
from tidings.model import DataError
from tidings.partitioning import MatcherSets
from tidings.shedding import PER_POST, BySubscriptions, Consensus, Random, Routed, Shed, shedder
from tidings.shedding.coins import FloatArray

TERMS = 12
LIMITS = st.one_of(st.sampled_from([0.0, 1.0, 2.0, 300.0, math.inf]), st.floats(0, 8))


def routed_of(posts: list[list[tuple[int, int]]], matchers: int, first_key: int = 0) -> Routed:
    """Posts as lists of (term, matcher), with the keys first_key, first_key + 1, …"""
    offsets = np.concatenate([[0], np.cumsum([len(post) for post in posts])]).astype(np.int64)
    pairs = np.array([pair for post in posts for pair in post], dtype=np.int32).reshape(-1, 2)
    keys = np.arange(first_key, first_key + len(posts), dtype=np.uint64)
    return Routed(TermSets(offsets, pairs[:, 0].copy()), pairs[:, 1].copy(), keys, matchers)


def lists(sets: MatcherSets) -> list[list[int]]:
    rows, matchers = sets.pairs()
    return [matchers[rows == row].tolist() for row in range(len(sets))]


@st.composite
def routes(draw: st.DrawFn) -> Routed:
    matchers = draw(st.sampled_from([1, 3, 6, 64, 65, 200]))
    owned = st.tuples(st.integers(0, TERMS - 1), st.integers(0, matchers - 1))
    nobodys = st.tuples(st.sampled_from([-1, 4]), st.just(-1))
    posts = draw(st.lists(st.lists(st.one_of(owned, owned, nobodys), max_size=9), max_size=5))
    return routed_of(posts, matchers, draw(st.integers(0, 1 << 60)))


FILED = np.array([0, 1, 1, 2, 2, 5, 5, 9, 0, 3, 3, 40])
RATES: FloatArray = np.array([0.5, 0.25, 0, 1, 2, 0, 0.125, 3, 1, 1, 0, 8])


def weights(policy: str, routed: Routed) -> list[dict[int, int]]:
    """Of each post, what each of its matchers weighs, counted one by one."""
    found: list[dict[int, int]] = []
    for row in range(len(routed)):
        span = slice(routed.terms.offsets[row], routed.terms.offsets[row + 1])
        own: dict[int, int] = {}
        for term, matcher in zip(routed.terms.ids[span].tolist(), routed.owners[span].tolist(), strict=True):
            if matcher >= 0:
                own[matcher] = own.get(matcher, 0) + (int(FILED[term]) if policy == "subscription" else 1)
        found.append(own)
    return found


@pytest.mark.parametrize("policy", PER_POST)
@examples(60)
@given(routed=routes(), limit=LIMITS, seed=st.integers(0, 3))
def test_what_is_kept_is_part_of_the_route_and_the_counts_add_up(
    policy: str, routed: Routed, limit: float, seed: int
) -> None:
    result = shedder(policy, FILED, seed).shed(routed, limit, RATES)
    all_matchers = [set(own) for own in weights(policy, routed)]
    kept = [set(own) for own in lists(result.kept)]
    assert lists(routed.route()) == [sorted(own) for own in all_matchers]
    assert all(some <= all_ for some, all_ in zip(kept, all_matchers, strict=True))
    spared = [(row, matcher) for row, own in enumerate(all_matchers) for matcher in own - kept[row]]
    assert result.copies.tolist() == np.bincount([m for _, m in spared], minlength=routed.matchers).tolist()
    assert result.posts_cut == len({row for row, _ in spared})
    assert result.posts_dropped == len({row for row, _ in spared if not kept[row]})
    rows = np.repeat(np.arange(len(routed)), np.diff(routed.terms.offsets)).tolist()
    lost = [0.0] * routed.matchers
    for row, term, matcher in zip(rows, routed.terms.ids.tolist(), routed.owners.tolist(), strict=True):
        if (row, matcher) in spared:
            lost[matcher] += RATES[term]
    assert result.lost.tolist() == pytest.approx(lost)


@pytest.mark.parametrize("policy", ["subscription", "consensus"])
@examples(60)
@given(routed=routes(), limit=LIMITS)
def test_a_post_keeps_so_many_matchers_and_none_that_weighs_less_than_one_it_loses(
    policy: str, routed: Routed, limit: float
) -> None:
    result = shedder(policy, FILED).shed(routed, limit, RATES)
    for own, kept in zip(weights(policy, routed), lists(result.kept), strict=True):
        if len(own) <= limit:
            assert len(kept) == len(own)
        else:
            assert len(kept) in {math.floor(limit), math.ceil(limit)}
            lost = [weight for matcher, weight in own.items() if matcher not in kept]
            assert all(own[matcher] >= max(lost, default=0) for matcher in kept)


@pytest.mark.parametrize("policy", PER_POST)
@examples(60)
@given(routed=routes(), limits=st.tuples(LIMITS, LIMITS))
def test_a_lower_limit_keeps_a_part_of_what_a_higher_one_keeps(
    policy: str, routed: Routed, limits: tuple[float, float]
) -> None:
    low, high = (shedder(policy, FILED).shed(routed, limit, RATES).kept.words for limit in sorted(limits))
    assert np.array_equal(low & high, low)


@pytest.mark.parametrize("policy", PER_POST)
@examples(40)
@given(routed=routes(), limit=LIMITS, data=st.data())
def test_what_is_decided_of_a_post_does_not_depend_on_its_neighbours(
    policy: str, routed: Routed, limit: float, data: st.DataObject
) -> None:
    together = shedder(policy, FILED).shed(routed, limit, RATES).kept.words
    order = data.draw(st.permutations(range(len(routed))))
    for row in order[:3]:
        span = slice(routed.terms.offsets[row], routed.terms.offsets[row + 1])
        terms = TermSets(np.array([0, span.stop - span.start]), routed.terms.ids[span])
        alone = Routed(terms, routed.owners[span], routed.keys[row : row + 1], routed.matchers)
        assert np.array_equal(shedder(policy, FILED).shed(alone, limit, RATES).kept.words[0], together[row])


@pytest.mark.parametrize("policy", PER_POST)
@examples(40)
@given(routed=routes(), more=st.floats(0, 5))
def test_a_limit_that_no_route_exceeds_changes_nothing(policy: str, routed: Routed, more: float) -> None:
    largest = float(routed.route().sizes().max(initial=0))
    for limit in (largest + more, math.inf):
        result = shedder(policy, FILED).shed(routed, limit, RATES)
        assert np.array_equal(result.kept.words, routed.route().words)
        assert (result.posts_cut, result.copies.sum(), result.lost.sum()) == (0, 0, 0)


# One post: terms 0 and 1 at matcher 2, term 2 at matcher 0, term 3 at matcher 7, a word that nobody asks for.
POST = [(0, 2), (2, 0), (-1, -1), (1, 2), (3, 7)]


def by_hand(policy: str, limit: float) -> Shed:
    filed, rates = np.array([1, 1, 10, 5]), np.array([0.1, 0.2, 0.4, 0.8])
    return shedder(policy, filed).shed(routed_of([POST], 8, first_key=2), limit, rates)


def test_consensus_by_hand() -> None:
    one, two = by_hand("consensus", 1), by_hand("consensus", 2)
    assert lists(one.kept) == [[2]]  # two of the words; the others have one each
    assert one.copies.tolist() == [1, 0, 0, 0, 0, 0, 0, 1] and one.lost[[0, 7]].tolist() == [0.4, 0.8]
    assert lists(two.kept) in ([[0, 2]], [[2, 7]]) and (two.posts_cut, two.posts_dropped) == (1, 0)


def test_subscription_by_hand() -> None:
    assert lists(by_hand("subscription", 1).kept) == [[0]]  # ten subscriptions, against five and one and one
    assert lists(by_hand("subscription", 2).kept) == [[0, 7]]
    assert by_hand("subscription", 2).lost.tolist() == pytest.approx([0, 0, 0.3, 0, 0, 0, 0, 0])


def test_random_by_hand() -> None:
    coin = 0.591  # of key 2
    kept, dropped = by_hand("random", 3 * coin + 0.01), by_hand("random", 3 * coin - 0.01)
    assert lists(kept.kept) == [[0, 2, 7]] and kept.posts_cut == 0
    assert lists(dropped.kept) == [[]] and (dropped.posts_cut, dropped.posts_dropped) == (1, 1)
    assert dropped.copies.tolist() == [1, 0, 1, 0, 0, 0, 0, 1] and dropped.lost.sum() == pytest.approx(1.5)


def many(count: int, first_key: int = 0) -> Routed:
    return routed_of([[(0, 1), (1, 2), (2, 4), (3, 5)]] * count, 6, first_key)


@pytest.mark.parametrize("limit", [0.25, 1.5, 2.9])
@pytest.mark.parametrize("policy", PER_POST)
def test_the_fraction_of_the_limit_is_a_probability(policy: str, limit: float) -> None:
    sizes = shedder(policy, np.ones(4)).shed(many(20_000), limit, np.ones(4)).kept.sizes()
    assert sizes.mean() == pytest.approx(limit, abs=0.04)
    possible = {0, 4} if policy == "random" else {math.floor(limit), math.ceil(limit)}
    assert set(sizes.tolist()) == possible


def test_a_tie_favours_no_matcher() -> None:
    kept = Consensus().shed(many(20_000), 1, np.ones(4)).kept
    shares = [len(kept.with_matcher(matcher)) / 20_000 for matcher in (1, 2, 4, 5)]
    assert shares == pytest.approx([0.25] * 4, abs=0.02)
    odd = Consensus().shed(many(20_000), 1.5, np.ones(4)).kept.words  # the coin and the tie are apart
    more = (odd != kept.words)[:, 0]
    assert len(np.intersect1d(kept.with_matcher(1), np.flatnonzero(more))) / more.sum() == pytest.approx(0.25, abs=0.02)


def test_another_seed_drops_other_posts() -> None:
    first, second = (Random(seed).shed(many(1_000), 2, np.ones(4)).kept.sizes() > 0 for seed in (0, 1))
    assert 400 < (first != second).sum() < 600


def test_owners_by_term_become_owners_of_occurrences() -> None:
    terms = TermSets(np.array([0, 3, 3]), np.array([1, -1, 0], dtype=np.int32))
    routed = Routed.of(terms, np.array([-1, 5], dtype=np.int32), np.zeros(2, dtype=np.uint64), 6)
    assert routed.owners.tolist() == [5, -1, -1] and lists(routed.route()) == [[5], []]
    assert routed.expected(np.array([9.0, 0.5])).tolist() == [0.5, 0.0]
    nothing = TermSets(np.array([0, 1]), np.array([-1], dtype=np.int32))
    nobody = Routed.of(nothing, np.zeros(0, dtype=np.int32), np.zeros(1, dtype=np.uint64), 6)
    assert lists(Consensus().shed(nobody, 1, np.zeros(0)).kept) == [[]]


def test_what_cannot_be_used_is_told() -> None:
    with pytest.raises(DataError, match="choose one of subscription, consensus, random"):
        shedder("best", FILED)
    for limit in (-1.0, math.nan):
        for policy in PER_POST:
            with pytest.raises(DataError, match="at most so many matchers"):
                by_hand(policy, limit)
    with pytest.raises(DataError, match="for 3 terms, and a post has term 3"):
        BySubscriptions(np.ones(3)).shed(many(1), 1, np.ones(4))
    with pytest.raises(DataError, match="for 3 terms, and a post has term 3"):
        Consensus().shed(many(1), 1, np.ones(3))
