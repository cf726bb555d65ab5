"""Random tables of publications in the small world of the language's tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from tests.language.strategies import PATHS, STOP_WORDS, SYMBOLS, WORDS, small_queries
from tidings.model import Subscription

NOW = datetime(2020, 1, 4, tzinfo=UTC)

_columns: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.string(): st.sampled_from([*SYMBOLS, "AB", "2", ""]),
    pa.int64(): st.integers(0, 5),
    pa.float64(): st.sampled_from([0.5, 2.0, 2.5, 4.0, -0.0]),
    pa.bool_(): st.booleans(),
    pa.timestamp("us", tz="UTC"): st.integers(1, 7).map(lambda day: datetime(2020, 1, day, tzinfo=UTC)),
    pa.date32(): st.integers(1, 7).map(lambda day: datetime(2020, 1, day).date()),
}


@st.composite
def _attribute(draw: st.DrawFn, rows: int) -> pa.Array:
    kind = draw(st.sampled_from(list(_columns)))
    values = st.none() | _columns[kind]
    if draw(st.booleans()):
        kind, values = pa.list_(kind), st.none() | st.lists(values, max_size=4)
    return pa.array(draw(st.lists(values, min_size=rows, max_size=rows)), kind)


@st.composite
def tables(draw: st.DrawFn, rows: int = 5) -> pa.Table:
    """A few publications: words, places, topics, attributes of any type, and now and then a row that is none."""
    words = st.lists(st.sampled_from(WORDS + STOP_WORDS), max_size=7).map(" ".join)
    place = st.none() | st.tuples(st.integers(0, 4).map(float), st.integers(0, 4).map(float))
    places = draw(st.lists(place | st.just((99.0, 0.0)), min_size=rows, max_size=rows))
    topics = draw(st.lists(st.lists(st.sampled_from(PATHS), max_size=2, unique=True), min_size=rows, max_size=rows))
    several = draw(st.booleans())
    topic = (
        pa.array(topics, pa.list_(pa.string()))
        if several
        else pa.array([t[0] if t else None for t in topics], pa.string())
    )
    columns = {
        "id": [f"p{row}" for row in range(rows)],
        "text": draw(st.lists(st.none() | words, min_size=rows, max_size=rows)),
        "lat": pa.array([p[0] if p else None for p in places], pa.float64()),
        "lon": pa.array([p[1] if p else None for p in places], pa.float64()),
        "topic": topic,
        "symbol": draw(_attribute(rows)),
        "price": draw(_attribute(rows)),
    }
    if draw(st.booleans()):
        days = draw(st.lists(st.none() | st.integers(1, 7), min_size=rows, max_size=rows))
        columns["ts"] = pa.array(
            [None if d is None else datetime(2020, 1, 1, tzinfo=UTC) + timedelta(days=d) for d in days],
            pa.timestamp("us", tz="UTC"),
        )
    dropped = draw(st.sets(st.sampled_from(["text", "topic", "symbol", "price"]), max_size=2))
    return pa.table({name: column for name, column in columns.items() if name not in dropped})


_days = st.none() | st.integers(1, 8)


@st.composite
def subscriptions(draw: st.DrawFn, name: str) -> Subscription:
    since, until = draw(_days), draw(_days)
    if since is not None and until is not None and since >= until:
        since = None
    at = [None if day is None else datetime(2020, 1, day, tzinfo=UTC) for day in (since, until)]
    return Subscription(name, draw(small_queries), since=at[0], until=at[1])
