"""Are the live subscriptions those of a plain fold, whatever the order and the chunks of the log?"""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tidings.registry import fold, schemas
from tidings.registry.folding import in_order

Change = tuple[str, str, str]
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)

_changes = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "remove"]), st.sampled_from(["a", "b", "c", "é", "a "]), st.text(max_size=3)
    ),
    max_size=30,
)


def log(changes: list[Change], commits: list[int]) -> pa.Table:
    """A log of these changes; the next commit begins before each of the row numbers ``commits``."""
    rows = []
    for number, (op, name, query) in enumerate(changes):
        version = 1 + sum(commit <= number for commit in commits)
        first = max((commit for commit in commits if commit <= number), default=0)
        asked = (
            {"query": query, "subscriber": f"of {name}", "tag": "", "since": None, "until": NOON} if op == "add" else {}
        )
        rows.append({"version": version, "position": number - first, "op": op, "id": name, "at": NOON, **asked})
    return pa.Table.from_pylist(rows, schemas.LOG)


def plain_fold(changes: list[Change], commits: list[int]) -> list[tuple[str, str, int]]:
    live: dict[str, tuple[str, int]] = {}
    for number, (op, name, query) in enumerate(changes):
        live.pop(name, None)
        if op == "add":
            live[name] = query, 1 + sum(commit <= number for commit in commits)
    return [(name, query, version) for name, (query, version) in live.items()]


def folded(table: pa.Table) -> list[tuple[str, str, int]]:
    return [(row["id"], row["query"], row["query_version"]) for row in fold(table).to_pylist()]


@given(_changes, st.lists(st.integers(1, 30), unique=True).map(sorted))
def test_folding_equals_a_plain_fold(changes: list[Change], commits: list[int]) -> None:
    assert folded(log(changes, commits)) == plain_fold(changes, commits)


@given(_changes, st.integers(0, 30))
def test_each_prefix_of_the_log_is_a_snapshot_of_its_time(changes: list[Change], length: int) -> None:
    assert folded(log(changes, []).slice(0, length)) == plain_fold(changes[:length], [])


@given(
    _changes,
    st.lists(st.integers(1, 30), unique=True).map(sorted),
    st.integers(1, 7),
    st.randoms(use_true_random=False),
)
def test_the_order_comes_from_the_columns_alone(
    changes: list[Change], commits: list[int], chunk: int, rng: random.Random
) -> None:
    table = log(changes, commits)
    shuffled = rng.sample(range(len(changes)), len(changes))
    pieces = [table.take(pa.array(shuffled[at : at + chunk], pa.int64())) for at in range(0, len(changes), chunk)]
    restored = in_order(pa.concat_tables(pieces)) if pieces else in_order(table)
    assert restored.equals(table)
    assert folded(restored) == plain_fold(changes, commits)


def test_a_snapshot_keeps_all_fields_and_drops_the_rest() -> None:
    table = fold(log([("add", "a", "fire")], []))
    assert table.schema == schemas.SNAPSHOT
    assert table.to_pylist() == [
        {"id": "a", "query": "fire", "subscriber": "of a", "tag": "", "since": None, "until": NOON, "query_version": 1}
    ]
