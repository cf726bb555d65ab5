"""Is a log in memory what a registry is, whatever is done to both?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tidings.model import DataError, HistoryError, Rejected, TidingsError
from tidings.registry import Follower, History, Log, MemoryLog, Receipt, Registry, fold, memory

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
IDS = ["a", "b", "c", "é", ""]
QUERIES = ["fire", "fire OR smoke", "fire OR", "", "-drill"]

Step = Callable[[Log], Any]

_instants = st.sampled_from([None, NOON - HOUR, NOON, NOON + HOUR])
_rows = st.lists(
    st.tuples(st.sampled_from(IDS), st.sampled_from(QUERIES), st.sampled_from(["", "ada"]), _instants, _instants),
    max_size=4,
)
_good_rows = st.lists(
    st.tuples(st.sampled_from(IDS[:4]), st.sampled_from(QUERIES[:2]), st.just("ada"), st.just("tag"), _instants)
    .map(lambda row: (*row, NOON + 2 * HOUR)),
    max_size=3,
)  # fmt: skip


def table(rows: list[tuple[Any, ...]]) -> pa.Table:
    names = ["id", "query", "subscriber", "since", "until"]
    kinds = [pa.string()] * 3 + [pa.timestamp("us", tz="UTC")] * 2
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return pa.table({name: pa.array(list(c), k) for name, c, k in zip(names, columns, kinds, strict=True)})


_steps: st.SearchStrategy[Step] = st.one_of(
    _rows.map(lambda rows: lambda log: log.add(table(rows))),
    _rows.map(lambda rows: lambda log: log.add(table(rows), dry_run=True)),
    st.lists(st.sampled_from(IDS), max_size=3).map(lambda ids: lambda log: log.remove(ids)),
    st.tuples(_good_rows, st.lists(st.sampled_from(IDS[:4]), max_size=2), st.sampled_from([None, 0, 2, 3])).map(
        lambda step: lambda log: log.put(step[0], step[1], after=step[2])
    ),
    st.sampled_from([NOON - HOUR, NOON, NOON + 2 * HOUR]).map(lambda now: lambda log: log.expire(now)),
    st.just(lambda log: log.reject([Rejected("subscription", "x", "why", source="fire (")])),
    st.just(lambda log: log.add(pa.table({"id": ["a"], "qeury": ["fire"]}))),
    st.just(lambda log: log.snapshot(99)),
    st.just(lambda log: log.changes(1.5)),
)


def told(log: Log, step: Step) -> object:
    """What a step returns or refuses, but for marks, which no two logs share."""
    try:
        done = step(log)
    except TidingsError as error:
        return type(error), str(error)[-20:]  # the rest names the log
    return (done.version, done.accepted, done.rejected, bool(done.mark)) if isinstance(done, Receipt) else done


def changes(log: Log, after: int, until: int) -> list[dict[str, Any]]:
    """Changes with their places within a commit, but without its seal."""
    rows = log.changes(after, until).to_pylist()
    return [row | {"position": row["position"] % (1 << 32)} for row in rows]


@examples(40)
@given(steps=st.lists(_steps, min_size=1, max_size=10), data=st.data())
def test_both_twins_tell_the_same_of_any_history(
    steps: list[Step], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    durable = Registry.create(tmp_path_factory.mktemp("registry"), clock=lambda: NOON)
    twin = MemoryLog(clock=lambda: NOON)
    marks = {0: (durable.mark(0), twin.mark(0))}
    for step in steps:
        assert told(twin, step) == told(durable, step)
        marks[twin.version] = durable.mark(twin.version), twin.mark(twin.version)
    assert (twin.version, twin.horizon) == (durable.version, durable.horizon)
    after = data.draw(st.integers(-1, twin.version))
    until = data.draw(st.integers(after, twin.version))
    assert changes(twin, after, until) == changes(durable, after, until)
    assert twin.snapshot(until) == durable.snapshot(until)
    by = [(name, "ascending") for name in ("id", "reason", "query")]
    assert twin.rejected().sort_by(by) == durable.rejected().sort_by(by)
    for version, (of_durable, of_twin) in marks.items():
        assert durable.since(version, of_durable) == twin.since(version, of_twin) == twin.version
        assert not twin.has(version, of_durable) and not durable.has(version, of_twin)


@pytest.fixture
def logs(tmp_path: Path) -> Iterator[list[Log]]:
    yield [Registry.create(tmp_path, clock=lambda: NOON), MemoryLog(clock=lambda: NOON)]


def test_a_receipt_has_the_mark_of_its_version(logs: list[Log]) -> None:
    for log in logs:
        for receipt in (log.add(table([("a", "fire", "", None, None)])), log.put([], ["a"])):
            assert log.has(receipt.version, receipt.mark)
        assert not log.has(1, receipt.mark)


def test_a_follower_of_either_twin_is_current_after_each_change(logs: list[Log]) -> None:
    for log in logs:
        follower = Follower(log)
        for name in "abc":
            receipt = log.put([(name, "fire", "", "", None, None)])
            follower.take(receipt.version, log.changes(follower.version))
            assert follower.is_current() and follower.mark == receipt.mark


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=40), st.integers(0, 5))
def test_a_log_in_memory_forgets_what_its_history_does_not_need(ops: list[tuple[str, bool]], versions: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "_FEW", 2)
        short, whole = MemoryLog(clock=lambda: NOON, history=History(versions)), MemoryLog(clock=lambda: NOON)
        for name, is_added in ops:
            for log in (short, whole):
                log.put([(name, "fire", "", "", None, None)]) if is_added else log.put([], [name])
        folded = 3 + versions + 1  # what lives, the kept versions, and the row of the last commit before these
        assert short.changes().num_rows <= 2 * folded  # as many again may have come since it was folded
        for version in range(short.horizon, short.version + 1):
            assert short.snapshot(version).sort_by("id") == whole.snapshot(version).sort_by("id")
            assert fold(short.changes(-1, version)).num_rows == whole.snapshot(version).num_rows
        for version in range(1, short.horizon):
            with pytest.raises(HistoryError, match="forgotten"):
                short.snapshot(version)


def test_without_a_history_only_what_was_not_reached_is_kept() -> None:
    log = MemoryLog(history=None)
    log.put([("a", "fire", "", "", None, None)])
    log.add(pa.table({"id": ["b"], "query": ["rain"]}))
    assert log.changes(0)["id"].to_pylist() == ["a", "b"]
    log.reached(1)
    assert log.changes(1)["id"].to_pylist() == ["b"]
    log.reached(2)
    assert log.changes(2).num_rows == 0 and log.version == 2
    for read in (log.snapshot, log.changes, lambda: log.expire(NOON)):
        with pytest.raises(HistoryError, match="keeps no history"):
            read()


def test_an_analyser_is_an_analyser() -> None:
    with pytest.raises(DataError, match=r"got 'english'"):
        MemoryLog("english")  # type: ignore[arg-type]
