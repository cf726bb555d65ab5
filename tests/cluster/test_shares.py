"""What is written for a move? What moves, and little more; and files that are opened again say the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from tidings.analysis import ENGLISH
from tidings.cluster.cluster import Cluster
from tidings.cluster.shares import Shares
from tidings.index import COMPACTION
from tidings.index.subscribers import with_all_columns
from tidings.partitioning import Mapping, Move

MAPPING = Mapping.hashed(4)


def asked(first: int, count: int) -> pa.Table:
    """Each has two alternatives, so most live at two matchers."""
    queries = [f"w{n % 997} OR v{n % 991}" for n in range(first, first + count)]
    return with_all_columns(pa.table({"id": [f"s{n}" for n in range(first, first + count)], "query": queries}))


POSTS = pa.table({"id": [f"p{n}" for n in range(50)], "text": [f"w{7 * n} v{11 * n} v{n}" for n in range(50)]})


def files_of(folder: Path) -> dict[str, int]:
    return {file.name: file.stat().st_size for file in folder.iterdir()}


def delivered(cluster: Cluster) -> tuple[list[tuple[int, str]], list[int]]:
    found = cluster.deliver(POSTS)
    return found.pairs(), sorted(found.matchers.tolist())


def test_a_move_writes_what_moves_and_the_next_change_compacts(tmp_path: Path) -> None:
    shares = Shares(tmp_path, MAPPING, ENGLISH, None)
    shares.fill(asked(0, 20_000))
    for change in range(COMPACTION.max_segments - 2):
        shares.change(asked(20_000 + 500 * change, 500), [])
        shares.save()
    before = files_of(tmp_path)
    owner = MAPPING.owner
    for move in range(2):  # the second one would be due for compaction
        moves = [Move(int(parcel), to=1) for parcel in np.flatnonzero(owner == 0)[2 * move :][:2]]
        mapping = MAPPING.moved([*moves, *(Move(int(p), to=1) for p in np.flatnonzero(owner == 0)[: 2 * move])])
        carried = shares.move(mapping)
        parts = shares.save()
        written = sum(size for name, size in files_of(tmp_path).items() if name not in before)
        assert carried.subscriptions > 50 and written < 0.15 * sum(before.values())
        before = files_of(tmp_path)
    again = Shares(tmp_path, mapping, ENGLISH, None)
    again.open(parts, shares.routers)
    assert delivered(again.cluster) == delivered(shares.cluster) and len(delivered(again.cluster)[0]) > 100
    assert max(len(part.segments) for part in parts) > COMPACTION.max_segments
    shares.change(asked(30_000, 500), [])
    assert max(len(part.segments) for part in shares.save()) <= COMPACTION.max_segments
