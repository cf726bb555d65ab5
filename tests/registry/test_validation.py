"""Is every bad row told, no good one lost, and does the fast way accept just what the parser accepts?"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tidings.analysis import Analyser
from tidings.language import parse
from tidings.model import DataError, QueryError
from tidings.registry import validation
from tidings.registry.columns import instant_column, text_column
from tidings.registry.schemas import INSTANT, SUBSCRIPTION
from tidings.registry.validation import Checked, check_ids, check_subscriptions

ENGLISH = Analyser()
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)

_queries = st.lists(
    st.sampled_from(
        ["fire", "Smoke", "the", "OR", "or", "AND", "NOT", "-", "(", ")", '"', " ", "é", "9", "a:1", "\n", ""]
    ),
    max_size=7,
).map(" ".join)


def check(**columns: object) -> Checked:
    return check_subscriptions(pa.table(columns), ENGLISH)


def raw_texts(*texts: bytes) -> pa.Array:
    """A text column of these bytes, valid or not, as foreign code may hand it over."""
    bounds = np.cumsum([0, *map(len, texts)]).astype(np.int32)
    return pa.Array.from_buffers(
        pa.string(), len(texts), [None, pa.py_buffer(bounds.tobytes()), pa.py_buffer(b"".join(texts))]
    )


def test_all_kinds_of_bad_rows_are_told_and_their_neighbours_accepted() -> None:
    early, late = NOON - timedelta(days=1), NOON
    rows: list[tuple[str | None, str | None, datetime | None, datetime | None, str]] = [
        ("good", "white house", early, late, ""),
        ("", "fire", None, None, "a subscription needs an id that is not empty"),
        (None, "fire", None, None, "a subscription needs an id that is not empty"),
        ("", "(", late, early, "a subscription needs an id that is not empty"),
        ("no query", None, None, None, "query, column 1: the query is empty"),
        ("blank", "  ", None, None, "query, column 1: the query is empty"),
        ("unbalanced", "(fire", None, None, "query, column "),
        ("stop words", "the of", None, None, "query, column 1"),
        ("too long", "x" * 70_000, None, None, "query, column 65537: 70,000 characters are too long"),
        ("control", "fire\0", None, None, "query, column 5: '\\x00' is a control character"),
        ("same again", "(fire", None, None, "query, column "),
        (
            "backwards",
            "fire",
            late,
            early,
            "it ends at 2024-04-30T12:00:00Z, not after it begins at 2024-05-01T12:00:00Z",
        ),
        ("momentary", "fire", late, late, "it ends at 2024-05-01T12:00:00Z, not after"),
        ("good too", "fire OR smoke", None, late, ""),
    ]
    ids, queries, since, until, reasons = zip(*rows, strict=True)
    checked = check(id=ids, query=queries, since=since, until=until)
    assert checked.accepted["id"].to_pylist() == ["good", "good too"]
    assert [row.id for row in checked.rejected] == [name or "" for name, *_, reason in rows if reason]
    for row, reason in zip(checked.rejected, filter(None, reasons), strict=True):
        assert row.kind == "subscription" and row.reason.startswith(reason)
    assert checked.rejected[5].source == "(fire"


def test_bytes_that_are_no_utf8_are_a_problem_of_their_row_alone() -> None:
    checked = check(
        id=raw_texts(b"a", b"b\xff", b"c", b"d"),
        query=raw_texts(b"fire", b"smoke", b"\xe4\xb8 fire", b"r\xc3\xa9"),
        tag=raw_texts(b"", b"", b"", b"\xfe"),
    )
    assert checked.accepted["id"].to_pylist() == ["a"]
    assert [(row.id, row.reason, row.source) for row in checked.rejected] == [
        ("b�", "its id is not valid UTF-8", "smoke"),
        ("c", "its query is not valid UTF-8", "� fire"),
        ("d", "its tag is not valid UTF-8", "ré"),
    ]


@examples(300)
@given(st.lists(_queries, min_size=1, max_size=8))
def test_a_query_is_accepted_if_and_only_if_the_parser_reads_it(queries: list[str]) -> None:
    expected = []
    for number, query in enumerate(queries):
        try:
            parse(query)
        except QueryError as error:
            expected.append((str(number), str(error), query))
    checked = check(id=[str(number) for number in range(len(queries))], query=queries)
    assert [(row.id, row.reason, row.source) for row in checked.rejected] == expected
    assert checked.accepted.num_rows == len(queries) - len(expected)


def test_plain_queries_do_not_pass_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    monkeypatch.setattr(validation, "parse", lambda text, analyser: read.append(text))
    plain = ["white house", "(white house)", "fires", "(white house)"]
    assert check(id=["a", "b", "c", "d"], query=plain).accepted["query"].to_pylist() == plain
    assert read == ["(white house)"]


def test_absent_text_is_empty_and_absent_instants_are_null() -> None:
    checked = check(id=["a", "b"], query=["fire", "rain"], subscriber=["ann", None])
    assert checked.accepted.schema == SUBSCRIPTION
    assert checked.accepted.to_pylist()[1] == {
        "id": "b", "query": "rain", "subscriber": "", "tag": "", "since": None, "until": None
    }  # fmt: skip


def test_an_empty_bulk_is_accepted() -> None:
    checked = check_subscriptions(pa.table({"id": [], "query": []}), ENGLISH)
    assert (checked.accepted.num_rows, checked.accepted.schema, checked.rejected) == (0, SUBSCRIPTION, ())


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["1", None, "2"]),
        pa.array(["1", None, "2"], pa.large_string()),
        pa.array(["1", None, "2"], pa.string_view()),
        pa.array(["1", None, "2"]).dictionary_encode(),
        pa.array([1, None, 2], pa.uint16()),
        pa.chunked_array([["1"], [None, "2"]]),
        pa.chunked_array([pa.array(["1", None]).dictionary_encode(), pa.array(["2"]).dictionary_encode()]),
        pa.array(["0", "1", None, "2"]).slice(1),
    ],
)
def test_all_layouts_of_text_are_read(column: pa.Array | pa.ChunkedArray) -> None:
    assert text_column("id", column).values.to_pylist() == ["1", None, "2"]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([NOON, None]),
        *(pa.array([NOON, None], pa.timestamp(unit, tz="UTC")) for unit in ("s", "ms", "us", "ns")),
        pa.array([NOON.replace(tzinfo=None), None], pa.timestamp("ms")),
        pa.array([NOON.astimezone(timezone(timedelta(hours=5))), None], pa.timestamp("us", tz="Asia/Karachi")),
        pa.array(["2024-05-01T12:00:00Z", None]),
        pa.array(["2024-05-01T14:00:00+02:00", None], pa.string_view()),
        pa.chunked_array([pa.array([NOON]), pa.array([None], pa.timestamp("us", tz="UTC"))]),
    ],
)
def test_all_layouts_of_instants_are_read(column: pa.Array | pa.ChunkedArray) -> None:
    found = instant_column("until", column)
    assert found.values.type == INSTANT and found.values.to_pylist() == [NOON, None] and not found.problems


def test_dates_are_their_midnight_and_nanoseconds_are_cut_off() -> None:
    for kind in (pa.date32(), pa.date64()):
        column = instant_column("since", pa.array([date(1969, 12, 30), None], kind))
        assert column.values.to_pylist() == [datetime(1969, 12, 30, tzinfo=UTC), None]
    ticks = instant_column("since", pa.array([1_999, -1], pa.timestamp("ns")))
    assert ticks.values.cast(pa.int64()).to_pylist() == [1, -1]
    assert instant_column("since", pa.nulls(2)).values.to_pylist() == [None, None]


def test_instants_that_python_cannot_hold_are_rejected() -> None:
    for column in (
        pa.array([2**62, 0, -(2**62)], pa.timestamp("s")),
        pa.array([2**31 - 1, 0, -(2**31)], pa.date32()),
        pa.array([2**63 - 1, 0, -(2**63)], pa.timestamp("us")),
    ):
        found = instant_column("until", column)
        assert found.problems == dict.fromkeys([0, 2], "its until is not in the years 1 to 9999")
        assert found.values[1].as_py() == datetime(1970, 1, 1, tzinfo=UTC)
    checked = check(id=["a", "b"], query=["fire", "fire"], until=["soon", "2024-02-30"])
    assert [row.reason[:27] for row in checked.rejected] == [
        "its until is no instant: 's",
        "its until is no instant: '2",
    ]


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"id": ["a"]}, r"expected one column 'query', got id; a table of subscriptions has id and query"),
        ({}, r"expected one column 'id', got none at all"),
        ({"id": ["a"], "query": ["fire"], "untill": [NOON]}, r"cannot use the column 'untill'.*drop or rename it"),
        ({"id": [1.5], "query": ["fire"]}, r"column 'id' is expected to be text, got double"),
        ({"id": ["a"], "query": [b"fire"]}, r"column 'query' is expected to be text, got binary"),
        ({"id": ["a"], "query": ["fire"], "until": [7]}, r"column 'until' is expected to be instants.*got int64"),
    ],
)
def test_a_table_with_wrong_columns_is_refused(columns: dict[str, list[object]], problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        check(**columns)


def test_ids_to_remove_are_checked_too() -> None:
    checked = check_ids(["a", "", "b"])
    assert checked.accepted.to_pydict() == {"id": ["a", "b"]}
    assert [row.reason for row in checked.rejected] == ["a subscription needs an id that is not empty"]
    assert check_ids(pa.array([7, 8])).accepted["id"].to_pylist() == ["7", "8"]
    assert check_ids([]).accepted.num_rows == 0
    for wrong in ("s1", ["a", 1], ["\ud800"]):
        with pytest.raises(DataError, match="expected"):
            check_ids(wrong)
