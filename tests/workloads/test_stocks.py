"""Are quotes and their subscriptions those of [PADRES] 6.2?"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tidings.language import evaluate, parse
from tidings.model import DataError, Publication
from tidings.tables import publications
from tidings.workloads import Stocks, Template, stock_subscriptions
from tidings.workloads.templates import PROBABILITIES

STOCKS = Stocks(seed=3, symbols=20).table(2000)


def test_a_seed_gives_the_same_quotes_and_another_seed_others() -> None:
    assert Stocks(seed=3, symbols=20).table(2000).equals(STOCKS)
    assert not Stocks(seed=4, symbols=20).table(2000)["close"].equals(STOCKS["close"])


@pytest.mark.parametrize(("start", "count"), [(0, 7), (13, 100), (1999, 1), (40, 0)])
def test_any_slice_equals_the_same_rows_of_a_larger_table(start: int, count: int) -> None:
    assert Stocks(seed=3, symbols=20).table(count, start=start).equals(STOCKS.slice(start, count))


def test_every_symbol_has_one_quote_a_working_day() -> None:
    days = STOCKS["date"].to_pylist()
    assert days[0] == date(1996, 4, 12) and all(day.weekday() < 5 for day in days)
    assert len(set(STOCKS["id"].to_pylist())) == len(STOCKS)
    assert set(Counter(STOCKS["symbol"].to_pylist()).values()) == {100}
    assert STOCKS["symbol"][0].as_py() == "YHOO"


def test_low_and_high_enclose_open_and_close() -> None:
    low, high = STOCKS["low"].to_numpy(), STOCKS["high"].to_numpy()
    for name in ("open", "close"):
        price = STOCKS[name].to_numpy()
        assert (low <= price).all() and (price <= high).all()
    assert low.min() > 0 and pc.min(STOCKS["volume"]).as_py() > 0


def test_prices_walk_and_do_not_jump() -> None:
    closes = STOCKS["close"].to_numpy().reshape(100, 20)
    assert np.abs(np.diff(np.log(closes), axis=0)).max() < 0.15
    assert np.std(np.log(closes[-1] / closes[0])) > 0.05


def _template(query: str) -> Template:
    found = re.fullmatch(r"class:STOCK( symbol:\S+)?( (high:>|low:<|volume:>)\S+)?", query)
    assert found, query
    named, condition = found[1], found[3]
    if named:
        return {"high:>": Template.HIGH, "low:<": Template.LOW, "volume:>": Template.VOLUME}.get(
            condition, Template.SYMBOL
        )
    return Template.ANY_VOLUME if condition else Template.ANY


def test_templates_come_with_their_printed_probabilities() -> None:
    count = 50_000
    found = Counter(map(_template, stock_subscriptions(STOCKS, count, 1)["query"].to_pylist()))
    assert list(PROBABILITIES.values()) == [0.20, 0.20, 0.20, 0.34, 0.05, 0.01]
    for template, probability in PROBABILITIES.items():
        assert abs(found[template] / count - probability) < 4 * (probability / count) ** 0.5


def test_figures_are_those_of_the_same_stock() -> None:
    figures: dict[str, set[str]] = defaultdict(set)
    for row in STOCKS.to_pylist():
        figures[row["symbol"]] |= {f"{name}{row[name.rstrip(':<>')]:g}" for name in ("high:>", "low:<")}
        figures[row["symbol"]].add(f"volume:>{row['volume']}")
    for query in stock_subscriptions(STOCKS, 2000, 1)["query"].to_pylist():
        if _template(query) in (Template.HIGH, Template.LOW, Template.VOLUME):
            _, symbol, condition = query.split()
            assert condition in figures[symbol.removeprefix("symbol:")]


def test_symbols_are_drawn_alike_whatever_the_number_of_their_quotes() -> None:
    uneven = pa.concat_tables([STOCKS, STOCKS.filter(pc.equal(STOCKS["symbol"], "YHOO"))] * 3)
    queries = stock_subscriptions(uneven, 20_000, 1)["query"].to_pylist()
    symbols = Counter(query.split()[1] for query in queries if " symbol:" in query)
    assert len(symbols) == 20
    assert symbols["symbol:YHOO"] < 1.2 * np.mean(list(symbols.values()))


def test_every_query_parses_and_answers_as_its_template_says() -> None:
    quotes = [row for row in publications(STOCKS.slice(0, 200)) if isinstance(row, Publication)]
    for query in stock_subscriptions(STOCKS, 100, 1)["query"].to_pylist():
        parsed = parse(query)
        found = sum(evaluate(parsed, quote) for quote in quotes)
        if _template(query) == Template.ANY:
            assert found == 200
        if _template(query) == Template.SYMBOL:
            assert found == 10


def test_a_seed_gives_the_same_subscriptions_and_another_seed_others() -> None:
    ours = stock_subscriptions(STOCKS, 300, 1)
    assert ours.equals(stock_subscriptions(STOCKS, 300, 1))
    assert not ours.equals(stock_subscriptions(STOCKS, 300, 2))


def test_awkward_symbols_and_missing_figures_give_valid_queries() -> None:
    symbols = ["BRK.B", 'A "B"', "C\\D", "AND", "a..b", "X"]
    high = [1e-7, 1e20, 3.5, 0.1, 7.0, None]
    stocks = pa.table({"symbol": symbols, "high": high, "low": [0.5] * 6, "volume": [1] * 6})
    queries = set(stock_subscriptions(stocks, 500, 1)["query"].to_pylist())
    for symbol in symbols[:-1]:
        quote = Publication("q", attributes={"class": "STOCK", "symbol": symbol, "high": 1e30, "low": 0, "volume": 2})
        assert sum(evaluate(parse(query), quote) for query in queries if " symbol:" in query) == 4
    assert not any("symbol:X" in query for query in queries)


def test_tables_and_options_that_cannot_be_used_are_refused() -> None:
    with pytest.raises(DataError, match="lacks high, low, volume"):
        stock_subscriptions(pa.table({"symbol": ["A"]}), 1, 1)
    with pytest.raises(DataError, match="no quote"):
        stock_subscriptions(STOCKS.slice(0, 0), 1, 1)
    with pytest.raises(DataError, match="symbols"):
        Stocks(symbols=0)
    with pytest.raises(DataError, match="-5"):
        stock_subscriptions(STOCKS, -5, 1)
