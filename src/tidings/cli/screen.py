"""What does the demo show and keep of each batch? Some matches to read, counts, and what is needed to check them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from rich.console import Console
from rich.text import Text

from tidings.cli.terminal import visible
from tidings.cluster.journal import Report
from tidings.cluster.sinks import Batch
from tidings.index import BruteForce
from tidings.language import parse
from tidings.model import Subscription
from tidings.registry import Registry
from tidings.workloads import Posts

SHOWN_PER_BATCH = 2
_QUERY_CELLS = 44

Pair = tuple[str, str]


@dataclass(slots=True)
class Screen:
    """A sink. ``people`` have short names and queries that can be read; matches of theirs are shown, and one other.

    ``every``: the matches of each so manieth post are kept to be checked.
    """

    console: Console
    posts: Posts
    queries: dict[str, str]
    people: set[str]
    every: int
    kept: dict[int, list[Pair]] = field(default_factory=dict)
    counts: dict[int, Counter[str]] = field(default_factory=dict)
    _shown: Counter[str] = field(default_factory=Counter)
    once = True

    def has(self, batch: Batch) -> bool:  # noqa: ARG002
        return False  # what is written again replaces itself

    def write(self, rows: DataFrame, batch: Batch) -> None:
        table = rows.select("publication_id", "subscription_id").toArrow()
        row_numbers = pc.cast(pc.utf8_slice_codeunits(table["publication_id"], 1), pa.int64())  # "p17" is row 17
        quotients = pc.divide(row_numbers, self.every)
        is_checked = pc.equal(pc.multiply(quotients, self.every), row_numbers)
        self.kept[batch.number] = _pairs(table.filter(is_checked))
        is_known = pc.is_in(table["subscription_id"], pa.array(sorted(self.people)))
        known = _pairs(table.filter(is_known))
        self.counts[batch.number] = Counter(name for _, name in known)
        self._show(known, _pairs(table.filter(pc.invert(is_known)).slice(0, 1)))

    def _show(self, known: list[Pair], others: list[Pair]) -> None:
        """Those who were shown least, and somebody else."""
        first = {name: (post, name) for post, name in reversed(known)}
        chosen = sorted(first.values(), key=lambda pair: (self._shown[pair[1]], pair[1]))[:SHOWN_PER_BATCH]
        self._shown.update(name for _, name in chosen)
        for post, name in (*chosen, *others):
            row = int(post[1:])
            text = self.posts.table(1, row)["text"][0].as_py()
            query = self.queries[name]
            short = query if len(query) <= _QUERY_CELLS else query[: _QUERY_CELLS - 1] + "…"
            line = Text.assemble(
                (f"{visible(name):>6} ", "bold"), (f"{visible(short):<{_QUERY_CELLS}} ", "cyan"), visible(text)
            )
            self.console.print(line, no_wrap=True, overflow="ellipsis")


@dataclass(frozen=True, slots=True)
class Verified:
    """So many posts were matched by brute force as well; ``wrong`` are the matches that only one of both has."""

    posts: int
    matches: int
    wrong: int


def check(reports: Iterable[Report], screen: Screen, registry: Registry) -> Verified:
    """Compare what was kept with brute force over the same posts, at the version of the registry of each batch."""
    posts = matches = wrong = 0
    for version, group in groupby(_chosen(reports, screen), key=lambda chosen: chosen[0].version):
        rows = list(group)
        table = pa.concat_tables([chosen for _, chosen in rows])
        oracle = BruteForce(registry.analyser)
        asked = registry.snapshot(version)
        texts = zip(asked["id"].to_pylist(), asked["query"].to_pylist(), strict=True)
        oracle.add(Subscription(name, parse(text)) for name, text in texts)
        ids = table["id"].to_pylist()
        expected = Counter((ids[row], name) for row, name in oracle.match(table).pairs())
        found = Counter(pair for report, _ in rows for pair in screen.kept.get(report.batch, []))
        posts += table.num_rows
        matches += expected.total()
        wrong += (expected - found).total() + (found - expected).total()
    return Verified(posts, matches, wrong)


def _chosen(reports: Iterable[Report], screen: Screen) -> Iterator[tuple[Report, pa.Table]]:
    """The posts of each batch that are checked: batches follow one another without a gap."""
    start = 0
    for report in reports:
        rows = range(-start % screen.every, report.posts, screen.every)
        yield report, screen.posts.table(report.posts, start).take(pa.array(rows, pa.int64()))
        start += report.posts


def _pairs(table: pa.Table) -> list[Pair]:
    return list(zip(table["publication_id"].to_pylist(), table["subscription_id"].to_pylist(), strict=True))
