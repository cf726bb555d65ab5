"""Columns of every type: the index must see in them what the reference sees, row by row."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal

import pyarrow as pa
import pytest

from tests.index.strategies import NOW
from tidings.index import BruteForce, GuardIndex
from tidings.language import parse
from tidings.model import DataError, Subscription
from tidings.tables.rows import publications
from tidings.tables.validity import rejected_rows

QUERIES = (
    "v:1", "v:2", "v:2.0", "v:0.35", "v:<=0.35", "v:[0.35 TO 0.35]", "v:>1", "v:{1 TO 3}", "v:true", "v:a*", "v:*b",
    "has:v", "v:2020-01-01", "v:>=2020-01-01", "v:[2020-01-01 TO 2020-01-01]", "v:>9007199254740992",
    "v:9007199254740993", "v:{1 TO 1.0000000000000002} OR fire", "v:>1.7976931348623157e308 OR fire",
    "v:{0 TO 5e-324} OR fire", "ts:>2020-01-01", 'ts:"2020-06-01"', "ts:>9999-12-31T23:59:59.999999Z OR fire",
    "ts:<0001-01-01 OR fire", "has:ts", "id:p1", "id:5", "id:>3", "id:1*", "has:topic", "topic:1", "topic:a",
    "topic:a/b", "fire", "has:text", "lat:>0", "has:lat", "bounding_box:[0 0 10 10]",
)  # fmt: skip
_instants = [datetime(2020, 1, 1), datetime(2020, 1, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999)]
_nested = pa.list_(pa.string())
COLUMNS: dict[str, dict[str, pa.Array]] = {
    **{f"v {kind}": {"v": pa.array([1, 2, None]).cast(kind)} for kind in (pa.int8(), pa.uint64(), pa.float32())},
    "v decimal": {"v": pa.array([Decimal("0.35"), Decimal("2.00"), Decimal("1.10")], pa.decimal128(10, 2))},
    "v big": {"v": pa.array([2**53, 2**53 + 1, 2**62])},
    "v dictionary of numbers": {"v": pa.array([2, 5, None]).dictionary_encode()},
    "v dictionary of text": {"v": pa.array(["ab", "b", None]).dictionary_encode()},
    "v large text": {"v": pa.array(["ab", "", "2.0"], pa.large_string())},
    "v text view": {"v": pa.array(["ab", "true", None], pa.string_view())},
    "v truth": {"v": pa.array([True, False, None])},
    "v null": {"v": pa.nulls(3)},
    **{f"v instants in {unit}": {"v": pa.array(_instants, pa.timestamp("us")).cast(pa.timestamp(unit), safe=False)}
       for unit in ("s", "ms", "us", "ns")},
    "v odd nanoseconds": {"v": pa.array([1577836800000000005, -5, -1500], pa.timestamp("ns"))},
    "v instants in a zone": {"v": pa.array(_instants, pa.timestamp("us", tz="Asia/Tokyo"))},
    "v dates": {"v": pa.array([date(2020, 1, 1), None, date(2021, 1, 1)])},
    "v dates with hours": {"v": pa.array([1577836800000, 1577840400000, None], pa.date64())},
    "v far instants": {"v": pa.array([18446744073710, 0, 1577836800], pa.timestamp("s"))},
    "v far dates": {"v": pa.array([10_000_000, 0, 18262], pa.date32())},
    "v not finite": {"v": pa.array([float("nan"), float("inf"), 2.0])},
    "v times": {"v": pa.array([time(1), None, None])},
    "v bytes": {"v": pa.array([b"a", None, b"b"])},
    "v lists": {"v": pa.array([["a"], None, []], _nested)},
    "v lists of text": {"v": pa.array([["ab", "b", "ab"], ["2.0", "x"], [None]], _nested)},
    "v lists of whole numbers": {"v": pa.array([[1, 2, 5], [2, 2], [0, 2**53 + 1]])},
    "v lists of numbers": {"v": pa.array([[0.35, 1.5, 1.75], [-1.0, 9.0], [1.7976931348623157e308]])},
    "v lists of truths": {"v": pa.array([[True, False], [None, True], None])},
    "v lists of dates": {"v": pa.array([[date(2020, 1, 1), date(2019, 1, 1)], [date(2021, 1, 1)], []])},
    "v lists of decimals": {"v": pa.array([[Decimal("0.35"), Decimal("2.00")], None, [Decimal("1.10")]])},
    "v lists of structs": {"w": pa.array([[{"v": 1}, {"v": 9}], [], None]), "v": pa.array([[[1], [3]], [[]], None])},
    "v lists not finite": {"v": pa.array([[float("nan"), 2.0], [2.0, 3.0], None])},
    "v lists of bytes": {"v": pa.array([[b"a"], None, []])},
    "v struct": {"v": pa.array([{"x": 1}, None, {"x": 2}])},
    "v broken": {"v": pa.array([b"a\xff", b"ab", None]).cast(pa.binary()).view(pa.string())},
    "ts text": {"ts": pa.array(["2020-06-01", "2020-06-01T02:00:00+02:00", None])},
    "ts bad text": {"ts": pa.array(["2020-06-01", "soon", None])},
    "ts dates": {"ts": pa.array([date(2020, 6, 1), date(2019, 1, 1), None])},
    "ts numbers": {"ts": pa.array([5, None, None])},
    "ids are numbers": {"id": pa.array([5, 15, 7])},
    "ids are floats": {"id": pa.array([5.0, 15.5, None])},
    "ids are bytes": {"id": pa.array([b"p1", b"\xff", None])},
    "topic numbers": {"topic": pa.array([1, None, 2])},
    "topic lists": {"topic": pa.array([["a/b", "a"], [], None], _nested)},
    "topic lists with nulls": {"topic": pa.array([["a", None], ["a//b"], ["a/b"]], _nested)},
    "topic paths": {"topic": pa.array(["a/b", "a//b", ""])},
    "text numbers": {"text": pa.array([1, None, 2])},
    "text view": {"text": pa.array(["fire", None, "no fire"], pa.string_view())},
    "text broken": {"text": pa.array([b"fire \xff", b"fire", None]).view(pa.string())},
    "lat whole": {"lat": pa.array([1, 2, None]), "lon": pa.array([1, 2, None])},
    "lat far out": {"lat": pa.array([2**60, 2, None]), "lon": pa.array([1, 2, None])},
    "lat text": {"lat": pa.array(["1", None, None]), "lon": pa.array([1.0, None, None])},
    "lat bad text": {"lat": pa.array(["1", "north", None]), "lon": pa.array(["1.5", "2", None])},
    "lat alone": {"lat": pa.array([1.0, None, None])},
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
def test_the_index_sees_what_the_reference_sees(name: str) -> None:
    base = {"id": pa.array(["p0", "p1", "p2"]), "text": pa.array(["fire", "a fire", "smoke"])}
    table = pa.table({**base, **COLUMNS[name]})
    asked = [Subscription(query, parse(query)) for query in QUERIES]
    asked.append(Subscription("old", parse("fire"), until=datetime(2020, 2, 1, tzinfo=UTC)))
    index, oracle = GuardIndex(clock=lambda: NOW), BruteForce(clock=lambda: NOW)
    sampled = GuardIndex(sample=table, clock=lambda: NOW)
    for matcher in (index, oracle, sampled):
        matcher.add(asked)
    expected = oracle.match(table).pairs()
    assert index.match(table).pairs() == expected
    assert sampled.match(table).pairs() == expected
    bad = {row for row, publication in enumerate(publications(table)) if not hasattr(publication, "text")}
    assert set(rejected_rows(table)) == bad


def test_two_columns_of_one_name_are_refused() -> None:
    table = pa.table([pa.array(["p"]), pa.array([1]), pa.array([2])], names=["id", "v", "v"])
    for matcher in (GuardIndex(), BruteForce()):
        with pytest.raises(DataError, match="two columns named 'v'"):
            matcher.match(table)
