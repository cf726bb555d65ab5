"""When is something moved? Not by noise, not again at once, and never without end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from tests.balancing.hand import loads_of, words
from tidings.balancing import Adjuster, Detector, Loads, Local, WorkDone
from tidings.cluster import Cluster
from tidings.model import DataError
from tidings.partitioning import Mapping, Move
from tidings.partitioning.load import FloatArray, LoadCosts

EVEN, UNEVEN = np.array([10.0, 9.0]), np.array([10.0, 5.0])


@pytest.mark.parametrize(
    ("history", "due"),
    [
        ([], False),
        ([UNEVEN] * 2, False),
        ([UNEVEN] * 3, True),
        ([UNEVEN, EVEN, UNEVEN, UNEVEN], False),
        ([EVEN, UNEVEN, UNEVEN, UNEVEN], True),
        ([np.array([3.0, 0.0])] * 3, True),
        ([np.zeros(2)] * 3, False),
        ([np.array([3.0])] * 3, False),
    ],
)
def test_three_uneven_batches_in_a_row_are_needed(history: list[FloatArray], due: bool) -> None:
    assert Detector(pause=0).is_due(history) is due
    assert not Detector(pause=2).is_due(history[:2])
    assert Detector(pause=2).is_due([UNEVEN, UNEVEN, *history]) is (due and len(history) >= 3)


@pytest.mark.parametrize("bad", [{"uneven": 1.0}, {"hits": 0}, {"pause": -1}])
def test_a_detector_that_always_fires_is_refused(bad: dict[str, float]) -> None:
    with pytest.raises(DataError, match="choose others"):
        Detector(**bad)  # type: ignore[arg-type]


def since_the_beginning(batches: int) -> Loads:
    """Loads of so many batches, in each of which matcher 0 gets nine posts and matcher 1 one."""
    loads = loads_of([[p] for p in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9)], [1] * 10)
    work = WorkDone.none(2)
    work.posts[:] = [9 * batches, batches]
    return replace(loads, matchers=work)


def test_an_adjuster_waits_moves_and_waits_again() -> None:
    mapping = words([0] * 9 + [1])
    adjuster = Adjuster(Local(heaviest=0, costs=LoadCosts(pair=0, insertion=0, deletion=0)), Detector(hits=3, pause=2))
    moves = [adjuster.look(since_the_beginning(batch), mapping) for batch in range(1, 6)]
    assert moves[:4] == [[]] * 4 and moves[4] and all(to == 1 for _, to in moves[4])
    again = [adjuster.look(since_the_beginning(batch), mapping) for batch in range(1, 6)]
    assert again == moves


@pytest.mark.thorough
def test_a_steady_workload_moves_nothing_after_it_has_settled() -> None:
    """200 batches over an in-process cluster in which at first one matcher has half of all parcels."""
    rng = np.random.default_rng(5)
    vocabulary = np.array([f"w{n}" for n in range(300)])
    odds = 1 / np.arange(10, 310)
    odds /= odds.sum()
    mapping = Mapping.hashed(4)
    owner = np.where(rng.random(mapping.parcels.count) < 0.5, 0, mapping.owner).astype(np.int32)
    cluster = Cluster(Mapping(mapping.parcels, owner, 4))
    asked = [" ".join(rng.choice(vocabulary, 2, replace=False, p=odds)) for _ in range(400)]
    cluster.change(pa.table({"id": [f"s{n}" for n in range(400)], "query": asked}))
    adjuster, moved, uneven = Adjuster(), list[int](), list[float]()
    for batch in range(200):
        texts = [" ".join(rng.choice(vocabulary, 5, p=odds)) for _ in range(50)]
        before = cluster.loads().matchers.posts
        cluster.deliver(pa.table({"id": [f"p{batch}-{n}" for n in range(50)], "text": texts}))
        posts = cluster.loads().matchers.posts - before
        uneven.append(float(posts.max() / max(posts.min(), 1)))
        assert cluster.mapping is not None
        moves: list[Move] = adjuster.look(cluster.loads(), cluster.mapping)
        if moves:
            moved.append(batch)
            cluster.move(moves)
    assert moved and len(moved) <= 5 and moved[-1] < 100
    assert np.mean(uneven[-50:]) < 1.5 < np.mean(uneven[:5])


@pytest.mark.parametrize("matchers", [2, 4, 8])
def test_noise_alone_makes_no_move_due_and_a_difference_does_as_soon_as_it_is_more_than_noise(matchers: int) -> None:
    due = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        even = [rng.poisson(40, matchers).astype(np.float64) for _ in range(120)]
        assert not any(Detector(pause=0).is_due(even[:batch]) for batch in range(len(even)))
        uneven = [batch * np.where(np.arange(matchers) == 0, 1.6, 1.0) for batch in even]
        due.append(next(batch for batch in range(len(uneven)) if Detector(pause=0).is_due(uneven[:batch])))
        assert any(Detector(pause=0).is_due([*even, *uneven[:batch]]) for batch in range(60))
    assert 3 <= np.median(due) <= 40
