"""Small random worlds from a seed."""

from random import Random

from tidings.balancing.padres import Parameters
from tidings.model import Publication
from tidings.simulate.audit import Audit
from tidings.simulate.links import Weather
from tidings.simulate.machines import Machine
from tidings.simulate.topology import BrokerCluster, Topology
from tidings.simulate.world import Rules, World

QUICK = Parameters(
    local_pie_publishing_period_s=3,
    global_pie_publishing_period_s=6,
    stabilize_duration_s=3,
    local_detection_minimum_interval_s=2,
    local_detection_maximum_interval_s=4,
    global_detection_minimum_interval_s=5,
    global_detection_maximum_interval_s=7,
    press_samples=5,
    press_timeout_s=3,
)
"""Everything ten times as fast as in the paper, so that a minute has several sessions."""

SYMBOLS = ("A", "B", "C")


def topology(random: Random) -> Topology:
    machines, clusters = {}, []
    for number in range(1, random.randint(1, 2) + 1):
        names = [f"B{number}{edge}" for edge in range(random.randint(2, 3) + 1)]
        for name in names:
            slow = random.choice([1, 2, 4])
            machines[name] = Machine(cpu_mhz=100 * slow, memory_mb=100, bandwidth_mbps=0.05 * random.choice([1, 2, 4]))
        machines[names[0]] = Machine(2000, 100, 10)
        clusters.append(BrokerCluster(f"C{number}", names[0], tuple(names[1:])))
    return Topology(machines, tuple(clusters))


def quotes(symbol: str) -> list[Publication]:
    return [
        Publication(f"{symbol}{volume}", attributes={"class": "STOCK", "symbol": symbol, "volume": volume})
        for volume in range(0, 100, 10)
    ]


def query(random: Random) -> str:
    symbol = f",[symbol,=,'{random.choice(SYMBOLS)}']" if random.random() < 0.7 else ""
    volume = f",[volume,>,{random.randrange(0, 100, 10)}]" if random.random() < 0.5 else ""
    return f"[class,=,'STOCK']{symbol}{volume}"


def play(seed: int, *, faults: bool, weather: Weather | None = None) -> World:
    """A minute of life, with faults if asked for; then all publishers are silent until everything is quiet."""
    random = Random(seed)
    places = topology(random)
    latency = weather or Weather(latency_s=random.choice([0.0, 0.001, 0.05]), delay=random.choice([0.0, 0.2]))
    if faults and weather is None:
        latency = Weather(0.001, delay=0.1, drop=random.choice([0, 0.02]), duplicate=random.choice([0, 0.1]))
    rules = Rules(QUICK, random.choice(["proposed", "proposed", "random"]), random.random() < 0.5, latency)
    world = World(seed, places, rules, Audit(may_lose=faults))
    for symbol in SYMBOLS:
        world.add_publisher(
            f"p{symbol}", random.choice(sorted(places.heads)), f"[symbol,=,'{symbol}']", quotes(symbol), 2
        )
    home = random.choice(places.edges)
    for number in range(random.randint(5, 25)):
        broker = home if random.random() < 0.8 else random.choice(places.edges)
        at, name = random.uniform(0, 20), f"s{number}"
        world.clock.at(at, world.add_subscriber, name, broker, query(random))
        if random.random() < 0.3:
            world.clock.at(at + random.uniform(5, 40), world.remove_subscriber, name)
    if faults:
        _break(world, random)
    world.run(60)
    world.is_publishing = False
    world.run(900)
    assert world.audit is not None
    if not faults:
        world.audit.check_end(world)
    return world


def _break(world: World, random: Random) -> None:
    for _ in range(random.randint(1, 3)):
        at, down_s = random.uniform(5, 50), random.uniform(0.5, 10)
        if random.random() < 0.5:
            world.clock.at(at, world.crash, random.choice(sorted(world.topology.machines)), down_s)
        else:
            world.clock.at(at, world.partition, *random.choice(world.topology.links), down_s)
