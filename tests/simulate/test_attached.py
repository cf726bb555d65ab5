"""What a subscription costs its broker: what was counted, or its share of the sample if it came too late for that."""

import pytest

from tidings.balancing.padres import Key, LoadProfile
from tidings.simulate.attached import Attached
from tidings.simulate.machines import MESSAGE_BYTES
from tidings.simulate.roster import SubscriberRoster
from tidings.simulate.universe import Universe

PROFILE = LoadProfile({0: 0b0111, 1: 0b0011}, css=0, samples=4, rate=8.0)


@pytest.fixture
def attached() -> Attached:
    universe = Universe()
    attached = Attached(universe, SubscriberRoster())
    for name, text in (("s1", "[a,>,1]"), ("s2", "[a,>,1]"), ("s3", "[a,>,5]")):
        attached.add(name, universe.number(text))
    return attached


def test_a_candidate_gets_what_was_counted(attached: Attached) -> None:
    shares = {each.key: each.bytes_s / MESSAGE_BYTES for each in attached.candidates(PROFILE, {0: 5.0, 1: 0.0})}
    assert shares == {0: 5.0, 1: 0.0}


def test_one_that_was_not_counted_has_its_share_of_the_sample(attached: Attached) -> None:
    """Eq. 6: three of four publications, of eight a second."""
    shares = {each.key: each.bytes_s / MESSAGE_BYTES for each in attached.candidates(PROFILE, {1: 1.0})}
    assert shares == {0: 6.0, 1: 1.0}


def test_who_is_moving_is_no_candidate_but_is_sent_to(attached: Attached) -> None:
    attached.moving.add("s1")
    rates: dict[Key, float] = {0: 5.0, 1: 1.0}
    assert {each.key: each.subscribers for each in attached.candidates(PROFILE, rates)} == {0: ("s2",), 1: ("s3",)}
    assert attached.output_bytes_s(rates) == 11 * MESSAGE_BYTES


def test_the_output_is_not_known_as_long_as_one_was_not_counted(attached: Attached) -> None:
    assert attached.output_bytes_s({0: 5.0}) is None


def test_a_sample_without_publications_costs_nothing(attached: Attached) -> None:
    profile = LoadProfile({}, css=0, samples=0, rate=0.0)
    assert {each.bytes_s for each in attached.candidates(profile, {})} == {0.0}
