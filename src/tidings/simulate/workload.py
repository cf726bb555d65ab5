"""Who publishes and who subscribes in the paper's experiments? Stock quotes and six templates ([PADRES] 6.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from tidings.model import Publication
from tidings.simulate.world import World
from tidings.workloads import Stocks, stock_subscriptions

_DAYS = 60
_FIGURES = ("open", "high", "low", "close", "volume")


@dataclass(frozen=True, slots=True)
class Quotes:
    """Quotes of so many published symbols, and of some that nobody publishes."""

    published: int
    seed: int

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
        return Stocks(seed=self.seed + offset, symbols=self.published).table(_DAYS * self.published)


def add_publishers(world: World, quotes: Quotes, broker: str, rate_per_min: float) -> None:
    """One publisher for each symbol."""
    for symbol, publications in quotes.publishers():
        query = f"[class,=,'STOCK'],[symbol,=,'{symbol}']"
        world.add_publisher(f"publisher-{symbol}", broker, query, publications, rate_per_min / 60)
