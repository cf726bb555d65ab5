"""Which brokers are there, and who is connected? Clusters of edge brokers around heads ([PADRES] Fig. 5, 11)."""

from __future__ import annotations

from dataclasses import dataclass

from tidings.model import DataError
from tidings.simulate.machines import Machine


@dataclass(frozen=True, slots=True)
class BrokerCluster:
    """A head, to which publishers connect, and its edge brokers, to which subscribers connect."""

    name: str
    head: str
    edges: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Topology:
    """Clusters in a chain: the heads of neighbouring ones are connected."""

    machines: dict[str, Machine]
    clusters: tuple[BrokerCluster, ...]

    def __post_init__(self) -> None:
        named = [name for cluster in self.clusters for name in (cluster.head, *cluster.edges)]
        if sorted(named) != sorted(self.machines):
            raise DataError(
                f"every broker belongs to one cluster, got machines {sorted(self.machines)} for {sorted(named)}"
            )
        if len({cluster.name for cluster in self.clusters}) < len(self.clusters):
            raise DataError("clusters have different names")

    @property
    def heads(self) -> frozenset[str]:
        return frozenset(cluster.head for cluster in self.clusters)

    @property
    def edges(self) -> tuple[str, ...]:
        return tuple(edge for cluster in self.clusters for edge in cluster.edges)

    @property
    def links(self) -> tuple[tuple[str, str], ...]:
        spokes = [(cluster.head, edge) for cluster in self.clusters for edge in cluster.edges]
        chain = [(one.head, other.head) for one, other in zip(self.clusters, self.clusters[1:], strict=False)]
        return (*spokes, *chain)

    def neighbours(self, broker: str) -> tuple[str, ...]:
        return tuple(b if a == broker else a for a, b in self.links if broker in (a, b))

    def cluster_of(self, broker: str) -> BrokerCluster:
        return next(cluster for cluster in self.clusters if broker in (cluster.head, *cluster.edges))


HEAD = Machine(cpu_mhz=2000, memory_mb=32, bandwidth_mbps=10)
EDGE = Machine(cpu_mhz=400, memory_mb=32, bandwidth_mbps=2.5)


def local_experiment() -> Topology:
    """[PADRES] Table IV, simulation: one head, four unlike edge brokers."""
    rows = {"B1": (100, 16, 0.5), "B2": (200, 16, 1.0), "B3": (400, 32, 2.0), "B4": (1000, 32, 5.0)}
    machines = {"B0": HEAD} | {name: Machine(*row) for name, row in rows.items()}
    return Topology(machines, (BrokerCluster("C0", "B0", tuple(rows)),))


def global_experiment() -> Topology:
    """[PADRES] Table VI, simulation: four clusters of two edge brokers in a chain."""
    rows = {
        "B11": (300, 128, 1.0),
        "B12": (200, 128, 0.5),
        "B21": (350, 64, 1.0),
        "B22": (400, 64, 1.5),
        "B31": (266, 64, 1.0),
        "B32": (700, 64, 2.0),
        "B41": (166, 64, 0.5),
        "B42": (233, 128, 0.5),
    }
    machines = {name: Machine(*row) for name, row in rows.items()}
    clusters = tuple(BrokerCluster(f"C{n}", f"B{n}0", (f"B{n}1", f"B{n}2")) for n in range(1, 5))
    return Topology(machines | {cluster.head: HEAD for cluster in clusters}, clusters)


def cluster_testbed() -> Topology:
    """[PADRES] Table IV, heterogeneous cluster: the slowest processor has by far the least bandwidth.

    The paper gives factors of the matching delay, and bandwidths of 12, 9, 6 and 0.85 Mbps. They are divided by 16: a
    quote as a serialized Java object is longer than the 250 bytes of ours.
    """
    rows = {"B1": (1.0, 12), "B2": (1.5, 9), "B3": (2.5, 6), "B4": (10.0, 0.85)}
    machines = {name: Machine(400 / factor, 256, mbps / 16) for name, (factor, mbps) in rows.items()}
    return Topology({"B0": HEAD} | machines, (BrokerCluster("C0", "B0", tuple(rows)),))


def equal_brokers(clusters: int, edges: int) -> Topology:
    """So many clusters in a chain, all edge brokers alike ([PADRES] 6.3.5, 6.4.2): B10 and B11, B12 and so on."""
    groups = tuple(
        BrokerCluster(f"C{n}", f"B{n}0", tuple(f"B{n}{edge}" for edge in range(1, edges + 1)))
        for n in range(1, clusters + 1)
    )
    machines = {edge: EDGE for group in groups for edge in group.edges}
    return Topology(machines | {group.head: HEAD for group in groups}, groups)
