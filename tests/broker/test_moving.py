"""Subscribers move between brokers while publications come: each publication reaches each of them once."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from tests.broker.overlays import RAPID, SECRET, overlay, quote, running, until, wants
from tests.broker.test_server import play
from tidings.broker import BrokerClient, Feed


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
