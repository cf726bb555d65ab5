"""At which matchers does each subscription live? Whole at every one that owns a guard of its query."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from tidings.index.sample import Sample
from tidings.index.subscribers import latest
from tidings.partitioning.guards import guards_of
from tidings.partitioning.homes import Homes
from tidings.partitioning.mapping import Mapping
from tidings.partitioning.router import Router
from tidings.partitioning.sets import MatcherSets
from tidings.terms import ENGLISH, Analyser


@dataclass(frozen=True, slots=True)
class Share:
    """What one matcher has: subscriptions with all COLUMNS, and the homes of those that live elsewhere too."""

    table: pa.Table
    homes: Homes


@dataclass(frozen=True, slots=True)
class Partitioned:
    """Subscriptions with all COLUMNS; row i lives at ``homes[i]``, and ``router`` sends there whatever may match it."""

    table: pa.Table
    homes: MatcherSets
    router: Router

    def share(self, matcher: int) -> Share:
        """The share of a matcher."""
        rows = self.homes.with_matcher(matcher)
        table = self.table.take(pa.array(rows))
        return Share(table, Homes.of(table["id"], self.homes.taken(rows)))


def partition(
    table: pa.Table, mapping: Mapping, sample: Sample | None = None, analyser: Analyser = ENGLISH
) -> Partitioned:
    """Partition valid subscriptions: ``id`` and ``query``, and whatever else of COLUMNS; the later of two ids counts.

    ``sample`` chooses the guards; any one will do, and it need not be that of the matchers' own indexes. So parts of a
    table may be partitioned apart, at the same time or later: a change is the partition of what is new, after which
    every matcher does ``index.change(share.table, changed_ids)`` and ``homes.changed(share.homes, changed_ids)``, and
    the router ``router.extend(newer.router)``, where ``changed_ids`` are all that came, changed or went.

    >>> from tidings.partitioning import HashMapping
    >>> asked = pa.table({"id": ["s", "t"], "query": ["white house", "fire OR drill"]})
    >>> parts = partition(asked, HashMapping(4))
    >>> [parts.share(m).table["id"].to_pylist() for m in range(4)]
    [['t'], ['s', 't'], [], []]
    """
    table = latest(table)
    guards = guards_of(table["query"], analyser, Sample(analyser) if sample is None else sample)
    owners = mapping.owners(guards.terms)
    homes = MatcherSets.owning(guards.sets, owners, mapping.matchers)
    return Partitioned(table, homes, Router(guards.terms, owners, mapping.matchers, analyser))
