"""Who publishes and who subscribes in the paper's experiments? Stock quotes and six templates ([PADRES] 6.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidings.model import DataError, Publication
from tidings.simulate.world import World
from tidings.workloads import Stocks, read_stocks, stock_subscriptions

_DAYS = 60
_FIGURES = ("open", "high", "low", "close", "volume")


@dataclass(frozen=True, slots=True)
class Quotes:
    """Quotes of so many published symbols, and of some that nobody publishes: from a file, or made up."""

    published: int
    seed: int
    path: Path | None = None

    def publishers(self) -> Iterator[tuple[str, list[Publication]]]:
        """Each symbol with its quotes, a working day each."""
        rows: dict[str, list[Publication]] = {}
        for row in self._table(0).to_pylist():
            attributes = {"class": "STOCK", "symbol": row["symbol"]} | {name: row[name] for name in _FIGURES}
            rows.setdefault(row["symbol"], []).append(Publication(row["id"], attributes=attributes))
        yield from rows.items()

    def subscriptions(self, count: int, without_traffic: float) -> list[str]:
        """Queries by the templates; a share of them asks for symbols that nobody publishes."""
        idle = round(count * without_traffic)
        busy = stock_subscriptions(self._table(0), count - idle, self.seed)["query"].to_pylist()
        others = [query for query in self._drawn(2 * idle + 20) if "symbol:" in query][:idle]
        mixed: list[str] = busy + others
        Random(self.seed).shuffle(mixed)
        return mixed

    def _drawn(self, count: int) -> list[str]:
        """From symbols that are not published; their names are made to differ."""
        table: list[str] = stock_subscriptions(self._table(1), count, self.seed + 1)["query"].to_pylist()
        return [query.replace("symbol:", "symbol:X") for query in table]

    def _table(self, offset: int) -> Any:
        if self.path is None:
            return Stocks(seed=self.seed + offset, symbols=self.published).table(_DAYS * self.published)
        table = read_stocks(self.path).drop_null()
        known = sorted(table["symbol"].unique().to_pylist())
        if len(known) < 2 * self.published:
            raise DataError(f"{self.path} has quotes of {len(known)} symbols, {2 * self.published} are needed")
        drawn = Random(self.seed).sample(known, 2 * self.published)
        chosen = drawn[self.published * offset :][: self.published]
        return pa.concat_tables(table.filter(pc.equal(table["symbol"], symbol)).slice(0, _DAYS) for symbol in chosen)


def add_publishers(world: World, quotes: Quotes, broker: str, rate_per_min: float) -> None:
    """One publisher for each symbol."""
    for symbol, publications in quotes.publishers():
        query = f"[class,=,'STOCK'],[symbol,=,'{symbol}']"
        world.add_publisher(f"publisher-{symbol}", broker, query, publications, rate_per_min / 60)
