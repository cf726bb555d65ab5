"""Loads that are worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tidings.balancing import Churn, Loads, Standing, Touches, WorkDone
from tidings.partitioning import Mapping
from tidings.partitioning.finer import finer
from tidings.partitioning.gridt import Gridt, WordShare
from tidings.terms.even_grid import Grid

NONE = np.zeros(0, dtype=np.uint64)


def loads_of(posts: Sequence[Sequence[int]], filed: Sequence[int], matchers: int = 2) -> Loads:
    """Post i was sent for the parcels ``posts[i]``, in each of which one entry was looked at."""
    rows = np.repeat(np.arange(len(posts)), [len(own) for own in posts])
    parcels = np.array([parcel for own in posts for parcel in own], dtype=np.int64)
    touches = Touches.of(rows, parcels, np.ones(len(parcels), dtype=np.int64))
    work = WorkDone.none(len(filed))
    work.posts[:] = touches.by_parcel(len(filed))
    entries, churn = np.array(filed, dtype=np.int64), Churn.none(len(filed))
    return Loads(WorkDone.none(matchers), work, entries, touches, churn, Standing.apart(entries))


def words(owner: Sequence[int], matchers: int = 2) -> Mapping:
    """Parcels everywhere, so all in one region: word parcels."""
    shares = [WordShare(None, NONE) for _ in owner]
    gridt, _ = Gridt.flattened(Grid(0, 0, 2, 2, level=1), shares)
    return Mapping(gridt, np.array(owner, dtype=np.int32), matchers)


def halves(owner: Sequence[int], matchers: int = 2) -> Mapping:
    """A parcel everywhere, one in the west and one in the east, in two parts each: six parcels."""
    shares = [WordShare(None, NONE), WordShare((0, 0, 0, 1), NONE), WordShare((1, 0, 1, 1), NONE)]
    gridt, _ = Gridt.flattened(Grid(0, 0, 2, 2, level=1), shares)
    mapping = finer(Mapping(gridt, np.zeros(3, dtype=np.int32), matchers), 2)
    return Mapping(mapping.parcels, np.array(owner, dtype=np.int32), matchers)
