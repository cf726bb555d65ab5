"""Whole worlds: nothing is lost, doubled or wrong, and the seed brings the same run again."""

from random import Random

import pytest

from tidings.balancing.padres import EdgeBalancer, LoadProfile
from tidings.model import Publication
from tidings.simulate.audit import Violation
from tidings.simulate.chaos import Faults, faults_of, play, search, small_world
from tidings.simulate.links import Weather
from tidings.simulate.topology import global_experiment, local_experiment
from tidings.simulate.world import World

SEEDS = range(6)


@pytest.mark.parametrize("faults", [Faults.NONE, Faults.DELAYS])
@pytest.mark.parametrize("seed", SEEDS)
def test_every_publication_comes_exactly_once_also_late_and_twice(seed: int, faults: Faults) -> None:
    world = play(seed, faults)
    assert world.published > 100


@pytest.mark.parametrize("seed", SEEDS)
def test_after_crashes_and_partitions_every_publication_comes_exactly_once_again(seed: int) -> None:
    play(1000 + seed, Faults.BREAKS)


@pytest.mark.parametrize("seed", SEEDS)
def test_when_messages_are_dropped_nothing_comes_twice_or_wrongly(seed: int) -> None:
    play(2000 + seed, Faults.DROPS)


def test_subscribers_do_move_in_these_worlds() -> None:
    """Otherwise the tests above would say little."""
    moved = 0
    for seed in (2, 3):
        balancers = [broker.balancer for broker in play(seed, Faults.NONE).brokers.values()]
        moved += sum(each.moved for each in balancers if isinstance(each, EdgeBalancer))
    assert moved > 10


def test_the_same_seed_is_the_same_run() -> None:
    one, same, other = (play(seed, Faults.DROPS) for seed in (7, 7, 8))
    assert (one.clock.events, one.recent) == (same.clock.events, same.recent)
    assert one.clock.events != other.clock.events


def test_publishers_begin_at_different_days_and_go_on_from_there() -> None:
    """In step they would publish the same days, and the loads of all brokers would swing together."""
    world = World(1, local_experiment())
    days = [Publication(str(day), attributes={"day": day}) for day in range(60)]
    for number in range(10):
        world.add_publisher(f"p{number}", "B0", "[day,>,-1]", days, 1.0)
    began = [publisher.next for publisher in world.publishers.values()]
    assert len(set(began)) > 5
    world.run(100)
    assert all(publisher.next < 60 for publisher in world.publishers.values())
    again = World(1, local_experiment())
    again.add_publisher("p0", "B0", "[day,>,-1]", days, 1.0)
    assert again.publishers["p0"].next == began[0]


def test_a_broker_says_that_it_sends_what_its_subscriptions_get() -> None:
    """Three subscribers of two queries, 2 quotes a second of which each gets all or half, 250 bytes each."""
    world = World(1, local_experiment())
    quotes = [Publication(f"q{n}", attributes={"class": "STOCK", "volume": n}) for n in range(10)]
    world.add_publisher("p", "B0", "[class,=,'STOCK']", quotes, 2.0)
    for name, query in (("s1", "[class,=,'STOCK']"), ("s2", "[volume,<,5]"), ("s3", "[volume,<,5]")):
        world.add_subscriber(name, "B1", query)
    broker = world.brokers["B1"]
    world.run(20.0)
    assert broker.load().output_bytes_s == broker._meter.output_bytes_s  # nothing was counted for a whole window
    world.run(200.0)
    found = broker.candidates(LoadProfile({}, css=0, samples=0, rate=0.0))
    assert sum(len(each.subscribers) * each.bytes_s for each in found) == pytest.approx(broker.load().output_bytes_s)
    assert sorted(each.bytes_s for each in found) == pytest.approx([250.0, 500.0], rel=0.1)


def test_an_audit_changes_nothing() -> None:
    audited, plain = (small_world(5, Random(5), Faults.BREAKS) for _ in range(2))
    plain.audit = None
    for world in (audited, plain):
        world.run(60)
    assert audited.recent == plain.recent
    assert audited.clock.events == plain.clock.events
    assert audited.recent.deliveries > 100


def test_a_lost_message_is_found_by_the_audit_and_the_seed_is_named() -> None:
    with pytest.raises(Violation, match=r"^seed 3, .*never came to"):
        play(3, Faults.NONE, Weather(drop=0.3))


def test_a_search_names_the_seeds_that_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(seed: int) -> None:
        if seed == 2:
            raise Violation(small_world(2, Random(2), Faults.NONE), "broken")

    monkeypatch.setattr("tidings.simulate.chaos.play", broken)
    heard: list[int] = []
    found = list(search(range(4), heard.append))
    assert [(each.seed, each.faults) for each in found] == [(2, faults_of(2))]
    assert "seed 2" in found[0].problem
    assert sum(heard) == 4


@pytest.mark.slow
def test_many_seeds_break_no_promise() -> None:
    assert list(search(range(10_000, 10_400))) == []


def test_the_topologies_are_those_of_figure_11() -> None:
    local, large = local_experiment(), global_experiment()
    assert local.neighbours("B0") == ("B1", "B2", "B3", "B4")
    assert local.neighbours("B3") == ("B0",)
    assert large.neighbours("B20") == ("B21", "B22", "B10", "B30")
    assert len(large.machines) == 12
    assert large.cluster_of("B42").head == "B40"
    assert [large.machines[name].cpu_mhz for name in large.edges] == [300, 200, 350, 400, 266, 700, 166, 233]
