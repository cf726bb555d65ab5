"""Does every row become a publication or a rejection with a reason?"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from tidings.model import Publication, Rejected
from tidings.tables import publications
from tidings.tables.canonical import canonical
from tidings.tables.checked import Publications
from tidings.tables.columns import ABSENT, column_keys, instant_key
from tidings.tables.validity import rejected_rows

MIDNIGHT = datetime(2020, 1, 2, tzinfo=UTC)


def _one(**columns: object) -> Publication | Rejected:
    table = pa.table({"id": ["p"], **columns})
    [row] = publications(table)
    return row


def _publication(**columns: object) -> Publication:
    row = _one(**columns)
    assert isinstance(row, Publication), row
    return row


def _reason(**columns: object) -> str:
    row = _one(**columns)
    assert isinstance(row, Rejected), row
    assert row.kind == "publication" and row.source == "row 0"
    return row.reason


def test_known_columns_are_fields_and_the_others_attributes() -> None:
    post = _publication(text=["hi"], ts=[MIDNIGHT], lat=[1.5], lon=[2], topic=["a/b"], likes=[3], ok=[True])
    assert post == Publication("p", "hi", MIDNIGHT, 1.5, 2, ("a/b",), {"likes": 3, "ok": True})


def test_nulls_are_absent() -> None:
    nulls = {name: pa.nulls(1) for name in ("text", "ts", "lat", "lon", "topic", "likes")}
    assert _publication(**nulls) == Publication("p")


def test_a_topic_may_be_a_list() -> None:
    assert _publication(topic=[["a/b", "c"]]).topics == ("a/b", "c")
    assert _publication(topic=pa.array([[]], pa.list_(pa.string()))).topics == ()


def test_dates_are_midnight_in_utc_and_instants_may_be_text_or_nanoseconds() -> None:
    assert _publication(ts=[date(2020, 1, 2)]).ts == MIDNIGHT
    assert _publication(ts=["2020-01-02"]).ts == MIDNIGHT
    assert _publication(due=[date(2020, 1, 2)]).value("due") == MIDNIGHT
    assert _publication(ts=pa.array([1], pa.timestamp("ns"))).ts == datetime(1970, 1, 1, tzinfo=UTC)


def test_degrees_may_be_text() -> None:
    post = _publication(lat=["-33.86"], lon=[" 151.21"])
    assert (post.lat, post.lon) == (-33.86, 151.21)


def test_decimals_are_numbers() -> None:
    assert _publication(price=[Decimal("1.50")]).value("price") == 1.5
    assert _publication(volume=[Decimal("300000")]).value("volume") == 300000


def test_an_id_may_be_a_number() -> None:
    assert _publication(id=[7]).id == "7"


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"id": [None]}, "needs an id"),
        ({"lat": [95.0], "lon": [0.0]}, "lat is between"),
        ({"lat": [1.0]}, "both lat and lon"),
        ({"lat": ["x"], "lon": [1.0]}, "lat is a number of degrees, got 'x'"),
        ({"ts": ["yesterday"]}, "ts is an instant.*got 'yesterday'"),
        ({"ts": [5]}, "ts is an instant.*got 5"),
        ({"text": [5]}, "text is a int"),
        ({"topic": ["a//b"]}, "not a path"),
        ({"topic": [7]}, "topic is a int"),
        ({"topic": [["a", None]]}, "topic is a NoneType"),
        ({"price": [float("nan")]}, "not a finite number"),
        ({"lat": ["1,5"], "lon": ["2"]}, "lat is a number of degrees, got '1,5'"),
        ({"lat": ["91"], "lon": ["2"]}, "lat is between"),
        ({"prices": [[1.0, float("nan")]]}, "not a finite number"),
        ({"n": [[1] * 10_001]}, "'n' has 10,001 values; at most 10,000"),
        ({"ts": pa.array([2**60], pa.timestamp("us"))}, "cannot be read"),
        ({"text": pa.array([b"\xff"]).cast(pa.binary()).view(pa.string())}, "cannot be read"),
    ],
)
def test_a_bad_row_is_rejected_with_its_reason(columns: dict[str, object], reason: str) -> None:
    assert re.search(reason, _reason(**columns))


def test_a_bad_row_stops_neither_its_batch_nor_its_neighbours() -> None:
    instants = pa.array([0, 2**60, 1], pa.timestamp("us"))
    table = pa.table({"id": ["a", "b", "c"], "ts": instants, "lat": [None, None, 91.0], "lon": [None, None, 1.0]})
    first, second, third = publications(pa.concat_tables([table, table.slice(0, 0)]))
    assert isinstance(first, Publication) and first.id == "a"
    assert isinstance(second, Rejected) and second.source == "row 1"
    assert isinstance(third, Rejected) and third.id == "c" and third.source == "row 2"


def test_an_empty_table_has_no_rows() -> None:
    assert list(publications(pa.table({"id": pa.array([], pa.string())}))) == []


def test_instants_are_compared_by_whole_microseconds() -> None:
    column = pa.chunked_array([pa.array([1_999, None, -1_000], pa.timestamp("ns"))])
    assert column_keys(column).tolist() == [1, ABSENT, -1]
    assert instant_key(datetime(1970, 1, 2, 0, 0, 3, 4, tzinfo=UTC)) == 86_403_000_004


@pytest.mark.parametrize("ts", [pa.array(["2020-01-01", "never"]), pa.array([1, None]).cast(pa.int64())])
def test_rows_are_refused_alike_column_by_column_and_one_by_one(ts: pa.Array) -> None:
    """Instants that are no instants yet are looked at row by row."""
    table = pa.table({"id": ["p", "q"], "ts": ts, "price": pa.array([Decimal("1.5"), None])})
    one_by_one = {at: row.reason for at, row in enumerate(publications(table)) if isinstance(row, Rejected)}
    assert {at: row.reason for at, row in rejected_rows(table).items()} == one_by_one != {}


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"topic": ["a/" * 100 + "b"]}, "101 steps; at most 100"),
        ({"topic": [["a"] * 1_001]}, "1,001 topics; at most 1,000"),
        ({"note": ["x" * 1_000_001]}, "1,000,001 characters; at most 1,000,000"),
        ({"text": ["x" * 1_000_001]}, "1,000,001 characters; at most 1,000,000"),
        pytest.param(
            {f"n{n}": [n] for n in range(10_001)}, "10,001 attributes; at most 10,000", marks=pytest.mark.thorough
        ),
    ],
)
def test_a_row_over_a_limit_is_rejected_alike_by_row_and_by_column(columns: dict[str, object], reason: str) -> None:
    assert reason in _reason(**columns)
    table = pa.table({"id": ["p"], **columns})
    assert reason in rejected_rows(table)[0].reason
    assert len(Publications.of(table)) == 0


def test_a_column_of_nothing_is_text_where_text_belongs_and_stays_elsewhere() -> None:
    columns = {
        "text": pa.nulls(2),
        "topic": pa.nulls(2),
        "price": pa.nulls(2, pa.float64()),
        "on": pa.nulls(2, pa.bool_()),
    }
    table = canonical(pa.table({"id": ["p", "q"], **columns}))
    kinds = {name: table.schema.field(name).type for name in columns}
    assert kinds == {"text": pa.string(), "topic": pa.string(), "price": pa.float64(), "on": pa.bool_()}


def test_an_id_that_is_an_instant_is_its_text() -> None:
    table = pa.table({"id": pa.array([0, 1], pa.timestamp("us", "UTC")), "ts": pa.array([0, 1], pa.timestamp("us"))})
    names = Publications.of(table).table["id"].to_pylist()
    assert [row.id for row in publications(table)] == names
    assert names == ["1970-01-01 00:00:00+00:00", "1970-01-01 00:00:00.000001+00:00"]
