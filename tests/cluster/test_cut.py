"""Does shedding only ever lose matches, the same ones whenever it is done, and does it know how many?"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples, thorough_but
from tests.spark import inprocess
from tests.spark.inprocess import Found
from tidings.analysis import ENGLISH
from tidings.cluster.cut import Cut
from tidings.cluster.journal import Pin, Report
from tidings.cluster.releases import Plan, Release, Releases
from tidings.partitioning import Mapping, Owners
from tidings.registry.validation import check_subscriptions
from tidings.shedding import PER_POST, POLICIES, Levels
from tidings.spark.batches import reported
from tidings.workloads import Posts, tweet_based

POSTS = Posts(seed=3, vocabulary=2200).table(600).select(["id", "ts", "text"])
LAYOUTS = ("whole", "hashed", "split")
ALL_SPARED = math.nextafter(1.0, 0.0)


def asked() -> pa.Table:
    """Queries of one to three words, and as many that have an alternative, so that some have several homes."""
    table = tweet_based(POSTS["text"], 250, 1, ENGLISH, words=(1, 3))
    queries = table["query"].to_pylist()
    both = [f"({first}) OR ({second})" for first, second in zip(queries, queries[7:] + queries[:7], strict=True)]
    ids = [*table["id"].to_pylist(), *(f"either{i}" for i in range(len(both)))]
    return check_subscriptions(pa.table({"id": ids, "query": [*queries, *both]}), ENGLISH).accepted


def mapping(layout: str) -> Mapping | None:
    """Of a split one, every third word has two or three owners."""
    if layout == "whole":
        return None
    if layout == "hashed":
        return Mapping.hashed(8)
    words = sorted({word for text in POSTS["text"].to_pylist() for word in ENGLISH.words(text)})
    counts = [1 + (place % 3 == 0) + (place % 9 == 0) for place in range(len(words))]
    rng = np.random.default_rng(4)
    owners = np.concatenate([rng.permutation(9)[:count] for count in counts]).astype(np.int32)
    return Mapping.learned(pa.array(words), Owners.of_counts(counts, owners), 9)


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Release]:
    def made(layout: str) -> Release:
        folder: Path = tmp_path_factory.mktemp(layout)
        return Releases(folder, plan=Plan("replicated")).compiled(asked(), mapping(layout))

    return {layout: made(layout) for layout in LAYOUTS}


@pytest.fixture(scope="module")
def unshed(releases: dict[str, Release]) -> dict[str, set[tuple[str, str]]]:
    found = {layout: inprocess.found(POSTS, release).pairs for layout, release in releases.items()}
    assert sorted(found["whole"]) == sorted(found["hashed"]) == sorted(found["split"])
    return {layout: set(pairs) for layout, pairs in found.items()}


def cut_of(level: int, policy: str, spared: float = 0.0, floor: int | None = None, chance: float = 1.0) -> Cut:
    return replace(Cut.of(level, Levels(), policy, spared), floor=floor, chance=chance)


def floor_of(layout: str, policy: str) -> int:
    """A floor that half of the copies or so have: a grade counts subscriptions, or matches that are expected."""
    return 34 if policy == "threshold" and layout != "whole" else 21


def report_of(found: Found, release: Release, cut: Cut) -> Report:
    pin = Pin(0, 0, release.layout, release.matchers, datetime(2026, 1, 1, tzinfo=UTC), release.mapping, cut)
    return reported(pin, found.notes, ms=1.0)


@given(
    layout=st.sampled_from(LAYOUTS),
    policy=st.sampled_from(POLICIES),
    level=st.integers(1, Levels().top),
    spared=st.sampled_from([0.0, 0.1, 0.5]),
    floor=st.one_of(st.none(), st.integers(0, 40)),
    chance=st.floats(0, 1),
    pieces=st.sampled_from([40, 111, 600]),
)
@examples(20)
def test_shedding_only_loses_and_the_same_in_whatever_pieces_a_batch_comes(  # noqa: PLR0917  # drawn by hypothesis
    releases: dict[str, Release],
    unshed: dict[str, set[tuple[str, str]]],
    layout: str,
    policy: str,
    level: int,
    spared: float,
    floor: int | None,
    chance: float,
    pieces: int,
) -> None:
    release, cut = releases[layout], cut_of(level, policy, spared, floor, chance)
    found = inprocess.found(POSTS, release, cut=cut)
    assert len(found.pairs) == len(set(found.pairs)) and set(found.pairs) <= unshed[layout]
    again = inprocess.found(POSTS.take(pa.array(range(599, -1, -1))), release, batch_rows=pieces, cut=cut)
    assert sorted(again.pairs) == sorted(found.pairs)
    first, second = report_of(found, release, cut), report_of(again, release, cut)
    assert first.lost == pytest.approx(second.lost)
    assert replace(first, loads=(), lost=0.0) == replace(second, loads=(), lost=0.0)
    assert first.posts == 600 and first.posts_dropped <= first.posts_cut <= first.copies_shed + release.matchers
    assert first.copies_shed or set(found.pairs) == unshed[layout]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("policy", POLICIES)
def test_what_posts_find_that_are_spared_is_what_is_lost_if_they_are_not(
    layout: str, policy: str, releases: dict[str, Release], unshed: dict[str, set[tuple[str, str]]]
) -> None:
    floor = floor_of(layout, policy)
    for level in (5, 8, 10):
        shed = inprocess.found(POSTS, releases[layout], cut=cut_of(level, policy, 0.0, floor, chance=0.5))
        spared = inprocess.found(POSTS, releases[layout], cut=cut_of(level, policy, ALL_SPARED, floor, chance=0.5))
        assert sorted(spared.pairs) == sorted(unshed[layout])
        lost = len(unshed[layout]) - len(shed.pairs)
        assert sum(tally.sampled for tally in spared.notes.tallies) == lost
        assert lost > 0 or level < 8
        copies = sum(copies for note in shed.notes.shed for _, copies in note.copies)
        own = sum(note.spared for note in spared.notes.shed)
        assert own == copies if level <= 8 else own == pytest.approx(copies, rel=0.1)  # of those not seen, an estimate
        assert not any(note.spared for note in shed.notes.shed)


@dataclass(frozen=True, slots=True)
class Minutes:
    """Posts of some minutes, and how many matches they have."""

    posts: pa.Table
    matches: int


@pytest.fixture(scope="module")
def minutes(releases: dict[str, Release]) -> Minutes:
    posts = Posts(seed=4, vocabulary=2200).table(8_000).select(POSTS.column_names)
    counts = {len(inprocess.found(posts, release).pairs) for release in releases.values()}
    assert len(counts) == 1
    return Minutes(posts, counts.pop())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("level", thorough_but([8, 10], 10))
def test_the_estimate_of_lost_matches_is_near_the_truth(
    layout: str, policy: str, level: int, releases: dict[str, Release], minutes: Minutes
) -> None:
    """Of few posts many have to be spared for that; of those of some minutes a fiftieth is enough."""
    release = releases[layout]
    cut = cut_of(level, policy, spared=0.3, floor=floor_of(layout, policy), chance=0.5)
    found = inprocess.found(minutes.posts, release, cut=cut)
    report = report_of(found, release, cut)
    lost = minutes.matches - len(found.pairs)
    assert report.level == level and report.lost == pytest.approx(lost, rel=0.2) and lost > 500
    assert report.lost == pytest.approx(sum(load.lost for load in report.loads), abs=0.1)


def test_the_more_is_asked_about_a_post_the_longer_it_is_kept(releases: dict[str, Release]) -> None:
    any_post = cut_of(6, "subscription")
    grades = dict(inprocess.found(POSTS, releases["whole"], cut=any_post).notes.shed[0].grades)
    assert sum(grades.values()) == 600 and len(grades) > 5
    cut = any_post.at(grades, "replicated")
    best, some = (inprocess.found(POSTS, releases["whole"], cut=own) for own in (cut, cut_of(6, "random")))
    kept = 600 - sum(note.posts_dropped for note in best.notes.shed)
    assert kept == pytest.approx(600 * any_post.fraction, rel=0.1)
    assert len(best.pairs) > 1.2 * len(some.pairs)


def test_consensus_grades_a_post_by_the_words_that_somebody_asks_about(tmp_path: Path) -> None:
    asked_for = check_subscriptions(pa.table({"id": ["s", "t"], "query": ["fire", "smoke"]}), ENGLISH).accepted
    release, grades = Releases(tmp_path, plan=Plan("replicated")).compiled(asked_for), []
    for text in ("rain", "a fire", "fire and smoke"):
        post = pa.table({"id": ["p"], "text": [text]})
        found = inprocess.found(post, release, cut=cut_of(3, "consensus", floor=0))
        grades.append(max(dict(found.notes.shed[0].grades)))
    assert 0 == grades[0] < grades[1] < grades[2]


def test_subscription_keeps_more_matches_than_chance(releases: dict[str, Release]) -> None:
    kept = {policy: len(inprocess.found(POSTS, releases["hashed"], cut=cut_of(8, policy)).pairs) for policy in PER_POST}
    assert kept["subscription"] > 1.2 * kept["random"]


def test_a_threshold_keeps_its_fraction_of_the_copies_and_more_matches_than_a_limit(
    releases: dict[str, Release],
) -> None:
    first = cut_of(5, "threshold")
    unknown = inprocess.found(POSTS, releases["hashed"], cut=first)
    by_limit = inprocess.found(POSTS, releases["hashed"], cut=cut_of(5, "subscription"))
    assert sorted(unknown.pairs) == sorted(by_limit.pairs)  # while no floor is known
    grades = Counter[int]()
    for note in unknown.notes.shed:
        grades.update(dict(note.grades))
    copies = grades.total()
    left = copies - sum(shed for note in by_limit.notes.shed for _, shed in note.copies)
    cut = replace(first, fraction=left / copies).at(grades, "partitioned")
    found = inprocess.found(POSTS, releases["hashed"], cut=cut)
    assert copies - sum(shed for note in found.notes.shed for _, shed in note.copies) == pytest.approx(left, rel=0.03)
    assert len(found.pairs) > len(by_limit.pairs)
    assert first.at({}, "partitioned") == first == cut_of(5, "threshold").at({}, "replicated")
    assert cut_of(5, "consensus").at(grades, "partitioned").floor is None


@pytest.mark.parametrize("layout", LAYOUTS)
def test_beyond_the_eighth_level_only_a_part_of_the_posts_is_looked_at(
    layout: str, releases: dict[str, Release], unshed: dict[str, set[tuple[str, str]]]
) -> None:
    report, before = None, set[tuple[str, str]]()
    for level in (11, 10, 9, 8):
        cut = cut_of(level, "subscription", floor=20)
        found = inprocess.found(POSTS, releases[layout], cut=cut)
        assert before <= set(found.pairs) < unshed[layout]
        report, before = report_of(found, releases[layout], cut), set(found.pairs)
        assert len({post for post, _ in found.pairs}) <= 600 * cut.looked_at * 1.2
        assert report.posts_dropped >= 600 * (1 - cut.looked_at) * 0.8


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("policy", ["threshold", "random"])
def test_where_nothing_is_left_out_all_is_found_and_graded(
    layout: str, policy: str, releases: dict[str, Release], unshed: dict[str, set[tuple[str, str]]]
) -> None:
    cut = Cut.nothing(policy)
    found = inprocess.found(POSTS, releases[layout], cut=cut)
    assert set(found.pairs) == unshed[layout]
    report = report_of(found, releases[layout], cut)
    assert (report.level, report.posts_cut, report.copies_shed, report.lost) == (0, 0, 0, 0)
    assert bool(found.notes.shed[0].grades) == (policy == "threshold")
