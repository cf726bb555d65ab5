"""What would people subscribe to who watch stocks? One of six templates, with figures of the same stock."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidings.language import to_text
from tidings.model import DataError, Equals
from tidings.workloads.draws import IntArray
from tidings.workloads.subscriptions import check_count, subscription_table


class Template(IntEnum):
    """The templates of [PADRES] 6.2 in the order in which they are printed."""

    HIGH = 0
    LOW = 1
    VOLUME = 2
    SYMBOL = 3
    ANY_VOLUME = 4
    ANY = 5


PROBABILITIES: dict[Template, float] = {
    Template.HIGH: 0.20,
    Template.LOW: 0.20,
    Template.VOLUME: 0.20,
    Template.SYMBOL: 0.34,
    Template.ANY_VOLUME: 0.05,
    Template.ANY: 0.01,
}


def stock_subscriptions(stocks: pa.Table, count: int, seed: int) -> pa.Table:
    """``count`` subscriptions (id, query, subscriber) to a table of quotes, generated or read.

    Every stock is as likely as any other; SUB_HIGH, SUB_LOW and SUB_VOLUME are those of a random quote of it.

    Implements [PADRES] 6.2, in tidings' own language. Departs from the paper: quotes without high, low or volume are
    no source.

    >>> from tidings.workloads import Stocks
    >>> stock_subscriptions(Stocks().table(1000), 2, seed=1)["query"].to_pylist()
    ['class:STOCK symbol:PVM volume:>2017000', 'class:STOCK volume:>550400']
    """
    check_count(count)
    source = _source(stocks)
    rng = np.random.default_rng(seed)
    template = rng.choice(len(PROBABILITIES), size=count, p=list(PROBABILITIES.values()))
    symbol, quote = _drawn(source["symbol"], count, rng)
    drawn = source.take(pa.array(quote))
    symbols = pa.array([" " + to_text(Equals("symbol", name)) for name in symbol.dictionary.to_pylist()])
    named = pc.if_else(pa.array(template <= Template.SYMBOL), symbols.take(symbol.indices.take(pa.array(quote))), "")
    return subscription_table(pc.binary_join_element_wise("class:STOCK", named, _condition(template, drawn), ""), rng)


def _source(stocks: pa.Table) -> pa.Table:
    needed = ["symbol", "high", "low", "volume"]
    if missing := set(needed) - set(stocks.column_names):
        raise DataError(f"quotes have symbol, high, low and volume; the table lacks {', '.join(sorted(missing))}")
    source = stocks.select(needed).drop_null()
    for figure in needed[1:]:
        source = source.filter(pc.is_finite(source[figure].cast(pa.float64())))
    if not source.num_rows:
        raise DataError("there is no quote with symbol, high, low and volume to take figures from")
    return source


def _drawn(symbols: pa.ChunkedArray, count: int, rng: np.random.Generator) -> tuple[pa.DictionaryArray, IntArray]:
    """The symbols as codes, and a random quote of each of ``count`` random symbols."""
    coded = symbols.combine_chunks().dictionary_encode()
    codes = coded.indices.to_numpy()
    by_symbol = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    starts = np.cumsum(sizes) - sizes
    picked = rng.integers(len(sizes), size=count)
    return coded, by_symbol[starts[picked] + rng.integers(sizes[picked])]


def _condition(template: IntArray, drawn: pa.Table) -> pa.Array:
    """`` high:>31.75`` and the like; nothing where the template has none."""
    high = pc.binary_join_element_wise(" high:>", drawn["high"].cast(pa.string()), "")
    low = pc.binary_join_element_wise(" low:<", drawn["low"].cast(pa.string()), "")
    volume = pc.binary_join_element_wise(" volume:>", drawn["volume"].cast(pa.string()), "")
    return pc.choose(pa.array(template), high, low, volume, "", volume, "")
