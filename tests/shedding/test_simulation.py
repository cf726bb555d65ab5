from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tidings.shedding import Controller, Levels, ideal_share
from tidings.shedding.simulation import SPIKE, SimulatedBatch, System, simulate, turns

SIZES = np.repeat(np.arange(4, 17), [1, 2, 4, 7, 10, 12, 13, 12, 9, 6, 4, 2, 1])
LOADS = Levels().loads(SIZES)
CAPACITY = 20_000.0
"""Posts a second of which nothing is shed."""


def controller() -> Controller:
    return Controller(Levels(ideal=ideal_share(LOADS)))


def system(wait_s: float, rate: float = CAPACITY) -> System:
    return System(LOADS, CAPACITY * LOADS[0], may_wait=wait_s * rate)


def between(samples: list[SimulatedBatch], start_s: float, end_s: float) -> list[SimulatedBatch]:
    return [sample for sample in samples if start_s < sample.time_s <= end_s]


def test_a_spike_is_shed_and_leaves_no_trace() -> None:
    samples = simulate(SPIKE, system(10), controller())
    before, spike, lull, after = (between(samples, start, start + 500) for start in (0, 500, 1000, 1500))
    assert {sample.level for sample in before + after} == {0} and sum(sample.shed for sample in before + after) == 0
    assert max(sample.waiting for sample in samples) < 1.2 * 10 * CAPACITY
    assert [sample.level for sample in lull][-1] == 0 and next(s for s in lull if not s.level).time_s < 1015
    assert min(sample.shed for sample in spike if sample.level) > 0
    rest = turns(sample.level for sample in between(spike, 550, 1000))
    assert len(set(rest)) <= 2 and max(rest) - min(rest) <= 1


def test_a_larger_buffer_reacts_later() -> None:
    first = [
        next(sample.time_s for sample in simulate(SPIKE, system(wait_s), controller()) if sample.level)
        for wait_s in (3, 10, 60)
    ]
    assert 500 < first[0] < first[1] < first[2]


def test_no_post_is_forgotten_and_no_batch_is_giant() -> None:
    samples = simulate(SPIKE, system(10), controller())
    came = sum(seconds * rate for seconds, rate in SPIKE)
    assert sum(sample.processed for sample in samples) + samples[-1].waiting == pytest.approx(came)
    assert max(sample.busy_s for sample in samples) < 1.5  # where 10 s of posts wait and a batch is due every second


def test_a_simulation_is_the_same_again() -> None:
    assert simulate(SPIKE, system(10), controller()) == simulate(SPIKE, system(10), controller())


@examples(60)
@given(rate=st.floats(0, 0.85 * CAPACITY * LOADS[0] / LOADS[-1]), wait_s=st.floats(8, 60))
def test_under_any_rate_that_the_last_level_can_bear_the_level_comes_to_rest(rate: float, wait_s: float) -> None:
    """At most one step up and down in turn, a queue that stays bounded, and back to 0 when it is over.

    As in a pipeline, where it is a time that posts may wait: the more come, the more may wait. Where a level can bear
    a rate only just, one batch decides, and the level may go a step further now and then.
    """
    borne = CAPACITY * LOADS[0] / LOADS
    is_close = bool(np.any((0.87 * borne < rate) & (rate < 1.02 * borne)))  # a tenth of a batch's time is its own
    samples = simulate([(600.0, rate), (200.0, 0.3 * CAPACITY)], system(wait_s, max(rate, CAPACITY)), controller())
    rest = [sample.level for sample in between(samples, 300, 600)]
    assert max(rest) - min(rest) <= 1 + is_close
    assert max(sample.waiting for sample in samples) <= wait_s * max(rate, CAPACITY) + 2 * Levels().top * rate
    assert samples[-1].level == 0 and samples[-1].waiting < 0.5 * wait_s * max(rate, CAPACITY)
    if rate < 0.85 * CAPACITY:
        assert {sample.level for sample in samples} == {0}


def test_more_than_the_last_level_can_bear_waits() -> None:
    samples = simulate([(300.0, 200 * CAPACITY)], system(10), controller())
    assert samples[-1].level == Levels().top and samples[-1].waiting > samples[-50].waiting
