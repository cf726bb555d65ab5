"""Are files read into the usual columns, and are wrong ones refused with what was expected?"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidings.analysis import Analyser
from tidings.language import parse
from tidings.model import DataError, Publication
from tidings.tables import publications
from tidings.workloads import (
    Stocks,
    q3,
    read_stocks,
    read_topics,
    read_traffic,
    read_tweets,
    stock_subscriptions,
    tweet_based,
)

Reader = Callable[..., pa.Table]
NOON = datetime(2020, 1, 2, 12, tzinfo=UTC)


def _written(folder: Path, columns: dict[str, object]) -> Path:
    path = folder / "some.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def test_tweets_get_text_ids_and_instants_in_utc(tmp_path: Path) -> None:
    instants = pa.array([NOON, NOON], pa.timestamp("ms", tz="UTC"))
    path = _written(tmp_path, {"id": [2**60, 7], "ts": instants, "user": ["a", "b"], "text": ["x", "y"]})
    table = read_tweets(path)
    assert table["id"].to_pylist() == [str(2**60), "7"]
    assert table.schema.field("ts").type == pa.timestamp("us", tz="UTC")
    assert read_tweets(str(path), rows=1).equals(table.slice(0, 1))


def test_traffic_keeps_places_and_attributes(tmp_path: Path) -> None:
    columns: dict[str, object] = {
        "is_new": [True],
        "id": [1],
        "ts": pa.array([NOON], pa.timestamp("us", tz="UTC")),
        "lat": [-33.5],
        "lon": [151.0],
        "text": ["CRASH"],
        "kind": ["incident"],
        "category": ["CRASH"],
        "hazard_id": [5],
        "unknown": ["left out"],
    }
    [alert] = publications(read_traffic(_written(tmp_path, columns)))
    assert isinstance(alert, Publication)
    assert (alert.id, alert.ts, alert.lat, alert.lon, alert.text) == ("1", NOON, -33.5, 151.0, "CRASH")
    assert dict(alert.attributes) == {"kind": "incident", "category": "CRASH", "hazard_id": 5, "is_new": True}


def test_stocks_read_have_the_columns_of_stocks_generated(tmp_path: Path) -> None:
    columns: dict[str, object] = {
        "symbol": ["YHOO"],
        "date": [date(1996, 4, 12)],
        "open": pa.array([None], pa.float64()),
        "high": [43.0],
        "low": [24.5],
        "close": [33.0],
        "volume": [17030000],
    }
    table = read_stocks(_written(tmp_path, columns))
    assert table.schema == Stocks().table(1).schema
    [quote] = publications(table)
    assert isinstance(quote, Publication)
    assert quote.id == "YHOO-1996-04-12" and quote.value("class") == "STOCK" and quote.value("open") is None
    assert quote.value("date") == quote.ts == datetime(1996, 4, 12, tzinfo=UTC)


def test_topics_are_paths(tmp_path: Path) -> None:
    table = read_topics(_written(tmp_path, {"path": ["sports", "sports/soccer"], "source": ["iptc", "iptc"]}))
    assert [row.topics for row in publications(table) if isinstance(row, Publication)] == [
        ("sports",),
        ("sports/soccer",),
    ]


@pytest.mark.parametrize(
    ("reader", "column"),
    [(read_tweets, "user"), (read_traffic, "hazard_id"), (read_stocks, "volume"), (read_topics, "path")],
)
def test_a_missing_file_is_refused_with_what_is_expected(reader: Reader, column: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=rf"there is no file '.*absent.parquet'.*{column}"):
        reader(tmp_path / "absent.parquet")


@pytest.mark.parametrize("reader", [read_tweets, read_traffic, read_stocks, read_topics])
def test_a_file_of_another_kind_is_refused_with_what_is_expected(reader: Reader, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"lacks .*; expected"):
        reader(_written(tmp_path, {"other": [1]}))
    path = tmp_path / "text.parquet"
    path.write_text("not parquet at all")
    with pytest.raises(DataError, match=r"cannot be read.*; expected"):
        reader(path)


def test_a_column_of_another_type_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_topics(_written(tmp_path, {"path": [["a", "b"]], "source": ["x"]}))


@pytest.mark.slow
def test_the_real_files_are_read_and_give_valid_publications_and_queries(data: Path) -> None:
    tweets = read_tweets(data / "tweets.parquet", rows=20_000)
    traffic = read_traffic(data / "traffic.parquet", rows=5_000)
    stocks = read_stocks(data / "stocks.parquet")
    topics = read_topics(data / "topics.parquet")
    for table in (tweets, traffic, stocks.slice(0, 20_000), topics):
        assert all(isinstance(row, Publication) for row in publications(table))
    analyser = Analyser()
    subscriptions = [
        tweet_based(tweets["text"], 20_000, 1, analyser),
        tweet_based(tweets["text"], 20_000, 1, analyser, words=(2, 4)),
        tweet_based(traffic["text"], 5_000, 1, analyser),
        q3(traffic, 20_000, 1, analyser),
        stock_subscriptions(stocks, 20_000, 1),
    ]
    for table in subscriptions:
        for query in table["query"].to_pylist():
            parse(query)
