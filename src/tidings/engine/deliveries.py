"""Which publications does a subscriber have, by another of its subscriptions? The first self-join of [LSM] 6.1."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from tidings.engine.replica import instant_of
from tidings.engine.verifying import tables_of
from tidings.index.snapshot import Snapshot
from tidings.index.subscribers import FOREVER_BEFORE, Record
from tidings.index.subscribers import Row as IndexRow
from tidings.storage.kept_rows import KeptRows
from tidings.tables.checked import Publications
from tidings.tables.matches import Matches


def has_already(
    rows: KeptRows, asked: IndexRow, snapshot: Snapshot, record: Callable[[str], Record | None]
) -> npt.NDArray[np.bool_]:
    """Whether the subscriber has each of some publications by another subscription that lives.

    It has one that was matched with that subscription, and one that was in its past.
    """
    has = np.zeros(len(rows), dtype=np.bool_)
    tables, odd = tables_of(rows)
    for places, table in tables:
        found = snapshot.match(Publications.trusted(table), rows.happened[places])
        for row, name, version in _own(found, asked):
            has[places[row]] |= version <= rows.version[places[row]] or _has_past(record(name))
    for place, post in zip(odd.tolist(), rows.taken(odd).publications(), strict=True):
        at = post.ts or instant_of(int(rows.happened[place]))
        for _, name, version in _own(snapshot.match_one(replace(post, ts=at)), asked):
            has[place] |= version <= rows.version[place] or _has_past(record(name))
    return has


def _own(found: Matches, asked: IndexRow) -> Iterator[tuple[int, str, int]]:
    """Row, subscription and version of the matches that the same subscriber has by other subscriptions."""
    for part in found.parts:
        is_own = pc.equal(part.text("subscriber"), asked[1]).to_numpy(zero_copy_only=False)
        own = part.taken(np.flatnonzero(is_own))
        names, versions = own.text("subscription_id").to_pylist(), own.text("query_version").to_pylist()
        for row, name, version in zip(own.table_rows.tolist(), names, versions, strict=True):
            if name != asked[0]:
                yield row, name, version


def _has_past(other: Record | None) -> bool:
    return other is not None and other.since != FOREVER_BEFORE
