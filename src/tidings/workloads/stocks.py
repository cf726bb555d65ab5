"""Where do stock quotes come from? A random walk for each symbol, one quote a working day."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidings.model import DataError

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("ts", pa.timestamp("us", tz="UTC")),
        ("class", pa.string()),
        ("symbol", pa.string()),
        ("open", pa.float64()),
        ("high", pa.float64()),
        ("low", pa.float64()),
        ("close", pa.float64()),
        ("volume", pa.int64()),
        ("date", pa.date32()),
    ]
)
"""The columns of a table of quotes, generated or read."""

MAX_SYMBOLS = 26**3
_OVERNIGHT, _DAILY, _WICK = 0.005, 0.02, 0.01  # standard deviations of the logarithm of a price
_CHEAPEST, _DEAREST = 0.01, 1e6

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Stocks:
    """A seeded source of quotes: so many ``symbols``, YHOO the first, one quote each a working day from ``since`` on.

    Follows the publications of [PADRES] 6.2. Departs from the paper: walks instead of real quotes (those are read by
    ``read_stocks``).

    >>> Stocks(seed=1).table(1).select(["symbol", "low", "high", "volume", "date"]).to_pylist()
    [{'symbol': 'YHOO', 'low': 32.64, 'high': 33.1, 'volume': 330700, 'date': datetime.date(1996, 4, 12)}]
    """

    seed: int = 0
    symbols: int = 100
    since: date = date(1996, 4, 12)

    def __post_init__(self) -> None:
        if not 1 <= self.symbols <= MAX_SYMBOLS:
            raise DataError(f"there are between 1 and {MAX_SYMBOLS:,} symbols, got {self.symbols:,}")

    def table(self, count: int, start: int = 0) -> pa.Table:
        """Rows [start, start + count): row i is symbol i % symbols on working day i // symbols.

        Row i depends on the options and i alone. A walk has no shortcut: the cost is that of all rows before the
        last one, some 2 million rows/s.
        """
        if count < 0 or start < 0:
            raise DataError(f"count and start are not below 0, got {count} and {start}")
        days = -(-(start + count) // self.symbols)
        rows = np.arange(start, start + count)
        prices = np.stack([column.ravel()[start : start + count] for column in self._walk(days)])
        symbol = pa.array(self._symbols()).take(pa.array(rows % self.symbols))
        dates = np.busday_offset(np.datetime64(self.since, "D"), np.arange(days), roll="forward")[rows // self.symbols]
        columns = [*prices[:4], prices[4].astype(np.int64)]
        return quotes(symbol, pa.array(dates, pa.date32()), [pa.array(column) for column in columns])

    def _walk(self, days: int) -> list[FloatArray]:
        """open, high, low, close and volume, each days x symbols."""
        rng = np.random.default_rng(self.seed)
        first = rng.uniform(np.log(5), np.log(200), size=self.symbols)
        usual_volume = rng.normal(13, 1.5, size=self.symbols)
        noise = rng.standard_normal((days, 5, self.symbols))
        overnight, daily = _OVERNIGHT * noise[:, 0], _DAILY * noise[:, 1]
        closing = first + np.cumsum(overnight + daily, axis=0)
        opening = closing - daily
        high = np.maximum(opening, closing) + _WICK * np.abs(noise[:, 2])
        low = np.minimum(opening, closing) - _WICK * np.abs(noise[:, 3])
        prices = [np.exp(price).clip(_CHEAPEST, _DEAREST).round(2) for price in (opening, high, low, closing)]
        return [*prices, np.exp(usual_volume + 0.5 * noise[:, 4]).round(-2) + 100]

    def _symbols(self) -> list[str]:
        numbers = np.random.default_rng([self.seed, 1]).choice(MAX_SYMBOLS, size=self.symbols, replace=False)
        letters = [(*divmod(number // 26, 26), number % 26) for number in numbers.tolist()]
        return ["YHOO", *("".join(chr(ord("A") + letter) for letter in three) for three in letters[1:])]


def quotes(symbol: pa.Array, dates: pa.Array, figures: list[pa.Array]) -> pa.Table:
    """A table of quotes; ``figures`` are open, high, low, close and volume. The id is ``symbol-date``."""
    ids = pc.binary_join_element_wise(symbol, dates.cast(pa.string()), "-")
    kind = pa.array(["STOCK"]).take(pa.array(np.zeros(len(symbol), dtype=np.int64)))
    instants = dates.cast(pa.timestamp("us")).cast(SCHEMA.field("ts").type)
    return pa.Table.from_arrays([ids, instants, kind, symbol, *figures, dates], schema=SCHEMA)
