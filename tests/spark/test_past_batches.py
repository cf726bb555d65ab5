"""Does a new subscription get its past and its future, each post once, whatever a batch dies of?

Without a session: batches run in this process (:mod:`tests.spark.local`). What they find is compared with an evaluation
of all posts, one by one. A run can be repeated by its seed.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable

from tests.damages import DAMAGES
from tests.spark.local import Local
from tidings.cluster import kept_posts, steps
from tidings.cluster.cut import Cut
from tidings.cluster.delta import DeltaSink
from tidings.cluster.journal import Journal, Pin, Report
from tidings.cluster.kept_posts import KeptPosts
from tidings.cluster.learning import Learn
from tidings.cluster.opened import Opened
from tidings.cluster.pipeline_folder import PipelineFolder
from tidings.cluster.releases import Plan
from tidings.cluster.sinks import ParquetSink
from tidings.language import evaluate, parse
from tidings.model import DataError, Publication
from tidings.registry import Registry
from tidings.spark import batches
from tidings.spark.batches import Handler
from tidings.spark.columns import Columns
from tidings.spark.sinks import Sink

START = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
KEEP = 30 * MINUTE
INSTANT = pa.timestamp("us", tz="UTC")
PLANS = [Plan("replicated"), Plan("partitioned", 3)]
QUERIES = ["fire", "fire w1", "fire -w2", "smoke OR w3", "volume:>3", "volume:>1 fire", "city:oslo", "has:ends w1"]
DEATHS: dict[str, tuple[Any, str]] = {
    "pin": (Journal, "put"),
    "work": (Handler, "_write"),
    "keep": (KeptPosts, "take"),
    "merge": (KeptPosts, "merge"),
    "rejected": (Handler, "_keep"),
    "report": (Journal, "close"),
    "forget": (Journal, "forget_before"),
}
Row = tuple[Any, ...]


def drawn_posts(rng: random.Random, batch: int, now: datetime) -> pa.Table:
    """A few posts; some have no instant, some end, one may be of no use, and one may be there twice."""
    rows: list[dict[str, Any]] = []
    for number in range(rng.randint(1, 8)):
        words = rng.choices(["fire", "smoke", "w1", "w2", "w3"], k=rng.randint(1, 4))
        rows.append(
            {
                "id": f"p{batch}-{number}",
                "text": " ".join(words),
                "ts": rng.choice([None, now - rng.randint(-5, 40) * MINUTE]),
                "lat": rng.choice([None, None, None, 10.0, 95.0]),
                "city": rng.choice([None, "oslo", "rome"]),
                "ends": rng.choice([None, None, now + rng.randint(1, 40) * MINUTE]),
                "volume": rng.choice([None, 1, 2, 5]),
            }
        )
    if rng.random() < 0.3:
        rows.append(rows[0])
    kinds = [("id", pa.string()), ("text", pa.string()), ("ts", INSTANT), ("lat", pa.float64()), ("lon", pa.float64())]
    more = [("city", pa.string()), ("ends", INSTANT), ("volume", pa.int64())]
    return pa.Table.from_pylist([row | {"lon": row["lat"]} for row in rows], pa.schema(kinds + more))


def drawn_changes(rng: random.Random, registry: Registry, now: datetime) -> None:
    rows = []
    for name in rng.sample("abcdefghij", rng.randint(1, 4)):
        since = rng.choice([None, now - rng.randint(-2, 60) * MINUTE])
        until = None if rng.random() < 0.7 else (since or now) + rng.randint(1, 60) * MINUTE
        rows.append({"id": name, "query": rng.choice(QUERIES), "since": since, "until": until})
    kinds = [("id", pa.string()), ("query", pa.string()), ("since", INSTANT), ("until", INSTANT)]
    registry.add(pa.Table.from_pylist(rows, pa.schema(kinds)))
    if rng.random() < 0.4:
        registry.remove([rng.choice("abcdefghij")])


class Governed:
    """In an overload now and then."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def cut(self, *_: object, **__: object) -> Cut | None:
        return self._rng.choice([None, Cut(1, "random", 1.0, 1.0, 0.0, looked_at=0.0)])  # all or nothing is matched

    def learn(self, *_: Any, **__: Any) -> None:
        pass


def noted(found: Local) -> Local:
    """The rows that are notes, without a session."""
    notes = [text for batch in found.rows() for text in batch.column("note").to_pylist() if text is not None]
    return Local.of(pa.table({"note": pa.array(notes, pa.string())}))


class Stage:
    """A pipeline that keeps posts, its clock, and what it was given."""

    def __init__(self, path: Path, plan: Plan, sink: Sink, seed: int = 0) -> None:
        self.path, self.plan, self.sink, self.rng = path, plan, sink, random.Random(seed)
        self.registry, self.home = Registry.create(path / "registry"), PipelineFolder(path / "state")
        self.posts: dict[int, pa.Table] = {}
        self.now, self.sheds, self.keep = START, False, KEEP
        self.restart()

    def restart(self) -> None:
        """Let the driver and the workers be new processes."""
        steps._opened = Opened()
        columns, learn = Columns(expires="ends"), Learn(keep_posts=0)
        self.handler = Handler(self.home, "one", self.registry, self.sink, columns, self.plan, None, False, learn)
        self.handler.keep = self.keep
        if self.sheds:
            self.handler.governor = Governed(self.rng)  # type: ignore[assignment]

    def run(self, batch: int, before: Callable[[], object] = lambda: None) -> None:
        offsets = self.home.checkpoint / "offsets" / str(batch)
        offsets.parent.mkdir(parents=True, exist_ok=True)
        offsets.write_text(str(self.posts[batch]["id"].to_pylist()))
        frame: Any = Local.of(self.posts[batch], before)
        with patch.multiple(batches, utc_now=lambda: self.now, noted=noted):
            self.handler(frame, batch)

    def suffer(self, batch: int, death: str, is_after: bool) -> None:
        """Run a batch that dies before or after a step of it."""
        owner, name = DEATHS[death]
        step = getattr(owner, name)

        def die(*args: Any, **options: Any) -> Any:
            if is_after:
                step(*args, **options)
            raise KeyboardInterrupt

        with patch.object(owner, name, die), suppress(KeyboardInterrupt):
            self.run(batch)
        self.restart()

    def found(self) -> list[Row]:
        if isinstance(self.sink, DeltaSink):
            table = DeltaTable(self.path / "matches").to_pyarrow_table()
        else:
            table = ds.dataset(self.path / "matches", partitioning="hive").to_table()
        names = ("publication_id", "subscription_id", "query_version", "ts")
        return sorted(zip(*(table[name].to_pylist() for name in names), strict=True), key=str)

    def pin(self, batch: int) -> Pin:
        pin = self.home.journal.pin(batch)
        assert pin is not None
        return pin

    def report(self, batch: int) -> Report:
        report = self.home.journal.report(batch)
        assert report is not None
        return report

    def expected(self) -> list[Row]:
        """Future and past of each subscription, by the pins and one post at a time."""
        rows: list[Row] = []
        version: int | None = None
        for batch in sorted(self.posts):
            pin = self.pin(batch)
            live = self.registry.snapshot(pin.version).to_pylist()
            new = [one for one in live if version is not None and one["query_version"] > version and one["since"]]
            own = 0
            for earlier in (one for one in sorted(self.posts) if one < batch):
                came = self.pin(earlier).at
                if came >= pin.at - KEEP:
                    kept = [post for post in good(self.posts[earlier]) if post["ends"] is None or post["ends"] > pin.at]
                    own += len(past := answers(kept, new, came))
                    rows += past
            report = self.report(batch).past
            assert (report.matches if report else 0) == own and (report.subscriptions if report else 0) == len(new)
            if pin.cut is None:
                rows += answers(good(self.posts[batch]), live, pin.at)
            version = pin.version
        return sorted(rows, key=str)


def good(posts: pa.Table) -> list[dict[str, Any]]:
    rows = {row["id"]: row for row in posts.to_pylist() if row["lat"] is None or row["lat"] <= 90}
    return list(rows.values())


def answers(posts: list[dict[str, Any]], asked: list[dict[str, Any]], came: datetime) -> list[Row]:
    found = []
    for post in posts:
        held = {name: post[name] for name in ("city", "ends", "volume") if post[name] is not None}
        value = Publication(post["id"], post["text"], post["ts"], post["lat"], post["lon"], (), held)
        at = post["ts"] or came
        for one in asked:
            is_valid = (one["since"] is None or one["since"] <= at) and (one["until"] is None or at < one["until"])
            if is_valid and evaluate(parse(one["query"]), value):
                found.append((post["id"], one["id"], one["query_version"], post["ts"]))
    return found


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.layout)
@pytest.mark.parametrize("seed", range(6))
def test_past_and_future_are_what_brute_force_finds_whatever_batches_die_of(
    plan: Plan, seed: int, tmp_path: Path
) -> None:
    sink = (DeltaSink if seed % 2 else ParquetSink)(tmp_path / "matches")
    stage = Stage(tmp_path, plan, sink, seed)
    stage.sheds = seed % 3 == 2
    rng = stage.rng
    with patch.multiple(kept_posts, MANY_SECTIONS=3, SMALL_POSTS=12):
        for batch in range(14):
            stage.now += timedelta(seconds=rng.choice([5, 5, 10, 20, 60, 420]))
            stage.posts[batch] = drawn_posts(rng, batch, stage.now)
            if rng.random() < 0.7:
                drawn_changes(rng, stage.registry, stage.now)
            for _ in range(rng.choice([0, 0, 1, 2])):
                stage.suffer(batch, rng.choice(list(DEATHS)), rng.random() < 0.5)
                stage.now += rng.randint(0, 2) * MINUTE
                if rng.random() < 0.5:
                    drawn_changes(rng, stage.registry, stage.now)
            stage.run(batch)
    found = stage.found()
    assert found == stage.expected() and len(found) == len(set(found)) > 20
    pasts = [past for batch in stage.posts if (past := stage.report(batch).past) is not None]
    assert sum(past.matches for past in pasts) > 5 and any(past.incomplete for past in pasts)


def told(stage: Stage, batch: int, text: str, **more: Any) -> None:
    """A batch of one post, five minutes after the last."""
    stage.now += 5 * MINUTE
    kinds = {"id": pa.string(), "text": pa.string(), "ends": INSTANT, "volume": pa.float64()}
    row = {"id": f"p{batch}", "text": text} | more
    stage.posts[batch] = pa.table({name: pa.array([row[name]], kinds[name]) for name in kinds if name in row})
    stage.run(batch)


def subscribe(stage: Stage, name: str, query: str = "fire", since: datetime = START) -> None:
    stage.registry.add(pa.table({"id": [name], "query": [query], "since": pa.array([since], INSTANT)}))


def of(stage: Stage, name: str) -> list[str]:
    return [row[0] for row in stage.found() if row[1] == name]


@pytest.fixture(params=PLANS, ids=lambda plan: plan.layout)
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Stage:
    return Stage(tmp_path, request.param, ParquetSink(tmp_path / "matches"))


def test_attributes_that_nobody_asked_about_are_there_later(stage: Stage) -> None:
    told(stage, 0, "fire", volume=5.0)
    told(stage, 1, "fire", volume=1.0)
    subscribe(stage, "a", "volume:>3")
    told(stage, 2, "rain", volume=7.0)
    assert of(stage, "a") == ["p0", "p2"]


def test_posts_that_are_too_old_or_have_ended_are_nobodys_past(stage: Stage) -> None:
    told(stage, 0, "fire")
    told(stage, 1, "fire", ends=START + 20 * MINUTE)
    told(stage, 2, "fire")
    subscribe(stage, "a")
    told(stage, 3, "fire")
    assert of(stage, "a") == ["p0", "p2", "p3"]
    stage.now += 19 * MINUTE
    subscribe(stage, "b")
    told(stage, 4, "fire")
    assert of(stage, "b") == ["p2", "p3", "p4"]


def test_a_file_of_kept_posts_that_is_damaged_is_named_and_without_it_the_pipeline_goes_on(stage: Stage) -> None:
    told(stage, 0, "fire")
    told(stage, 1, "fire")
    subscribe(stage, "a")
    file = sorted((stage.path / "state" / "kept").rglob("*.parquet"))[0]
    file.write_bytes(b"no Parquet")
    with pytest.raises(DataError, match=r"kept posts cannot be read: .* remove its folder"):
        told(stage, 2, "fire")
    shutil.rmtree(file.parent)
    stage.restart()
    stage.run(2)
    assert of(stage, "a") == ["p1", "p2"] and stage.report(2).past is not None


def test_an_index_of_new_subscriptions_that_is_damaged_is_compiled_again(stage: Stage) -> None:
    told(stage, 0, "fire")
    subscribe(stage, "a")
    stage.now += MINUTE
    stage.posts[1] = stage.posts[0].set_column(0, "id", pa.array(["p1"]))
    stage.suffer(1, "work", False)
    for file in stage.home.pasts.glob("*.tidings"):
        DAMAGES["flipped"](file, file)
    stage.run(1)
    assert of(stage, "a") == ["p0", "p1"]


def test_a_pin_is_kept_where_posts_are_no_longer(stage: Stage) -> None:
    told(stage, 0, "fire")
    subscribe(stage, "a")
    stage.now += MINUTE
    stage.posts[1] = stage.posts[0].set_column(0, "id", pa.array(["p1"]))
    stage.suffer(1, "work", False)
    stage.keep = None  # type: ignore[assignment]
    stage.restart()
    stage.run(1)
    subscribe(stage, "b")
    told(stage, 2, "fire")
    assert of(stage, "a") == ["p0", "p1", "p2"] and of(stage, "b") == ["p2"] and stage.pin(2).past is None


def test_a_full_disk_loses_nothing(stage: Stage) -> None:
    told(stage, 0, "fire")
    subscribe(stage, "a")
    for step in ("take", "aside"):
        full = patch.object(KeptPosts, step, side_effect=OSError(28, "No space left on device"))
        with full, pytest.raises(OSError, match="No space left"):
            told(stage, 1, "fire")
        stage.restart()
    stage.run(1)
    told(stage, 2, "fire")
    subscribe(stage, "b")
    told(stage, 3, "fire")
    assert of(stage, "a") == of(stage, "b") == ["p0", "p1", "p2", "p3"]


def test_keep_may_be_made_shorter_and_longer_between_starts(stage: Stage) -> None:
    for batch in range(4):
        told(stage, batch, "fire")
    for batch, keep, name in ((4, 6 * MINUTE, "a"), (5, KEEP, "b")):
        stage.keep = keep
        stage.restart()
        subscribe(stage, name)
        told(stage, batch, "fire")
        past = stage.report(batch).past
        assert past is not None and past.incomplete == 1
    assert of(stage, "a") == of(stage, "b") == ["p3", "p4", "p5"]


def test_a_clock_that_jumps_makes_neither_gap_nor_double(stage: Stage) -> None:
    told(stage, 0, "fire")
    stage.now -= 60 * MINUTE
    told(stage, 1, "fire")
    subscribe(stage, "a", since=START - 120 * MINUTE)
    told(stage, 2, "fire")
    assert of(stage, "a") == ["p0", "p1", "p2"]
    stage.now += 120 * MINUTE
    told(stage, 3, "fire")
    subscribe(stage, "b", since=START - 120 * MINUTE)
    told(stage, 4, "fire")
    past = stage.report(4).past
    assert of(stage, "b") == ["p3", "p4"] and past is not None and past.incomplete == 1
    assert of(stage, "a") == [f"p{batch}" for batch in range(5)]


def test_since_in_the_future_has_no_past_yet_and_since_after_until_is_refused(stage: Stage) -> None:
    told(stage, 0, "fire")
    subscribe(stage, "a", since=stage.now + 8 * MINUTE)
    told(stage, 1, "fire")
    told(stage, 2, "fire")
    past = stage.report(1).past
    assert of(stage, "a") == ["p2"] and past is not None and (past.matches, past.incomplete) == (0, 0)
    instants = {name: pa.array([at], INSTANT) for name, at in (("since", stage.now), ("until", START))}
    receipt = stage.registry.add(pa.table({"id": ["b"], "query": ["fire"], **instants}))
    assert "not after it begins" in receipt.rejected[0].reason
