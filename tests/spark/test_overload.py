"""When does a pipeline shed, how much, and what is left of that when it is started again?"""

from __future__ import annotations

import json
import random
import time
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from threading import Event
from typing import Literal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it

from tests.cluster.test_mappings import page
from tests.spark import oracle
from tests.spark.faults import NEVER, stay_at
from tidings.arrays.pages import replace_json
from tidings.cluster.backlog import Backlog, planned_end
from tidings.cluster.journal import Pin, Report
from tidings.cluster.mappings import Mappings
from tidings.cluster.notes import Notes, Tally, TaskShed
from tidings.cluster.overload import Governor, GovernorState, Overload, admitted
from tidings.cluster.pipeline_folder import PipelineFolder
from tidings.cluster.releases import Plan, Releases
from tidings.cluster.seen import Seen
from tidings.cluster.sinks import ParquetSink
from tidings.model import DataError
from tidings.partitioning import Mapping, Owners
from tidings.registry import Registry
from tidings.spark.generator import register
from tidings.spark.pipeline import Pipeline
from tidings.spark.sinks import MemorySink
from tidings.spark.sources import posts_from_files


@dataclass(frozen=True)
class On:
    """What posts are matched with."""

    layout: str = "partitioned"
    mapping: str = "hash-4"
    version: int = 1
    mark: str = "table/1"


class GovernedPlay:
    """A governor, and a source that is read at 100 posts a second, with the clock in hand."""

    def __init__(self, folder: Path, every_s: float = 0.0, control: Literal["capacity", "levels"] = "levels") -> None:
        self.home, self.now_s, self.last_s, self.batch, self.posts = PipelineFolder(folder), 1000.0, 999.0, 0, 0
        self.seen: list[tuple[float, float]] = []
        self.governor = Governor(self.home, Overload(delay_s=2.0, control=control), every_s, clock=lambda: self.now_s)

    def batches(self, count: int, rate: float, seconds: float = 1.0, compiles_s: float = 0.0) -> list[int]:
        """The levels of some batches, while posts come at a rate; by capacity a batch takes what waits."""
        levels = []
        for _ in range(count):
            latest = (self.seen[-1][1] if self.seen else 0.0) + rate * (self.now_s - self.last_s)
            self.seen.append((self.now_s, latest))
            self.last_s, self.now_s = self.now_s, self.now_s + compiles_s
            posts = int(latest - self.posts)
            plan_batch(self.home, self.batch, self.posts + posts)
            cut = self.governor.cut(self.batch, On(), compiles_s)
            levels.append(0 if cut is None else cut.level)
            copies = posts
            if self.governor.overload.control == "levels":
                posts = copies = int(min(posts, 100 * (1 + levels[-1]) * seconds))
                took_s = seconds
            else:
                copies = int(posts * (cut.looked_at if cut else 1.0))
                took_s = 0.2 + 0.002 * posts + 0.007 * copies
            self.now_s += took_s
            self.posts += posts
            report = Report(self.batch, 1, posts, 0, copies, 1e3 * (took_s + compiles_s), level=levels[-1])
            self.home.journal.put(Pin(self.batch, 1, "partitioned", 4, oracle.sample()[1][0]))
            self.home.journal.close(report)
            tallies = Tally("route", 0, posts, 0, 0, 0, 0.0), Tally("match", 0, copies, 0, 0, copies, 1.0)
            shed = (TaskShed(0, 0, (), 0, looked_at=copies),) if cut else ()
            self.governor.learn(report, Notes(tallies, (), shed=shed), is_usual=True, excused_s=compiles_s)
            replace_json(self.home.backlog, asdict(Backlog(self.batch, self.posts, tuple(self.seen[-50:]))))
            self.batch += 1
        return levels


def plan_batch(home: PipelineFolder, batch: int, end: int) -> None:
    """What Spark writes down before a batch."""
    (home.checkpoint / "offsets").mkdir(parents=True, exist_ok=True)
    (home.checkpoint / "offsets" / str(batch)).write_text(f'v1\n{{}}\n{{"posts":{{"0":{end}}}}}')


def test_the_level_goes_up_when_posts_wait_and_down_again(tmp_path: Path) -> None:
    play = GovernedPlay(tmp_path)
    assert play.batches(10, rate=80) == [0] * 10
    levels = play.batches(60, rate=250)
    assert levels[:2] == [0, 0] and max(levels) <= 4
    settled = levels[30:]
    assert max(settled) - min(settled) <= 2 and min(settled) >= 1
    lag_s = (play.seen[-1][1] - play.posts) / 250
    assert lag_s < 2 * 2.0
    assert play.batches(30, rate=50)[-1] == 0


def test_what_was_decided_outlives_the_process_and_nothing_to_do_ends_it(tmp_path: Path) -> None:
    play = GovernedPlay(tmp_path)
    play.batches(40, rate=450)
    level = GovernorState.read(play.home.overload).level
    other = Governor(play.home, play.governor.overload, clock=lambda: play.now_s)
    assert level > 1
    cut = other.cut(play.batch, On())
    assert cut is not None and abs(cut.level - level) <= 1
    play.now_s += 600
    play.seen.append((play.now_s, play.posts))
    replace_json(play.home.backlog, asdict(Backlog(play.batch - 1, play.posts, tuple(play.seen))))
    assert other.cut(play.batch, On()) is None


def test_what_waits_begins_where_the_last_batch_has_ended(tmp_path: Path) -> None:
    home = PipelineFolder(tmp_path)
    for batch, posts in ((3, 100), (4, 30)):
        home.journal.put(Pin(batch, 1, "replicated", 1, oracle.sample()[1][0]))
        home.journal.close(Report(batch, 1, posts, 0, 0, 1.0))
    seen = ((10.0, 400.0), (20.0, 440.0), (30.0, 480.0))
    replace_json(home.backlog, asdict(Backlog(3, 400.0, seen)))  # not told yet: batch 4
    plan_batch(home, 5, 470)
    governor = Governor(home, Overload())
    waits = governor.waiting(5, GovernorState(ended_s=30.0), now_s=30.5)
    assert waits.posts == 470 - 430 and waits.age_s == pytest.approx(30.5 - 17.5) and waits.rest_s == pytest.approx(3.0)


def test_the_time_between_two_batches_is_no_delay(tmp_path: Path) -> None:
    assert GovernedPlay(tmp_path, every_s=10).batches(10, rate=90, seconds=10.0) == [0] * 10


def test_a_source_that_says_nothing_is_judged_by_how_long_batches_take(tmp_path: Path) -> None:
    home, now = PipelineFolder(tmp_path), [1000.0]
    governor = Governor(home, Overload(delay_s=2.0, control="levels"), clock=lambda: now[0])
    for seconds, level in ((1.0, 0), (5.0, 0), (5.0, 0), (5.0, 0), (5.0, 1)):
        cut = governor.cut(0, On("replicated"))
        assert (cut.level if cut else 0) == level
        now[0] += seconds
        governor.learn(Report(0, 1, 10, 0, 0, 1e3 * seconds), Notes((), ()), is_usual=True)


def test_what_is_admitted_follows_the_speed_but_not_that_of_a_first_batch(tmp_path: Path) -> None:
    governor = Governor(PipelineFolder(tmp_path), Overload(delay_s=4.0))
    assert admitted(tmp_path) == 10_000 and admitted(tmp_path, first=7) == 7
    governor.learn(Report(0, 1, 10, 0, 0, 60_000.0), Notes((), ()), is_usual=False)
    assert admitted(tmp_path) == 10_000
    for batch in range(1, 40):
        posts = admitted(tmp_path)
        governor.learn(Report(batch, 1, posts, 0, 0, 300 + posts / 20.0), Notes((), ()), is_usual=True)
        governor.learn(Report(batch, 1, 3, 0, 0, 300.0), Notes((), ()), is_usual=True)
    assert 30_000 < admitted(tmp_path) <= 38_000  # posts of half the delay


def test_a_damaged_file_of_what_was_decided_is_begun_anew(tmp_path: Path) -> None:
    two = json.dumps(asdict(GovernorState(level=3)) | {"last": [1.0, 2.0]})
    for text in ("", "{", "[]", '{"level": 3}', '{"grades": {}, "last": 5}', two):
        PipelineFolder(tmp_path).overload.write_text(text)
        assert Governor(PipelineFolder(tmp_path), Overload()).cut(0, On("replicated")) is None
        PipelineFolder(tmp_path).backlog.write_text(text)
        assert Backlog.read(PipelineFolder(tmp_path).backlog) is None


@pytest.mark.parametrize("layout", ["replicated", "partitioned"])
def test_where_copies_compete_the_grades_of_the_last_batch_say_which_are_kept(layout: str, tmp_path: Path) -> None:
    stay_at(4, tmp_path)
    governor = Governor(PipelineFolder(tmp_path), Overload(control="levels"), clock=lambda: NEVER)
    first = governor.cut(0, On(layout))
    assert first is not None and first.floor is None
    shed = TaskShed(5, 5, ((0, 5),), 0, ((2, 50), (9, 50)))
    governor.learn(Report(0, 1, 100, 0, 0, 100.0, level=4), Notes((), (), shed=(shed, shed)), is_usual=True)
    second = governor.cut(1, On(layout))
    assert second is not None and second.chance == pytest.approx(2 * first.fraction - 1)
    assert second == replace(first, floor=2, chance=second.chance)


def test_two_noisy_looks_at_the_queue_change_no_level(tmp_path: Path) -> None:
    home, now = PipelineFolder(tmp_path), [1000.0]
    governor = Governor(home, Overload(delay_s=2.0, control="levels"), clock=lambda: now[0])
    for seconds in (0.5, 6.0, 7.0, 0.5, 6.0, 7.0, 0.5):
        assert governor.cut(0, On()) is None
        now[0] += seconds
        governor.learn(Report(0, 1, 10, 0, 0, 1e3 * seconds), Notes((), ()), is_usual=True)


@pytest.mark.parametrize(
    "other", [On("replicated"), On(mapping="learned-1"), On(version=0), On(mark="other/1")], ids=str
)
def test_grades_are_forgotten_with_the_mapping_the_layout_and_the_registry(other: On, tmp_path: Path) -> None:
    stay_at(4, tmp_path)
    governor = Governor(PipelineFolder(tmp_path), Overload(control="levels"), clock=lambda: NEVER)
    governor.cut(0, On())
    shed = TaskShed(5, 5, ((0, 5),), 0, ((2, 50), (9, 50)), looked_at=10)
    governor.learn(Report(0, 1, 100, 0, 0, 100.0, level=4), Notes((), (), shed=(shed,)), is_usual=True)
    same, newer = governor.cut(1, On()), governor.cut(2, On(version=2))
    assert same is not None and newer is not None and same.floor == newer.floor == 2
    governor.cut(3, replace(other, version=other.version))
    cut, state = governor.cut(4, other), GovernorState.read(PipelineFolder(tmp_path).overload)
    assert cut is not None and cut.floor is None and not state.grades and not state.memory.profile.grades


def test_posts_that_waited_for_a_compiled_index_are_no_overload(tmp_path: Path) -> None:
    """The batch that compiles, and the next one, which has what came meanwhile; in both kinds of control."""
    controls: tuple[Literal["capacity", "levels"], ...] = ("capacity", "levels")
    for control in controls:
        play = GovernedPlay(tmp_path / control, control=control)
        play.batches(12, rate=20)
        memory = GovernorState.read(play.home.overload).memory.batches
        assert play.batches(1, rate=20, compiles_s=20.0) == [0]
        assert GovernorState.read(play.home.overload).memory.batches == memory  # its time is no measure
        assert set(play.batches(8, rate=20)) == {0}


def test_the_first_batch_of_a_process_is_graded_though_nothing_is_left_out(tmp_path: Path) -> None:
    play = GovernedPlay(tmp_path, control="capacity")
    first = play.governor.cut(0, On(), is_first=True)
    assert first is not None and (first.level, first.looked_at, first.floor, first.spared) == (0, 1.0, -1, 0.0)
    assert play.governor.cut(1, On()) is None


def test_a_spike_is_shed_to_capacity_and_nothing_is_shed_after_it(tmp_path: Path) -> None:
    play = GovernedPlay(tmp_path, control="capacity")
    assert set(play.batches(12, rate=50)) == {0}
    spike = play.batches(40, rate=250)
    lag_s = (play.seen[-1][1] - play.posts) / 250
    assert max(spike) > 10 and lag_s < 2 * 2.0
    assert set(play.batches(12, rate=40)[-6:]) == {0}


def test_what_a_batch_has_is_read_from_the_checkpoint_of_spark(tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    for number, text in enumerate(['v1\n{"batchWatermarkMs":0}\n{"posts":{"0":40,"1":7}}', "v1\n{}", ""]):
        (tmp_path / "offsets" / str(number)).write_text(text)
    assert [planned_end(tmp_path, batch) for batch in range(4)] == [47.0, None, None, None]


@given(st.lists(st.tuples(st.floats(0.1, 5), st.integers(0, 100)), min_size=2, max_size=20), st.data())
def test_a_post_is_as_old_as_its_offset(steps: list[tuple[float, int]], data: st.DataObject) -> None:
    """Between the last time at which it was not there, and the first at which it was."""
    at, seen = 0.0, [(0.0, 0.0)]
    for seconds, posts in steps:
        at += seconds
        seen.append((at, seen[-1][1] + posts))
    begin = data.draw(st.integers(0, int(seen[-1][1])))
    age_s = Backlog(0, 0, tuple(seen)).age_s(begin, now_s=at)
    without = max((when for when, latest in seen if latest <= begin), default=0.0)
    present = min((when for when, latest in seen if latest > begin), default=at)
    assert at - present - 1e-6 <= age_s <= at - without + 1e-6


@pytest.mark.parametrize("wrong", [{"policy": "none"}, {"delay_s": 0}, {"spared": 1.0}, {"top": 0}])
def test_a_senseless_overload_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(DataError):
        Overload(**wrong)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------ on Spark


def mapping_of(matchers: int) -> Mapping:
    return Mapping.learned(pa.array(["fire"]), Owners.single(np.zeros(1, dtype=np.int32)), matchers)


@pytest.mark.parametrize(("away_s", "is_idle"), [(5.5, False), (6.5, True)])
def test_who_was_away_for_longer_than_between_two_batches_was_idle(
    tmp_path: Path, away_s: float, is_idle: bool
) -> None:
    """What came during a long last batch has waited for it, unless nothing came for a while since."""
    governor = Governor(PipelineFolder(tmp_path), Overload(delay_s=2.0), every_s=5.0)
    fullness = governor.fullness(1, GovernorState(ended_s=100.0, busy_s=60.0), 100.0 + away_s)
    assert (fullness == 0.0) == is_idle


@pytest.fixture
def posts(tmp_path: Path, spark: SparkSession) -> DataFrame:
    for number in range(3):
        oracle.write_posts(tmp_path / "posts", number)
    return posts_from_files(spark, tmp_path / "posts", files_per_batch=1)


@pytest.mark.spark
@pytest.mark.parametrize("plan", [Plan("replicated"), Plan("partitioned", 6)], ids=lambda plan: plan.layout)
def test_level_0_is_the_pipeline_that_never_sheds_and_any_other_only_loses(
    plan: Plan, tmp_path: Path, posts: DataFrame, registry: Registry
) -> None:
    found = {}
    for level in (0, 8, 9):
        state, sink = tmp_path / f"level {level}", MemorySink()
        stay_at(level, state)
        overload = Overload(spared=0.3, control="levels")
        with Pipeline(posts, registry, sink, state, plan=plan, overload=overload).start() as running:
            running.process_all()
        rows = {batch: oracle.rows_of(table) for batch, table in sink.batches.items()}
        expected = oracle.expected(state, registry, sheds=False)
        reports = [report for batch in expected if (report := running.journal.report(batch))]
        pins = [pin for batch in expected if (pin := running.journal.pin(batch))]
        assert len(reports) == len(pins) == 3 and {report.level for report in reports} == {level}
        found[level] = sum(map(len, rows.values()))
        for report in reports:
            lost = len(expected[report.batch]) - report.matches
            assert report.matches == len(rows[report.batch]) == len(set(rows[report.batch]))
            assert set(rows[report.batch]) <= set(expected[report.batch])
            assert report.copies_shed == sum(load.copies_shed for load in report.loads)
            assert report.posts == oracle.ROWS
            if level:
                assert 0 < report.posts_cut <= report.copies_shed and lost > 0 and report.lost > 0
            else:
                assert lost == report.posts_cut == report.copies_shed == report.lost == 0
        assert all((pin.cut is None) == (level == 0) for pin in pins)
    assert found[0] > found[8] > found[9] > 0


@pytest.mark.spark
@pytest.mark.parametrize("plan", [Plan("replicated"), Plan("partitioned", 6)], ids=lambda plan: plan.layout)
def test_a_replay_sheds_what_its_pin_says_whatever_was_decided_since(
    plan: Plan, tmp_path: Path, posts: DataFrame, registry: Registry
) -> None:
    calls: list[tuple[int, list[oracle.Row]]] = []

    def take(matches: DataFrame, batch: int) -> None:
        calls.append((batch, oracle.rows_of(matches.toArrow())))
        if len(calls) == 2:
            raise OSError("the receiver is away")

    state = tmp_path / "state"
    stay_at(7, state)
    pipeline = Pipeline(posts, registry, take, state, plan=plan, overload=Overload(control="levels"))
    with pytest.raises(DataError, match="the receiver is away"), pipeline.start() as running:
        running.process_all()
    stay_at(0, state)
    oracle.change(registry, random.Random(5))
    with replace(pipeline, overload="block").start() as running:
        running.process_all()
    assert [batch for batch, _ in calls] == [0, 1, 1, 2]
    assert calls[1] == calls[2]
    expected = oracle.expected(state, registry, sheds=False)
    assert len(calls[2][1]) < len(expected[1]) and calls[3][1] == expected[2]
    levels = [report.level for batch in range(3) if (report := running.journal.report(batch))]
    assert levels == [7, 7, 0]


@pytest.mark.spark
@pytest.mark.slow
def test_an_idle_pipeline_that_switches_its_mapping_sheds_nothing(
    tmp_path: Path, spark: SparkSession, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though that takes longer than a post may wait, and posts come meanwhile."""
    state, sink = tmp_path / "state", MemorySink()
    oracle.write_posts(tmp_path / "posts", 0)
    posts = posts_from_files(spark, tmp_path / "posts", files_per_batch=1)
    pipeline = Pipeline(posts, registry, sink, state, plan=Plan("partitioned", 4), overload=Overload(delay_s=10.0))
    with pipeline.start() as running:
        running.process_all()
        compiled = Releases._compiled
        monkeypatch.setattr(Releases, "_compiled", lambda *told: Event().wait(14.0) or compiled(*told))
        Mappings(state / "mappings").put(mapping_of(4), page(planned=4))
        for number in range(1, 5):
            oracle.write_posts(tmp_path / "posts", number)
        running.process_all()
        reports = [report for batch in running.journal.batches if (report := running.journal.report(batch))]
        pins = [pin for batch in running.journal.batches if (pin := running.journal.pin(batch))]
    assert [pin.mapping for pin in pins] == ["hash-4", *["learned-1"] * 4] and reports[1].ms > 14_000
    assert {report.level for report in reports} == {0} and {pin.cut for pin in pins} == {None}


@pytest.mark.spark
def test_as_many_posts_are_kept_to_learn_from_however_few_tasks_there_are(
    tmp_path: Path, posts: DataFrame, registry: Registry
) -> None:
    session = posts.sparkSession
    before = session.conf.get("spark.sql.shuffle.partitions")
    session.conf.set("spark.sql.shuffle.partitions", "200")
    try:
        plan, state = Plan("partitioned", 2), tmp_path / "state"
        Pipeline(posts, registry, MemorySink(), state, plan=plan, distinct_ids=False).run()
    finally:
        session.conf.set("spark.sql.shuffle.partitions", before)
    assert Seen(PipelineFolder(state).seen).rows > oracle.ROWS  # of three batches of one task each, 10 of the first


@pytest.mark.spark
def test_what_there_is_now_is_never_shed(tmp_path: Path, posts: DataFrame, registry: Registry) -> None:
    sink = MemorySink()
    stay_at(8, tmp_path / "state")
    Pipeline(posts, registry, sink, tmp_path / "state", overload="shed").run()
    rows = {batch: oracle.rows_of(table) for batch, table in sink.batches.items()}
    assert rows == oracle.expected(tmp_path / "state", registry)
    with pytest.raises(DataError, match="block"):
        Pipeline(posts, registry, sink, tmp_path / "state", overload="drop").run()  # type: ignore[arg-type]


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("control", ["capacity", "levels"])
def test_a_spike_is_shed_and_the_level_comes_back(
    control: Literal["capacity", "levels"], tmp_path: Path, spark: SparkSession, registry: Registry
) -> None:
    """A spike of forty batches comes at once, beside a few posts a second that go on for ever."""
    register(spark)
    state = tmp_path / "state"

    def stream(name: str, **options: object) -> DataFrame:
        made = spark.readStream.format("tidings_posts").options(admission=str(state), partitions=1, **options).load()
        return made.withColumn("id", F.concat(F.lit(name), "id"))

    spike = stream("spike", rate=1e6, rows=80_000, rows_per_batch=2_000)
    posts = spike.union(stream("usual", rate=20, seed=1, rows_per_batch=2_000))
    sink = ParquetSink(tmp_path / "matches")
    pipeline = Pipeline(
        posts,
        registry,
        sink,
        state,
        plan=Plan("partitioned", 8),
        overload=Overload(delay_s=3.0, spared=0.05, control=control),
    )
    deadline = time.monotonic() + 240
    levels: list[int] = []
    with pipeline.start() as running:
        while time.monotonic() < deadline and not (max(levels, default=0) > 1 and levels[-3:] == [0, 0, 0]):
            time.sleep(0.5)
            known = [running.journal.report(batch) for batch in running.journal.batches]
            levels = [report.level for report in known if report is not None]
    assert max(levels) > 1 and levels[-3:] == [0, 0, 0], levels
    assert control == "capacity" or max(abs(a - b) for a, b in pairwise(levels)) == 1
