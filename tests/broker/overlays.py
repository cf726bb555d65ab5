"""Brokers on one event loop, for tests."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from random import Random

from tidings.balancing.padres import Parameters
from tidings.broker import BrokerConfig, BrokerServer, Limits, Overlay
from tidings.model import Publication
from tidings.simulate.topology import BrokerCluster

SECRET = b"a secret for the tests"
RAPID = Parameters(
    local_pie_publishing_period_s=0.2,
    global_pie_publishing_period_s=0.4,
    stabilize_duration_s=0.2,
    local_detection_minimum_interval_s=0.1,
    local_detection_maximum_interval_s=0.2,
    press_samples=20,
    press_timeout_s=0.5,
)
"""A session takes about a second."""


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens at. All are held until the last one is known, so that they differ."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def overlay(*clusters: tuple[str, ...]) -> Overlay:
    """Clusters of brokers, each with its head first."""
    names = [name for cluster in clusters for name in cluster]
    addresses = {name: f"127.0.0.1:{port}" for name, port in zip(names, free_ports(len(names)), strict=True)}
    return Overlay(
        tuple(BrokerCluster(f"C{n}", head, tuple(edges)) for n, (head, *edges) in enumerate(clusters)), addresses
    )


def config(places: Overlay, name: str, **settings: object) -> BrokerConfig:
    return replace(BrokerConfig(name, places, SECRET, balance=False), **settings)  # type: ignore[arg-type]


@asynccontextmanager
async def running(
    places: Overlay, parameters: Parameters | None = None, limits: Limits | None = None, mbps: float = 1000.0
) -> AsyncIterator[dict[str, BrokerServer]]:
    """All brokers of an overlay, connected. They balance load if there are parameters."""
    async with AsyncExitStack() as stack:
        brokers = {}
        for number, name in enumerate(places.addresses):
            settings = config(
                places,
                name,
                parameters=parameters or Parameters(),
                limits=limits or Limits(),
                balance=parameters is not None,
                bandwidth_mbps=mbps,
            )
            brokers[name] = await stack.enter_async_context(BrokerServer(settings, Random(number)))
        await until(lambda: all(set(each._links) == set(places.neighbours(name)) for name, each in brokers.items()))
        yield brokers


async def until(is_so: Callable[[], bool], timeout_s: float = 200.0) -> None:
    """Let the others run until something is so."""
    async with asyncio.timeout(timeout_s):
        while not is_so():
            await asyncio.sleep(0.002)


def wants(broker: BrokerServer, hop: str, query: str) -> bool:
    """Whether a neighbour of a broker has asked for a query."""
    return broker.core.queries.number(query) in broker.core.routing.wanted[hop]


def quote(number: int, symbol: str = "YHOO") -> Publication:
    return Publication(f"{symbol}-{number}", attributes={"class": "STOCK", "symbol": symbol, "volume": number})
