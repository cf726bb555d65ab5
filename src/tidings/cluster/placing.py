"""At which matchers does each subscription live? Whole at every one that owns a term under which its query is filed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from tidings.analysis import ENGLISH, Analyser
from tidings.analysis.vocabulary import TermSets
from tidings.cluster.homes import Homes
from tidings.cluster.router import Router
from tidings.index.subscribers import latest
from tidings.model import DataError
from tidings.partitioning import Mapping, MatcherSets
from tidings.placement.choices import Choices
from tidings.placement.conjunctions import conjunctions_of
from tidings.placement.placers import RAREST, Placer
from tidings.terms.sample import Sample

Routing = Literal["guards", "words"]
"""What a publication is sent for: each term that files something, or each positive word of any subscription."""


@dataclass(frozen=True, slots=True)
class Share:
    """What one matcher has: subscriptions with all COLUMNS, and the homes of those that live elsewhere too."""

    table: pa.Table
    homes: Homes


@dataclass(frozen=True, slots=True)
class Placement:
    """Subscriptions with all COLUMNS; row i lives at ``homes[i]``, and ``router`` sends there whatever may match it.

    It is filed under the terms ``filed.row(i)`` of the router.
    """

    table: pa.Table
    homes: MatcherSets
    router: Router
    filed: TermSets

    def share(self, matcher: int) -> Share:
        """The share of a matcher."""
        rows = self.homes.with_matcher(matcher)
        table = self.table.take(pa.array(rows))
        return Share(table, Homes.of(table["id"], self.homes.taken(rows)))


def place(
    table: pa.Table,
    mapping: Mapping,
    sample: Sample | None = None,
    analyser: Analyser = ENGLISH,
    placer: Placer = RAREST,
    routing: Routing = "guards",
) -> Placement:
    """Place valid subscriptions: ``id`` and ``query``, and whatever else of COLUMNS; the later of two ids counts.

    ``placer`` chooses the term under which each conjunction is filed, by ``sample`` where it looks at
    frequencies; any sample will do, and it need not be that of the matchers' own indexes, which have guards of their
    own. A subscription lives at the owners of these terms, at all of them where one is split. ``routing="words"`` is
    that of [S3TM] 3.1: publications are sent for words as well that file nothing.

    Parts of a table may be placed apart, at the same time or later, by the same mapping: a change is the placement of
    what is new (:meth:`tidings.cluster.Cluster.change`).

    >>> from tidings.partitioning import Mapping
    >>> asked = pa.table({"id": ["s", "t"], "query": ["white house", "fire OR drill"]})
    >>> placement = place(asked, Mapping.hashed(4))
    >>> [placement.share(m).table["id"].to_pylist() for m in range(4)]
    [['t'], ['s', 't'], [], []]
    """
    if routing not in ("guards", "words"):
        raise DataError(f"routing is by guards or by words, got {routing!r}")
    gridt = mapping.parcels.gridt
    if gridt is not None and routing == "words":
        raise DataError("where places are divided, posts are sent for words in regions; use routing='guards'")
    if gridt is not None and placer != RAREST:
        raise DataError(
            f"where places are divided, a subscription is placed by its rarest term in each region, not by "
            f"{type(placer).__name__}; use placement='rarest', or a mapping of terms (tidings learn "
            "--partitioner refined)"
        )
    table = latest(table)
    sample = Sample(analyser) if sample is None else sample
    asked = conjunctions_of(table["query"], analyser, sample, gridt)
    choices = Choices.of(table["id"], asked, mapping)
    chosen = placer.choose(choices)
    filed = choices.filed(chosen)
    homes = MatcherSets.owning(filed, choices.owners, mapping.matchers)
    used = np.zeros(len(asked.terms), dtype=np.bool_)
    used[filed.ids] = True
    if routing == "words":
        used[asked.words.ids] = True
    terms, numbers = asked.terms.part(used)
    places = np.flatnonzero(numbers >= 0)
    counts = np.bincount(filed.ids, minlength=len(asked.terms))[places]
    if routing == "words":
        counts = np.maximum(counts, 1)  # a router sends for what is counted
    parcels = choices.parcels.taken(places)
    chances = choices.chances(chosen, sample)[places]
    router = Router(terms, parcels, mapping.owner, mapping.matchers, analyser, counts, gridt)
    router.expect(chances)
    return Placement(table, homes, router, TermSets(filed.offsets, numbers[filed.ids]))
