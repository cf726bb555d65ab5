"""What does a ``brokers.toml`` say? Who the brokers are and where, the secret, and the limits.

::

    name = "B1"                    # which of them this one is; or tidings broker --name B1
    secret_file = "secret"         # at least 16 bytes; paths begin at the folder of this file
    bandwidth_mbps = 1000          # what this broker sends at most
    balance = true                 # false: subscribers stay where they are
    beyond_loopback = false        # true: other addresses than this machine's own are allowed; nothing is encrypted

    [[cluster]]                    # publishers connect to the head, subscribers to the edges
    name = "C0"
    head = "B0"
    edges = ["B1", "B2"]

    [addresses]
    B0 = "127.0.0.1:7000"
    B1 = "127.0.0.1:7001"
    B2 = "127.0.0.1:7002"

    [limits]                       # may be left out: message_bytes, queue_bytes, queued_messages, connections, …
    [parameters]                   # may be left out: those of [PADRES] Table III
"""

from __future__ import annotations

import ipaddress
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from tidings.balancing.padres import Parameters, Place
from tidings.model import DataError
from tidings.simulate.machines import MBPS
from tidings.simulate.topology import BrokerCluster

SECRET_BYTES = 16
_TOP = {"name", "secret_file", "bandwidth_mbps", "balance", "beyond_loopback"}
_TABLES = {"cluster", "addresses", "limits", "parameters"}


@dataclass(frozen=True, slots=True)
class Limits:
    """What a broker takes at most. Together they bound its memory."""

    message_bytes: int = 1 << 20
    queue_bytes: int = 4 << 20
    """Of what waits for one connection. A client that lets more come together is disconnected."""
    queued_messages: int = 1000
    """In the input queue; then nobody is read from."""
    connections: int = 2000
    subscribers: int = 100_000
    adverts: int = 10_000
    """Of all clients together."""
    strangers: int = 64
    """Connections that have not proved yet that they know the secret."""
    handshake_s: float = 5.0
    stall_s: float = 30.0
    """After that a connection ends whose other side takes nothing of what waits for it."""
    linger_s: float = 60.0
    """How long the advertisements of a publisher stay that has lost its connection."""

    def __post_init__(self) -> None:
        for each in fields(self):
            if not getattr(self, each.name) > 0:
                raise DataError(f"the limit {each.name} is greater than 0, got {getattr(self, each.name)!r}")


@dataclass(frozen=True, slots=True)
class Overlay:
    """Which brokers there are, who is connected to whom, and where they listen. Clusters form a chain."""

    clusters: tuple[BrokerCluster, ...]
    addresses: Mapping[str, str]

    def __post_init__(self) -> None:
        names = [name for cluster in self.clusters for name in (cluster.head, *cluster.edges)]
        if not names or len(set(names)) < len(names):
            raise DataError(f"every broker belongs to one cluster, got {names}")
        if set(names) != set(self.addresses):
            raise DataError(f"every broker has an address, got {sorted(self.addresses)} for {sorted(names)}")
        for address in self.addresses.values():
            host_and_port(address)

    @property
    def heads(self) -> frozenset[str]:
        return frozenset(cluster.head for cluster in self.clusters)

    @property
    def links(self) -> tuple[tuple[str, str], ...]:
        """Who is called, and who calls."""
        spokes = [(cluster.head, edge) for cluster in self.clusters for edge in cluster.edges]
        return (*spokes, *((a.head, b.head) for a, b in zip(self.clusters, self.clusters[1:], strict=False)))

    def neighbours(self, name: str) -> tuple[str, ...]:
        return tuple(b if a == name else a for a, b in self.links if name in (a, b))

    def called_by(self, name: str) -> tuple[str, ...]:
        return tuple(called for called, caller in self.links if caller == name)

    def cluster_of(self, name: str) -> BrokerCluster:
        return next(cluster for cluster in self.clusters if name in (cluster.head, *cluster.edges))

    def place(self, name: str) -> Place:
        cluster = self.cluster_of(name)
        return Place(name, cluster.name, cluster.head)


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    """Everything that a broker has to know."""

    name: str
    overlay: Overlay
    secret: bytes = field(repr=False)
    limits: Limits = field(default_factory=Limits)
    parameters: Parameters = field(default_factory=Parameters)
    bandwidth_mbps: float = 1000.0
    balance: bool = True
    beyond_loopback: bool = False

    def __post_init__(self) -> None:
        if self.name not in self.overlay.addresses:
            raise DataError(f"there is no broker {self.name!r}; there are: {', '.join(self.overlay.addresses)}")
        check_secret(self.secret)
        if not self.bandwidth_mbps > 0:
            raise DataError(f"bandwidth_mbps is greater than 0, got {self.bandwidth_mbps!r}")
        far = [each for each in self.overlay.addresses.values() if not _is_loopback(host_and_port(each)[0])]
        if far and not self.beyond_loopback:
            raise DataError(f"{far[0]} is not on this machine, and nothing is encrypted; say beyond_loopback = true")

    @property
    def bandwidth_bytes_s(self) -> float:
        return self.bandwidth_mbps * MBPS


def check_secret(secret: bytes) -> None:
    if len(secret) < SECRET_BYTES:
        raise DataError(f"a secret has at least {SECRET_BYTES} bytes, got {len(secret)}; make one by chance")


def host_and_port(address: str) -> tuple[str, int]:
    """The parts of an address.

    >>> host_and_port("127.0.0.1:7001"), host_and_port("[::1]:7001")
    (('127.0.0.1', 7001), ('::1', 7001))
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise DataError(f"an address is like 127.0.0.1:7001, got {address!r}")
    return host.strip("[]"), int(port)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_config(path: Path, name: str | None = None) -> BrokerConfig:
    """The file of a broker; ``name`` instead of the one in it."""
    try:
        return _config(tomllib.loads(path.read_text(encoding="utf-8")), path.parent, name)
    except FileNotFoundError as error:
        raise DataError(f"there is no file {str(error.filename)!r}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: this is no TOML: {error}") from None
    except KeyError as error:
        raise DataError(f"{path}: it lacks {error.args[0]!r}") from None
    except (DataError, TypeError, ValueError) as error:
        raise DataError(f"{path}: {error}") from None


def _config(given: Mapping[str, Any], folder: Path, name: str | None) -> BrokerConfig:
    _check_names("the file", given, _TOP | _TABLES)
    clusters = []
    for cluster in given["cluster"]:
        _check_names("a cluster", cluster, {"name", "head", "edges"})
        clusters.append(BrokerCluster(cluster["name"], cluster["head"], tuple(cluster["edges"])))
    return BrokerConfig(
        given["name"] if name is None else name,
        Overlay(tuple(clusters), dict(given["addresses"])),
        (folder / given["secret_file"]).read_bytes().strip(),
        _filled("limits", Limits, given),
        _filled("parameters", Parameters, given),
        float(given.get("bandwidth_mbps", 1000.0)),
        bool(given.get("balance", True)),
        bool(given.get("beyond_loopback", False)),
    )


def _filled(where: str, kind: Any, given: Mapping[str, Any]) -> Any:
    table = given.get(where, {})
    _check_names(where, table, {each.name for each in fields(kind)})
    return kind(**table)


def _check_names(where: str, given: Mapping[str, Any], known: set[str]) -> None:
    if unknown := sorted(given.keys() - known):
        raise DataError(f"{where} has no {unknown[0]!r}; there are: {', '.join(sorted(known))}")
