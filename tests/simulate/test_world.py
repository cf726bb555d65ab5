"""Whole worlds: nothing is lost, doubled or wrong, and the seed brings the same run again."""

import pytest

from tests.simulate.worlds import play
from tidings.balancing.padres import EdgeBalancer
from tidings.model import Publication
from tidings.simulate.audit import Audit, Violation
from tidings.simulate.links import Weather
from tidings.simulate.messages import InFlight
from tidings.simulate.topology import global_experiment, local_experiment
from tidings.simulate.world import World

SEEDS = range(6)


@pytest.mark.parametrize("seed", SEEDS)
def test_without_faults_every_publication_comes_exactly_once(seed: int) -> None:
    world = play(seed, faults=False)
    assert world.published > 100


@pytest.mark.parametrize("seed", SEEDS)
def test_with_faults_nothing_comes_twice_or_wrongly(seed: int) -> None:
    play(1000 + seed, faults=True)


def test_subscribers_do_move_in_these_worlds() -> None:
    """Otherwise the tests above would say little."""
    moved = 0
    for seed in (2, 3):
        balancers = [broker.balancer for broker in play(seed, faults=False).brokers.values()]
        moved += sum(each.moved for each in balancers if isinstance(each, EdgeBalancer))
    assert moved > 10


def test_the_same_seed_is_the_same_run() -> None:
    one, same, other = (play(seed, faults=True) for seed in (7, 7, 8))
    assert (one.clock.events, one.recent) == (same.clock.events, same.recent)
    assert one.clock.events != other.clock.events


def test_duplicates_on_a_link_are_dropped() -> None:
    play(3, faults=False, weather=Weather(duplicate=0.5, delay=0.3))


def test_a_lost_message_is_found_by_the_audit_and_the_seed_is_named() -> None:
    with pytest.raises(Violation, match=r"^seed 3, .*(never came to|is at home at)"):
        play(3, faults=False, weather=Weather(drop=0.3))


def test_the_audit_finds_what_is_wrong_or_comes_twice() -> None:
    world = World(1, local_experiment(), audit=Audit())
    world.add_subscriber("s1", "B1", "[a,=,'x']")
    right, wrong = (Publication(value, attributes={"a": value}) for value in "xy")
    query = world.clients["s1"].query
    assert world.audit is not None
    with pytest.raises(Violation, match="who has not asked for it"):
        world.audit.delivered(world, "B1", "s1", query, InFlight(wrong, 0.0, 1))
    world.audit.delivered(world, "B1", "s1", query, InFlight(right, 0.0, 2))
    with pytest.raises(Violation, match="for the second time"):
        world.audit.delivered(world, "B1", "s1", query, InFlight(right, 0.0, 2))


@pytest.mark.slow
def test_many_seeds_break_no_promise() -> None:
    for seed in range(10_000, 10_150):
        play(seed, faults=seed % 2 == 0)


def test_the_topologies_are_those_of_figure_11() -> None:
    local, large = local_experiment(), global_experiment()
    assert local.neighbours("B0") == ("B1", "B2", "B3", "B4")
    assert local.neighbours("B3") == ("B0",)
    assert large.neighbours("B20") == ("B21", "B22", "B10", "B30")
    assert len(large.machines) == 12
    assert large.cluster_of("B42").head == "B40"
    assert [large.machines[name].cpu_mhz for name in large.edges] == [300, 200, 350, 400, 266, 700, 166, 233]
