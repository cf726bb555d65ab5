"""What a subscription costs its broker: its share of the sample, of what the broker has sent."""

import pytest

from tidings.balancing.padres import LoadProfile
from tidings.simulate.attached import Attached
from tidings.simulate.roster import SubscriberRoster
from tidings.simulate.universe import Universe


@pytest.fixture
def attached() -> Attached:
    universe = Universe()
    attached = Attached(universe, SubscriberRoster())
    for name, text in (("s1", "[a,>,1]"), ("s2", "[a,>,1]"), ("s3", "[a,>,5]")):
        attached.add(name, universe.number(text))
    return attached


def test_candidates_share_the_output_that_was_measured(attached: Attached) -> None:
    """Two get 3 of 4 publications, one gets 2 of 4: 8 deliveries were sampled."""
    profile = LoadProfile({0: 0b0111, 1: 0b0011}, css=0, samples=4, rate=1.0)
    shares = {each.key: each.bytes_s for each in attached.candidates(profile, output_bytes_s=800.0)}
    assert shares == {0: 300.0, 1: 200.0}


def test_who_is_moving_is_no_candidate_but_has_its_share(attached: Attached) -> None:
    attached.moving.add("s1")
    profile = LoadProfile({0: 0b0111, 1: 0b0011}, css=0, samples=4, rate=1.0)
    assert {each.key: (each.subscribers, each.bytes_s) for each in attached.candidates(profile, 800.0)} == {
        0: (("s2",), 300.0),
        1: (("s3",), 200.0),
    }


def test_a_sample_without_deliveries_costs_nothing(attached: Attached) -> None:
    profile = LoadProfile({}, css=0, samples=0, rate=0.0)
    assert {each.bytes_s for each in attached.candidates(profile, 800.0)} == {0.0}
