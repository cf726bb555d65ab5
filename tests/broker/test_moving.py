"""Subscribers move between brokers while publications come: each publication reaches each of them once."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from functools import partial

import pytest

from tests.broker.overlays import RAPID, SECRET, config, overlay, quote, running, until, wants
from tests.broker.test_server import play
from tidings.balancing.padres.messages import MoveTo
from tidings.broker import BrokerClient, BrokerServer, Feed, Limits
from tidings.broker.config import host_and_port
from tidings.broker.connection import Connection
from tidings.broker.core import Order
from tidings.broker.handshake import answer
from tidings.broker.messages import FROM_CLIENT


async def collect(feed: Feed, into: list[str]) -> None:
    async for publication in feed:
        into.append(publication.id)


@pytest.mark.thorough
def test_a_migration_under_load_loses_nothing_and_repeats_nothing() -> None:
    async def story() -> None:
        places = overlay(("B0", "B1", "B2"))
        async with AsyncExitStack() as stack:
            brokers = await stack.enter_async_context(running(places, RAPID, mbps=2.0))
            exchange = await stack.enter_async_context(BrokerClient("exchange", places.addresses["B0"], SECRET))
            await exchange.advertise("class:STOCK")
            feeds: list[Feed] = []
            received: list[list[str]] = []
            for number in range(10):
                client = await stack.enter_async_context(BrokerClient(f"c{number}", places.addresses["B1"], SECRET))
                feeds.append(await client.subscribe(f"volume:>={number}"))
                received.append([])
            await until(lambda: wants(brokers["B0"], "B1", "volume:>=0"))
            reading = [asyncio.create_task(collect(f, r)) for f, r in zip(feeds, received, strict=True)]
            published = 0
            while not brokers["B2"].core.subscribers or published < 300 or any(f.migrant.moving for f in feeds):
                await exchange.publish(quote(published))
                published += 1
                await asyncio.sleep(0.01)
            expected = [[f"YHOO-{n}" for n in range(number, published)] for number in range(10)]
            await until(lambda: [sorted(r) for r in received] == [sorted(e) for e in expected])
            for task in reading:
                task.cancel()
            homes = {feed.migrant.home for feed in feeds}
            assert homes == {"B1", "B2"}
            held = [name for broker in ("B1", "B2") for name in brokers[broker].core.subscribers]
            assert sorted(held) == sorted(feed.name for feed in feeds)
            assert sum(feed.repeats for feed in feeds) > 0  # while they were at both

    play(story())


def order(broker: BrokerServer, feed: Feed, to: str) -> None:
    """A broker tells a subscriber to move."""
    broker._apply([Order(feed.name, MoveTo("session", to, 1))])


def test_a_feed_stays_where_it_is_when_the_other_broker_has_no_room() -> None:
    async def story() -> None:
        places = overlay(("B0", "B1"))
        async with (
            BrokerServer(config(places, "B0", limits=Limits(subscribers=1))) as full,
            BrokerServer(config(places, "B1")) as home,
            BrokerClient("bob", places.addresses["B0"], SECRET) as bob,
            BrokerClient("ada", places.addresses["B1"], SECRET) as ada,
        ):
            await bob.subscribe("symbol:YHOO")
            feed = await ada.subscribe("volume:>1")
            order(home, feed, "B0")
            await until(lambda: feed.migrant.moving is None and full.tallies.refused == 1)
            await ada.publish(quote(2))
            assert (await anext(feed)).id == "YHOO-2" and feed.migrant.home == "B1"

    play(story())


async def takes_one_request(asked: asyncio.Event, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A broker that dies before it answers."""
    connection = Connection(reader, writer, 1 << 20)
    await answer(connection, SECRET, "B0", 5.0)
    connection.trust()
    await connection.receive(FROM_CLIENT)
    asked.set()
    await connection.close()


def test_a_move_that_was_given_up_is_not_made_when_the_other_broker_is_there_again() -> None:
    async def story() -> None:
        places = overlay(("B0", "B1"))
        async with (
            BrokerServer(config(places, "B1")) as home,
            BrokerClient("ada", places.addresses["B1"], SECRET) as ada,
        ):
            first, second = await ada.subscribe("volume:>1"), await ada.subscribe("volume:>2")
            host, port = host_and_port(places.addresses["B0"])
            asked = asyncio.Event()
            async with await asyncio.start_server(partial(takes_one_request, asked), host, port):
                order(home, first, "B0")
                await asked.wait()
                await until(lambda: first.migrant.moving is None)
            async with BrokerServer(config(places, "B0")) as again:
                order(home, second, "B0")
                await until(lambda: second.name in again.core.subscribers and not ada._asked)
                assert list(again.core.subscribers) == [second.name]

    play(story())
