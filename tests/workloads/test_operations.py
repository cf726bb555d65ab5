"""Does the stream of operations keep the ratios and lifetimes of [PS2] VI-A?"""

from __future__ import annotations

from functools import cache
from itertools import count, islice

import numpy as np
import pytest

from tidings.model import DataError
from tidings.workloads import Delete, Insert, Operation, Publish, operations

MU = 100


@cache
def stream() -> list[Operation]:
    return list(islice(operations(MU, seed=1), 60_000))


def test_a_seed_gives_the_same_stream_and_another_seed_another() -> None:
    assert list(islice(operations(MU, seed=1), 1000)) == stream()[:1000]
    assert list(islice(operations(MU, seed=2), 1000)) != stream()[:1000]


def test_about_five_publications_come_by_per_change() -> None:
    published = sum(isinstance(operation, Publish) for operation in stream())
    assert abs(published / (len(stream()) - published) - 5) < 0.2


def test_numbers_count_up_and_nothing_is_deleted_twice_or_before_it_is_there() -> None:
    for kind in (Publish, Insert):
        numbers = [operation.number for operation in stream() if isinstance(operation, kind)]
        assert all(number == expected for number, expected in zip(numbers, count(), strict=False))
    alive: set[int] = set()
    for operation in stream():
        if isinstance(operation, Insert):
            alive.add(operation.number)
        elif isinstance(operation, Delete):
            alive.remove(operation.number)


def test_lifetimes_are_normal_around_mu_with_a_fifth_of_it_as_deviation() -> None:
    inserted, lifetimes = 0, []
    for operation in stream():
        if isinstance(operation, Insert):
            inserted = operation.number
        elif isinstance(operation, Delete) and inserted > 2 * MU:
            lifetimes.append(inserted - operation.number)
    assert abs(np.mean(lifetimes) - MU) < 0.8
    assert abs(np.std(lifetimes) - 0.2 * MU) < 2


def test_the_number_of_subscriptions_settles_at_mu() -> None:
    changes = [operation for operation in stream() if not isinstance(operation, Publish)]
    alive = np.cumsum([1 if isinstance(change, Insert) else -1 for change in changes])
    assert (np.abs(alive[4 * MU :] - MU) < 0.2 * MU).all()


def test_options_that_make_no_sense_are_refused_at_once() -> None:
    with pytest.raises(DataError, match="got 0 and 5"):
        operations(0, seed=1)
