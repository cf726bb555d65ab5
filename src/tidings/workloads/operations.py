"""In which order do posts come by and subscriptions come and go? A stream of operations without end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tidings.model import DataError

PUBLICATIONS_PER_CHANGE = 5.0


@dataclass(frozen=True, slots=True)
class Publish:
    """The next publication: row ``number`` of yours, from 0 on."""

    number: int


@dataclass(frozen=True, slots=True)
class Insert:
    """A new subscription: row ``number`` of yours, from 0 on."""

    number: int


@dataclass(frozen=True, slots=True)
class Delete:
    """The end of the subscription that was inserted under this number."""

    number: int


Operation = Publish | Insert | Delete


def operations(mu: float, seed: int, publications_per_change: float = PUBLICATIONS_PER_CHANGE) -> Iterator[Operation]:
    """Operations without end: a subscription is deleted after N(mu, 0.2 mu) later ones (at least one) were inserted.

    So from about the ``mu``-th insertion on as many go as come, and ``mu`` are there. Takes memory for those only.

    Implements [PS2] VI-A, "Workload". Departs from the paper: the number of publications before an insertion or
    deletion is Poisson distributed around 5, where the paper says "approximately".

    >>> from itertools import islice
    >>> list(islice(operations(mu=2, seed=1, publications_per_change=1), 4))
    [Publish(number=0), Publish(number=1), Insert(number=0), Insert(number=1)]
    """
    if mu < 1 or publications_per_change < 0:
        raise DataError(
            f"mu is at least 1 and publications_per_change not below 0, got {mu:g} and {publications_per_change:g}"
        )
    return _operations(mu, np.random.default_rng(seed), publications_per_change)


def _operations(mu: float, rng: np.random.Generator, publications_per_change: float) -> Iterator[Operation]:
    published = 0
    for change in _changes(mu, rng):
        for _ in range(rng.poisson(publications_per_change)):
            yield Publish(published)
            published += 1
        yield change


def _changes(mu: float, rng: np.random.Generator) -> Iterator[Insert | Delete]:
    """Insertions, and after each of them the deletions that were waiting for it."""
    due: dict[int, list[int]] = {}
    number = 0
    while True:
        yield Insert(number)
        lifetime = max(1, round(rng.normal(mu, 0.2 * mu)))
        due.setdefault(number + lifetime, []).append(number)
        yield from map(Delete, due.pop(number, ()))
        number += 1
