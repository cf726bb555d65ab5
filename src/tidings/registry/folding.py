"""Which subscriptions are live after these changes, and in which version of their query?"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidings.registry.schemas import SNAPSHOT, SUBSCRIPTION

IntArray = npt.NDArray[np.int64]


def fold(changes: pa.Table) -> pa.Table:
    """The live subscriptions after ``changes``, which are in order and complete from the first one on.

    The last change of an id counts: it lives if that was an "add". Its query version is the version that brought this
    add, so it grows when a query is replaced, and when an id comes back after its removal. The rows stand in the
    order of their last add. Cost: about 0.4 s for a million changes, without a Python step per row.

    >>> rows = [(1, "add", "a", "fire"), (1, "add", "b", "rain"), (2, "add", "a", "smoke"), (3, "remove", "b", None)]
    >>> columns = dict(zip(["version", "op", "id", "query"], zip(*rows)))
    >>> nothing = {name: pa.nulls(4) for name in ("subscriber", "tag", "since", "until")}
    >>> live = fold(pa.table(columns | nothing))
    >>> live.select(["id", "query", "query_version"]).to_pylist()
    [{'id': 'a', 'query': 'smoke', 'query_version': 2}]
    """
    live = changes.take(pa.array(survivors(changes["op"], changes["id"])))
    return live.select(SUBSCRIPTION.names).append_column("query_version", live["version"]).cast(SNAPSHOT)


def survivors(ops: pa.ChunkedArray, ids: pa.ChunkedArray) -> IntArray:
    """The numbers of the rows that hold, in order."""
    encoded = ids.combine_chunks().dictionary_encode()
    codes = encoded.indices.to_numpy().astype(np.int64)
    is_add = pc.equal(ops, "add").to_numpy()
    last = np.zeros(len(encoded.dictionary), dtype=np.int64)
    np.maximum.at(last, codes, np.arange(len(codes)))
    return np.sort(last[is_add[last]])


def ended(changes: pa.Table, now: pa.TimestampScalar) -> pa.Table:
    """The ids of the live subscriptions after ``changes`` whose ``until`` is ``now`` or earlier."""
    live = changes.take(pa.array(survivors(changes["op"], changes["id"])))
    return live.filter(pc.less_equal(live["until"], now)).select(["id"])


def needed(changes: pa.Table, horizon: int, first_elsewhere: int) -> IntArray:
    """The numbers of the rows of ``changes``, which are in order, that a fold of ``horizon`` or a later version needs.

    A row that was replaced by ``horizon`` is needed by none of them. A removal of that time is needed for as long as
    older rows of its id may be elsewhere: where there are rows of the version ``first_elsewhere`` and later ones. The
    last commit up to ``horizon`` stays, so that one can tell which it was.

    >>> rows = pa.table({"version": [1, 1, 2, 3, 4], "op": ["add", "add", "add", "remove", "add"], "id": list("abaab")})
    >>> [needed(rows, horizon, 9).tolist() for horizon in (0, 2, 3, 4)]
    [[0, 1, 2, 3, 4], [1, 2, 3, 4], [1, 3, 4], [4]]
    """
    versions = changes["version"].to_numpy()
    codes = changes["id"].combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)
    by_id = np.argsort(codes, kind="stable")
    replaced = np.full(len(codes), np.iinfo(np.int64).max)
    followed = codes[by_id[1:]] == codes[by_id[:-1]]
    replaced[by_id[:-1][followed]] = versions[by_id[1:][followed]]
    is_removal = pc.equal(changes["op"], "remove").to_numpy()
    last = max(versions[versions <= horizon], default=0)
    is_spent = is_removal & (versions < min(last, first_elsewhere))
    return np.flatnonzero((replaced > horizon) & ~is_spent)


def in_order(changes: pa.Table) -> pa.Table:
    """The same changes by (version, position). Files are merged and read in any order, so only the columns tell."""
    versions, positions = (changes[name].to_numpy() for name in ("version", "position"))
    steps = np.diff(versions)
    if np.all((steps > 0) | ((steps == 0) & (np.diff(positions) > 0))):
        return changes
    return changes.take(pa.array(np.lexsort((positions, versions))))
