"""Does a pipeline that follows its load find what brute force finds while its parcels move?"""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession

from tests.spark import oracle
from tests.spark.adjustments import adjusts_always
from tidings.balancing import Global, Loads, Local
from tidings.cluster.following import Balance, PipelineBalancer
from tidings.cluster.journal import MatcherReport, Pin, Report
from tidings.cluster.learning import Learn
from tidings.cluster.mappings import MappingPage
from tidings.cluster.pipeline_folder import PipelineFolder
from tidings.cluster.pipeline_repartitioning import PipelineRepartitioner
from tidings.cluster.releases import Plan, Releases, newest_release
from tidings.cluster.seen import Seen
from tidings.cluster.sinks import ParquetSink
from tidings.model import DataError
from tidings.partitioning import Mapping, Move
from tidings.registry import Registry
from tidings.spark.pipeline import Pipeline
from tidings.spark.sources import posts_from_files

AT = datetime(2026, 1, 1, tzinfo=UTC)
EAGER = Balance(uneven=1.05, hits=1, pause=0)


def skewed(home: PipelineFolder, registry: Registry, batches: int = 1, *, mapping: str = "") -> str:
    """The folder of a pipeline in which matcher 0 of three has had all parcels in so many batches; its mapping."""
    releases = Releases(home.releases, plan=Plan("partitioned", 3), mappings=home.mappings)
    releases.release(registry, registry.version)
    if not mapping:
        every = [Move(parcel, 0) for parcel in range(3 * 64)]
        mapping = home.mappings.move("hash-3", every, AT.isoformat()).name
    release = releases.release(registry, registry.version)
    releases.forget_before(*release.key)
    Seen(home.seen).put([oracle.POSTS.table(300)], 0)
    for batch in range(batches):
        home.journal.put(Pin(batch, release.version, "partitioned", 3, AT, mapping))
        home.journal.close(
            Report(batch, release.version, 300, 0, 9, 1.0, (MatcherReport(0, 300, 900, 9, 1.0, compared=900),))
        )
    return mapping


def test_a_plan_is_made_of_the_router_and_the_posts_that_are_kept(tmp_path: Path, registry: Registry) -> None:
    home = PipelineFolder(tmp_path / "state")
    skewed(home, registry)
    moves = PipelineBalancer(home, EAGER).plan()
    assert moves and {to for _, to in moves} <= {1, 2}


def test_a_plan_knows_what_matchers_looked_at_in_the_batches_that_made_it_due(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[int]] = []

    def plan(_: Local, loads: Loads, mapping: Mapping) -> list[Move]:
        assert mapping.matchers == 3
        seen.append(loads.matchers.compared.tolist())
        return []

    monkeypatch.setattr(Local, "plan", plan)
    home = PipelineFolder(tmp_path / "state")
    skewed(home, registry)
    balancer = PipelineBalancer(home, EAGER)
    balancer.plan()
    balancer.look(0)
    balancer.wait()
    assert seen == [[0, 0, 0], [900, 0, 0]]


def test_it_waits_for_hits_and_a_pause_and_for_a_mapping_that_is_about_to_be_taken(
    tmp_path: Path, registry: Registry
) -> None:
    home, rule = PipelineFolder(tmp_path / "state"), Balance(hits=2, pause=1)
    mapping = skewed(home, registry, 4)
    assert [PipelineBalancer(home, rule).is_due(batch) for batch in range(4)] == [False, False, True, True]
    journal = home.journal
    journal.put(Pin(0, 1, "partitioned", 3, AT, "hash-3"))  # then the first two with this mapping are too few
    assert [PipelineBalancer(home, rule).is_due(batch) for batch in (2, 3)] == [False, True]
    home.mappings.move(mapping, [Move(0, 1)], AT.isoformat())
    assert not PipelineBalancer(home, rule).is_due(3)


def test_what_was_planned_is_asked_for_and_not_planned_again(tmp_path: Path, registry: Registry) -> None:
    home = PipelineFolder(tmp_path / "state")
    before = skewed(home, registry)
    balancer = PipelineBalancer(home, EAGER)
    balancer.look(0)
    after = home.mappings.newest(3)
    assert after != before and not balancer.is_due(0)
    mapping = home.mappings.mapping(after)
    assert mapping is not None and len(set(mapping.owner.tolist())) > 1
    balancer.look(0)
    assert home.mappings.newest(3) == after


def test_a_plan_that_fails_lets_batches_go_on(
    tmp_path: Path, registry: Registry, caplog: pytest.LogCaptureFixture
) -> None:
    home = PipelineFolder(tmp_path / "state")
    before = skewed(home, registry)
    for file in home.releases.glob("router-*"):
        file.write_bytes(b"no router")
    PipelineBalancer(home, EAGER).look(0)
    assert "no move was planned" in caplog.text and home.mappings.newest(3) == before


def test_where_all_workers_have_the_whole_index_nothing_is_due(tmp_path: Path) -> None:
    home = PipelineFolder(tmp_path / "state")
    home.journal.put(Pin(0, 1, "replicated", 1, AT, "whole"))
    assert not PipelineBalancer(home, EAGER).is_due(0) and PipelineBalancer(home, EAGER).plan() == []


@pytest.mark.parametrize("bad", ["best", 3])
def test_other_ways_to_balance_are_refused(bad: object) -> None:
    with pytest.raises(DataError, match=r"'local', .*or not at all"):
        Balance.of(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [{"scope": "all"}, {"check_s": -1.0}, {"better": 0.5}, {"few": 1.5}])
def test_rules_that_make_no_sense_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(DataError, match="choose others"):
        Balance(**bad)  # type: ignore[arg-type]


class East:
    """A pipeline of two matchers whose posts and subscriptions are in the east and in the west, and say the same."""

    def __init__(self, folder: Path, posts: int = 1000) -> None:
        self.home, self.registry = PipelineFolder(folder / "state"), Registry.create(folder / "registry")
        self.registry.add(east_and_west(100, "s"))
        Seen(self.home.seen).put([half_and_half(posts)], 0)
        self.batch = -1
        self.run()

    def run(self) -> str:
        """A batch; its mapping."""
        releases = Releases(self.home.releases, plan=Plan("partitioned", 2), mappings=self.home.mappings)
        release = releases.release(self.registry, self.registry.version)
        releases.forget_before(*release.key)
        self.batch += 1
        self.home.journal.put(Pin(self.batch, release.version, "partitioned", 2, AT, release.mapping))
        self.home.journal.close(Report(self.batch, release.version, 9, 0, 9, 1.0))
        return release.mapping

    def adjusted(self, policy: Global | None = None, check_s: float = 0.0) -> str:
        """What another mapping there is after a look, empty if there is none."""
        adjusts = PipelineRepartitioner(self.home, self.registry, policy or Global(few=0.2), check_s)
        return adjusts.adjust() if adjusts.is_due(self.batch) else "not due"


def east_and_west(count: int, prefix: str) -> pa.Table:
    asked = [f"fire bounding_box:[{8 * (n % 2)} 0 {8 * (n % 2) + 2} 2]" for n in range(count)]
    return pa.table({"id": [f"{prefix}{n}" for n in range(count)], "query": asked})


def half_and_half(rows: int) -> pa.Table:
    lon = [9.0 if n // 7 % 2 else 1.0 for n in range(rows)]
    ids = [f"p{n}" for n in range(rows)]
    return pa.table({"id": ids, "text": ["fire"] * rows, "lon": lon, "lat": [1.0] * rows})


def test_a_better_mapping_is_adopted_and_the_older_one_retired_when_few_are_left(tmp_path: Path) -> None:
    east = East(tmp_path)
    assert east.adjusted() == "learned-1"  # by the hash one matcher has all the load
    page = east.home.mappings.page("learned-1")
    assert isinstance(page, MappingPage) and page.beside == "hash-2" and page.after.imbalance < page.before.imbalance
    assert east.adjusted() == "not due"  # until a batch has it
    assert east.run() == "learned-1" and newest_release(east.home.releases).older
    assert east.adjusted() == "" and east.run() == "learned-1"  # all are old
    east.registry.remove(f"s{n}" for n in range(80))
    east.registry.add(east_and_west(80, "t"))
    assert east.run() == "learned-1" and east.adjusted() == "moved-2"
    assert east.run() == "moved-2" and not newest_release(east.home.releases).older
    assert east.adjusted() == "" and east.home.mappings.newest(2) == "moved-2"  # none is clearly better


def test_a_check_waits_for_its_time_and_for_enough_posts(tmp_path: Path) -> None:
    east = East(tmp_path, posts=999)
    assert east.adjusted(check_s=60.0) == "not due" and east.adjusted(check_s=0.0) == ""
    assert east.adjusted(check_s=60.0) == "not due"
    east.home.mappings.note_check(AT.isoformat())
    Seen(east.home.seen).put([half_and_half(1000)], 1)
    assert east.adjusted(Global(better=9.0), check_s=60.0) == ""
    east.home.mappings.note_check(AT.isoformat())
    assert east.adjusted(check_s=60.0) == "learned-1"


@pytest.mark.parametrize(("better", "newest"), [(50.0, "moved-2"), (1.1, "learned-2")])
def test_it_adjusts_globally_and_locally_where_that_changes_nothing(
    tmp_path: Path, registry: Registry, better: float, newest: str
) -> None:
    home = PipelineFolder(tmp_path / "state")
    skewed(home, registry)
    Seen(home.seen).put([oracle.POSTS.table(1000, start=300)], 1)
    balancer = PipelineBalancer(home, replace(EAGER, scope="global", check_s=0.0, better=better), registry)
    balancer.look(0)
    balancer.wait()
    assert home.mappings.newest(3) == newest


@pytest.mark.spark
@pytest.mark.parametrize("rule", [EAGER, Balance(scope="padres", pause=1)], ids=["local", "padres"])
def test_each_match_arrives_once_while_parcels_move_by_themselves(
    tmp_path: Path, spark: SparkSession, registry: Registry, rule: Balance
) -> None:
    posts, home, rng = tmp_path / "posts", PipelineFolder(tmp_path / "state"), random.Random(7)
    oracle.write_posts(posts, 0)
    stream = posts_from_files(spark, posts, files_per_batch=1)
    pipeline = Pipeline(
        stream, registry, ParquetSink(tmp_path / "matches"), home.path, plan=Plan("partitioned", 3), balance=rule
    )
    with pipeline.start() as running:
        running.process_all()
        newest = home.mappings.mapping(home.mappings.newest(3))
        assert newest is not None
        running.move(Move(parcel, 0) for parcel in range(newest.parcels.count))
        for number in range(1, 5):
            oracle.change(registry, rng)
            oracle.write_posts(posts, number)
            running.process_all()
    expected = oracle.expected(home.path, registry)
    found = oracle.rows_of(ds.dataset(tmp_path / "matches", partitioning="hive").to_table())
    assert found == sorted(row for rows in expected.values() for row in rows) and len(found) > 100
    pins = [pin for batch in sorted(expected) if (pin := home.journal.pin(batch))]
    names = [pin.mapping for pin in pins]
    assert len(pins) == 5 and len(set(names)) >= 3
    last = home.mappings.mapping(names[-1])
    assert last is not None and len(np.unique(last.owner)) == 3


@pytest.mark.spark
def test_each_match_arrives_once_while_all_is_divided_anew(
    tmp_path: Path, spark: SparkSession, registry: Registry
) -> None:
    posts, home, rng = tmp_path / "posts", PipelineFolder(tmp_path / "state"), random.Random(7)
    oracle.write_posts(posts, 0)
    stream, sink = posts_from_files(spark, posts, files_per_batch=1), ParquetSink(tmp_path / "matches")
    rule, has_older = replace(EAGER, scope="global", check_s=0.0, few=0.6), list[bool]()
    pipeline = Pipeline(stream, registry, sink, home.path, plan=Plan("partitioned", 3), balance=rule)
    with adjusts_always(), pipeline.start() as running:
        for number in range(1, 8):
            running.process_all()
            has_older.append(bool(newest_release(home.releases).older))
            registry.add(oracle.subscriptions(rng, 40))
            oracle.change(registry, rng)
            oracle.write_posts(posts, number)
        running.process_all()
    expected = oracle.expected(home.path, registry)
    found = oracle.rows_of(ds.dataset(tmp_path / "matches", partitioning="hive").to_table())
    assert found == sorted(row for rows in expected.values() for row in rows) and len(found) > 100
    assert has_older[:2] == [False, True] and not all(has_older[1:])  # adopted, and retired again


@pytest.mark.spark
def test_a_global_balance_needs_subscriptions_at_their_rarest_terms(
    tmp_path: Path, spark: SparkSession, registry: Registry
) -> None:
    oracle.write_posts(tmp_path / "posts", 0)
    stream, sink = posts_from_files(spark, tmp_path / "posts"), ParquetSink(tmp_path / "matches")
    pipeline = Pipeline(stream, registry, sink, tmp_path / "state", balance="global", placement="lasp")
    with pytest.raises(DataError, match="use placement='rarest', or balance='local'"):
        pipeline.run()


@pytest.mark.spark
def test_without_a_sample_of_posts_nothing_can_be_balanced(
    tmp_path: Path, spark: SparkSession, registry: Registry
) -> None:
    oracle.write_posts(tmp_path / "posts", 0)
    pipeline = Pipeline(
        posts_from_files(spark, tmp_path / "posts"),
        registry,
        ParquetSink(tmp_path / "matches"),
        tmp_path / "state",
        learn=Learn(keep_posts=0),
        balance="local",
    )
    with pytest.raises(DataError, match="keep some"):
        pipeline.run()
