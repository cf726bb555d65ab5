"""Does what was learned for a pipeline keep its promises, and does a rule learn when it should? Without a session."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.examples import thorough_but
from tidings.analysis import Analyser
from tidings.cluster import Router, learning
from tidings.cluster.journal import MatcherReport, Pin, Report
from tidings.cluster.learner import BackgroundLearner
from tidings.cluster.learning import FEWEST_POSTS, HELD_OUT, Learn, MappingLearner, _figures
from tidings.cluster.mappings import Figures
from tidings.cluster.pipeline_folder import PipelineFolder
from tidings.cluster.releases import Plan, Release, Releases, newest_release
from tidings.cluster.seen import Seen
from tidings.model import DataError
from tidings.model.values import utc_now
from tidings.partitioning import NamedParcels
from tidings.partitioning.learning import Quality
from tidings.partitioning.mapping import hash_names
from tidings.registry import Registry
from tidings.workloads import Posts, tweet_based

POSTS = Posts(seed=3, vocabulary=2_200, words=(4, 9))
PLAN = Plan("partitioned", 8)


def release_of(home: PipelineFolder, registry: Registry, plan: Plan = PLAN) -> Release:
    return Releases(home.releases, plan=plan, mappings=home.mappings).release(registry, registry.version)


@pytest.fixture
def home(tmp_path: Path) -> PipelineFolder:
    """That of a pipeline on the hash, which has kept some posts."""
    home, registry, posts = PipelineFolder(tmp_path / "state"), Registry(tmp_path / "registry"), POSTS.table(4_000)
    registry.add(tweet_based(posts["text"], 1_500, 1, Analyser(), words=(1, 3)))
    release_of(home, registry)
    Seen(home.seen).put([posts.slice(0, 2_000)], 0)
    Seen(home.seen).put([posts.slice(2_000)], 1)
    return home


@pytest.fixture
def registry(home: PipelineFolder) -> Registry:
    return Registry(home.path.parent / "registry")


def routed(home: PipelineFolder, release: Release) -> Quality:
    """What the router of a release does to the posts that are held out."""
    posts = Seen(home.seen).table()
    assert posts is not None
    posts = posts.take(list(range(0, posts.num_rows, HELD_OUT)))
    routes = Router.open(*(home.releases / name for name in release.routers)).route(posts)
    return Quality(len(routes), pa.array(routes.pairs()[1]).value_counts().field("counts").to_numpy())


@pytest.mark.parametrize("rule", [Learn(), Learn("salb"), Learn("salb", split=True)], ids=str)
@pytest.mark.parametrize("matchers", thorough_but([8, 13], 8))
def test_what_a_page_promises_is_what_the_router_does_then(
    home: PipelineFolder, registry: Registry, rule: Learn, matchers: int
) -> None:
    mapping_learner = MappingLearner(home, rule, registry)
    mapping, page = mapping_learner.learn(matchers)
    if matchers == PLAN.matchers:
        before = routed(home, release_of(home, registry))
        assert page.before.spread == pytest.approx(before.spread, abs=1e-4)
        assert page.before.imbalance == pytest.approx(before.imbalance, abs=1e-4)
    home.mappings.put(mapping, page)
    release = release_of(home, registry)
    after = routed(home, release)
    assert (release.mapping, release.matchers, page.posts) == ("learned-1", matchers, 3_200)
    assert page.after.spread == pytest.approx(after.spread, abs=1e-4)
    assert page.after.imbalance == pytest.approx(after.imbalance, abs=1e-4)
    assert page.after.throughput == pytest.approx(after.throughput, abs=1e-4)
    if not rule.split:
        assert page.after.throughput > 1.05 * page.before.throughput


def test_what_is_learned_after_a_change_of_matchers_is_for_the_same_plan(
    home: PipelineFolder, registry: Registry
) -> None:
    mapping_learner = MappingLearner(home, Learn("salb"))
    home.mappings.put(*mapping_learner.learn(5))
    release_of(home, registry)
    _, page = mapping_learner.learn()
    assert (page.planned, page.matchers) == (8, 5)
    assert page.before.throughput == pytest.approx(page.after.throughput)
    assert release_of(home, registry, Plan("partitioned", 9)).mapping == "hash-9"


def test_what_cannot_be_learned_from_is_told(tmp_path: Path, home: PipelineFolder, registry: Registry) -> None:
    with pytest.raises(DataError, match="the registry has to be known"):
        MappingLearner(home, Learn(split=True)).learn()
    other = PipelineFolder(tmp_path / "other")
    with pytest.raises(DataError, match="divided between matchers"):
        MappingLearner(other).learn()
    release_of(other, registry, Plan("replicated"))
    with pytest.raises(DataError, match="divided between matchers"):
        MappingLearner(other).learn()
    few = PipelineFolder(tmp_path / "few")
    release_of(few, registry)
    with pytest.raises(DataError, match="no posts are kept"):
        MappingLearner(few).learn()
    Seen(few.seen).put([POSTS.table(50)], 0)
    with pytest.raises(DataError, match="40 posts are too few"):
        MappingLearner(few).learn()


@pytest.mark.parametrize("wrong", [{"partitioner": "best"}, {"every_s": -1}, {"batches": 0}, {"after_posts": 300_000}])
def test_a_rule_that_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(DataError):
        Learn(**wrong)  # type: ignore[arg-type]


def report(home: PipelineFolder, batch: int, mapping: str, *posts: int) -> None:
    """A batch whose matchers got so many posts."""
    home.journal.put(Pin(batch, 1, "partitioned", len(posts), utc_now(), mapping))
    loads = tuple(MatcherReport(matcher, count, 0, 0, 1.0) for matcher, count in enumerate(posts) if count)
    home.journal.close(Report(batch, 1, sum(posts), 0, 0, 1.0, loads))


def test_a_rule_learns_when_posts_were_seen_and_terms_are_still_hashed(home: PipelineFolder) -> None:
    report(home, 0, "hash-8", *[10] * 8)
    assert BackgroundLearner(MappingLearner(home, Learn())).reason(0) == ""
    assert BackgroundLearner(MappingLearner(home, Learn(after_posts=4_001))).reason(0) == ""
    learner = BackgroundLearner(MappingLearner(home, Learn("salb", after_posts=4_000)))
    assert "4,000 posts" in learner.reason(0)
    learner.look(0)
    learner.wait()
    assert home.mappings.newest(8) == "learned-1"
    assert learner.reason(0) == ""  # until a batch has it
    report(home, 1, "learned-1", *[10] * 8)
    assert learner.reason(1) == ""
    report(home, 2, "hash-9", *[10] * 9)
    assert "still hashed" in learner.reason(2)


def test_a_rule_learns_when_the_last_batches_all_were_uneven(home: PipelineFolder) -> None:
    learner = BackgroundLearner(MappingLearner(home, Learn(imbalance=1.5, batches=3)))
    for batch, posts in enumerate([(20, 10), (40, 10), (1, 9)]):
        report(home, batch, "hash-2", *posts)
        assert learner.reason(batch) == ""  # the first is even enough
    report(home, 3, "hash-2", 9, 1)
    assert "above 1.5" in learner.reason(3)
    report(home, 4, "hash-3", 9, 1, 0)
    assert learner.reason(4) == ""


def test_a_rule_learns_every_so_many_seconds(home: PipelineFolder) -> None:
    report(home, 0, "hash-8", *[10] * 8)
    learner = BackgroundLearner(MappingLearner(home, Learn("salb", every_s=60)))
    assert learner.reason(0) == ""
    learner._began -= timedelta(seconds=61)
    assert "the last one is of" in learner.reason(0)


def test_what_is_no_better_is_not_put_and_what_fails_is_told(
    home: PipelineFolder, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    rule = Learn("salb", every_s=1e-9)
    home.mappings.put(*MappingLearner(home, rule).learn())
    release_of(home, Registry(home.path.parent / "registry"))
    report(home, 0, "learned-1", *[10] * 8)
    learner = BackgroundLearner(MappingLearner(home, rule))
    learner.look(0)
    learner.wait()
    assert home.mappings.newest(8) == "learned-1" and "no better than before" in caplog.text
    for file in home.seen.iterdir():
        file.write_bytes(b"")
    learner = BackgroundLearner(MappingLearner(home, rule))
    learner.look(0)
    learner.wait()
    assert "no mapping was learned" in caplog.text


def test_where_terms_are_split_a_mapping_is_learned_for_the_terms_that_route(
    home: PipelineFolder, registry: Registry
) -> None:
    mapping, page = MappingLearner(home, Learn("salb", split=True), registry).learn()
    home.mappings.put(mapping, page)
    release = release_of(home, registry)
    router = Router.open(*(home.releases / name for name in release.routers)).tidied()[0]
    routing = hash_names(router.terms.term_names())
    assert isinstance(mapping.parcels, NamedParcels)
    assert np.isin(mapping.parcels.hashes, routing).mean() > 0.9


def test_a_rule_that_has_learned_nothing_better_waits_as_long_as_after_any_other(
    home: PipelineFolder, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    mapping_learner = MappingLearner(home, Learn(every_s=3600), registry)
    learner = BackgroundLearner(mapping_learner)
    learner._began = utc_now() - timedelta(hours=2)
    home.journal.put(Pin(0, 1, "partitioned", 8, utc_now(), "hash-8"))
    assert learner.reason(0)
    mapping, page = mapping_learner.learn()
    monkeypatch.setattr(MappingLearner, "learn", lambda self: (mapping, replace(page, after=page.before)))
    learner._learn()
    assert home.mappings.newest(8) == "hash-8" and not learner.reason(0)
    again = BackgroundLearner(mapping_learner)  # another process
    again._began = utc_now() - timedelta(hours=2)
    assert not again.reason(0)
    home.mappings.note_try((utc_now() - timedelta(hours=1, minutes=1)).isoformat())
    assert learner.reason(0)


def test_figures_are_told_to_four_digits() -> None:
    figures = _figures(Quality(3, np.array([1, 2, 4])))
    assert figures == Figures(2.3333, 1.7143, 0.75)


def test_as_few_posts_as_need_be_are_learned_from(tmp_path: Path, registry: Registry) -> None:
    home = PipelineFolder(tmp_path / "few")
    release_of(home, registry)
    Seen(home.seen).put([POSTS.table(125)], 0)
    assert MappingLearner(home, Learn("salb")).learn()[1].posts == FEWEST_POSTS == 100


@pytest.mark.parametrize("error", [OSError("gone"), DataError("gone")])
def test_a_release_that_is_removed_while_it_is_read_is_looked_for_again(
    home: PipelineFolder, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    tries = 0

    def once_gone(folder: Path) -> object:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise error
        return newest_release(folder)

    monkeypatch.setattr(learning, "newest_release", once_gone)
    monkeypatch.setattr(learning, "_PAUSE_S", 0.0)
    assert MappingLearner(home, Learn("salb")).learn()[1].matchers == 8 and tries == 2


@pytest.mark.parametrize(
    ("after", "name"), [(2.0, "hash-8"), (2.01, "hash-8"), (2.05, "learned-1"), (3.0, "learned-1")]
)
def test_a_mapping_is_put_only_if_it_is_clearly_better(
    home: PipelineFolder, monkeypatch: pytest.MonkeyPatch, after: float, name: str
) -> None:
    mapping, page = MappingLearner(home, Learn("salb")).learn()
    page = replace(page, before=Figures(1.0, 1.0, 2.0), after=Figures(1.0, 1.0, after))
    monkeypatch.setattr(MappingLearner, "learn", lambda _: (mapping, page))
    BackgroundLearner(MappingLearner(home, Learn("salb")))._learn()
    assert home.mappings.newest(8) == name
