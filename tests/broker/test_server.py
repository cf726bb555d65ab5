from __future__ import annotations

import asyncio
import gc
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from tests.broker import fuzz_frames
from tests.broker.overlays import SECRET, config, overlay, quote, running, until, wants
from tidings.broker import BrokerClient, BrokerServer, FrameError, Limits, RequestRefusedError
from tidings.broker.codec import decode, encode
from tidings.broker.connection import Connection
from tidings.broker.frames import VERSION, FrameSplitter, framed
from tidings.broker.handshake import call
from tidings.broker.messages import (
    BETWEEN_BROKERS,
    GREETINGS,
    TO_CLIENT,
    Accepted,
    AdvertiseRequest,
    Challenge,
    Goodbye,
    Hello,
    Interest,
    InterestGone,
    Proof,
    PublishRequest,
    Refused,
    SubscribeRequest,
    Transit,
)
from tidings.broker.server import _Item
from tidings.model import Publication


def play(story: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(250):
            await story

    asyncio.run(bounded())


async def reason_for(address: str, *pieces: bytes) -> str:
    """What a broker says at last to somebody who sends these bytes."""
    host, port = address.rsplit(":", 1)
    reader, writer = await asyncio.open_connection(host, int(port))
    for piece in pieces:
        writer.write(piece)
    bodies = list(FrameSplitter(1 << 20).feed(await reader.read(-1)))
    writer.close()
    last = decode(bodies[-1], GREETINGS)
    assert isinstance(last, Goodbye)
    return last.reason


async def caller(address: str, name: str, role: str) -> Connection:
    """A connection whose other end believes us."""
    host, port = address.rsplit(":", 1)
    connection = Connection(*await asyncio.open_connection(host, int(port)), 1 << 20)
    try:
        await call(connection, SECRET, name, role, 5.0)
    except FrameError:
        await connection.close()
        raise
    connection.trust()
    return connection


def test_a_publication_reaches_each_subscriber_that_asked_once() -> None:
    async def story() -> None:
        places = overlay(("B0", "B1", "B2"), ("B3", "B4"))
        async with (
            running(places) as brokers,
            BrokerClient("ada", places.addresses["B1"], SECRET) as ada,
            BrokerClient("bob", places.addresses["B4"], SECRET) as bob,
            BrokerClient("exchange", places.addresses["B0"], SECRET) as exchange,
        ):
            await exchange.advertise("class:STOCK")
            large, yhoo = await ada.subscribe("volume:>=3"), await bob.subscribe("[symbol,=,'YHOO']")
            await until(lambda: wants(brokers["B0"], "B1", "volume:>=3") and wants(brokers["B0"], "B3", "symbol:YHOO"))
            for number in range(6):
                await exchange.publish(quote(number, "YHOO" if number % 2 else "GOOG"))
            assert [(await anext(large)).id for _ in range(3)] == ["YHOO-3", "GOOG-4", "YHOO-5"]
            assert [(await anext(yhoo)).id for _ in range(3)] == ["YHOO-1", "YHOO-3", "YHOO-5"]
            assert brokers["B2"].tallies.publications == 0  # nobody asked there

    play(story())


def test_who_has_unsubscribed_gets_nothing_more_and_costs_nothing() -> None:
    async def story() -> None:
        places = overlay(("B0", "B1"))
        async with (
            running(places) as brokers,
            BrokerClient("ada", places.addresses["B1"], SECRET) as ada,
            BrokerClient("exchange", places.addresses["B0"], SECRET) as exchange,
        ):
            await exchange.advertise()
            feed = await ada.subscribe("symbol:YHOO")
            await until(lambda: wants(brokers["B0"], "B1", "symbol:YHOO"))
            await feed.close()
            await until(lambda: not wants(brokers["B0"], "B1", "symbol:YHOO"))
            await exchange.publish(quote(1))
            assert [each async for each in feed] == []
            assert brokers["B1"].tallies.publications == 0 and not brokers["B1"].core.subscribers

    play(story())


def test_a_query_that_cannot_be_read_is_refused_and_the_connection_stays() -> None:
    async def story() -> None:
        places = overlay(("B0",))
        async with running(places), BrokerClient("ada", places.addresses["B0"], SECRET) as ada:
            with pytest.raises(RequestRefusedError, match="query, column"):
                await ada.subscribe("volume:>")
            feed = await ada.subscribe("volume:>1")
            await ada.publish(quote(2))
            assert (await anext(feed)).id == "YHOO-2"

    play(story())


def test_more_subscribers_than_allowed_are_refused() -> None:
    async def story() -> None:
        places = overlay(("B0",))
        async with (
            running(places, limits=Limits(subscribers=1)),
            BrokerClient("ada", places.addresses["B0"], SECRET) as ada,
        ):
            await ada.subscribe("volume:>1")
            with pytest.raises(RequestRefusedError, match="B0 has 1 subscribers already"):
                await ada.subscribe("volume:>2")

    play(story())


def test_who_does_not_know_the_secret_is_refused_by_both_sides() -> None:
    async def story() -> None:
        places = overlay(("B0",))
        async with running(places) as brokers:
            with pytest.raises(FrameError, match="refused: the secrets are not the same"):
                async with BrokerClient("eve", places.addresses["B0"], b"another secret of eve"):
                    raise AssertionError("unreachable")
            assert brokers["B0"].tallies.refused == 1 and not brokers["B0"]._guests

    play(story())


def test_a_proof_cannot_be_used_again() -> None:
    async def story() -> None:
        places = overlay(("B0",))
        async with running(places):
            hello = framed(encode(Hello("ada", "client", "0" * 32)))
            old = framed(encode(Proof("1" * 64)))
            assert await reason_for(places.addresses["B0"], hello, old) == "the secrets are not the same"

    play(story())


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "this is no frame: it begins with b'GET'"),
        (framed(b"{}", VERSION + 1), "version 1 is spoken here, got version 2"),
        (framed(b"x" * 5000), "a message has at most 4,096 bytes here, got one of 5,000"),
        (framed(b"{"), "this cannot be read: "),
        (framed(b'{"type":"Hello","name":"\\ud800","role":"client","nonce":"0"}'), "this cannot be read: "),
        (framed(encode(Accepted(1))), "one of Hello, Challenge, Proof, Welcome, Goodbye is expected, got 'Accepted'"),
        (framed(encode(Challenge("B1", "0" * 32))), "Hello is expected, got Challenge"),
        (framed(encode(Hello("a b", "client", "0" * 32))), "a name has 1 to 100 letters"),
        (framed(encode(Hello("ada", "king", "0" * 32))), "a role is one of client, broker, got 'king'"),
        (framed(encode(Hello("ada", "client", "0"))), "a nonce has 32 hexadecimal digits, got '0'"),
    ],
)
def test_a_stranger_is_disconnected_with_a_reason(data: bytes, reason: str) -> None:
    async def story() -> None:
        places = overlay(("B0",))
        async with running(places):
            assert (await reason_for(places.addresses["B0"], data)).startswith(reason)

    play(story())


def test_a_stranger_that_says_nothing_is_disconnected() -> None:
    async def story() -> None:
        places = overlay(("B0",))
        async with running(places, limits=Limits(handshake_s=0.05)):
            assert await reason_for(places.addresses["B0"]) == "a handshake takes at most 0.05 s"

    play(story())


def test_a_client_says_who_did_not_answer_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidings.broker.client._HANDSHAKE_S", 0.1)

    async def read_only(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(-1)
        writer.close()

    async def story() -> None:
        async with await asyncio.start_server(read_only, "127.0.0.1", 0) as silent:
            address = "{}:{}".format(*silent.sockets[0].getsockname())
            with pytest.raises(ConnectionError, match=f"{address} did not finish the handshake within 0.1 s"):
                await BrokerClient("ada", address, SECRET).__aenter__()

    play(story())


def test_too_many_strangers_are_sent_away() -> None:
    async def story() -> None:
        places = overlay(("B0",))
        async with running(places, limits=Limits(strangers=1)) as brokers:
            host, port = places.addresses["B0"].rsplit(":", 1)
            _, first = await asyncio.open_connection(host, int(port))
            await until(lambda: brokers["B0"]._strangers == 1)
            assert await reason_for(places.addresses["B0"]) == "too many connections; try again later"
            first.close()

    play(story())


def test_more_connections_than_allowed_are_sent_away() -> None:
    async def story() -> None:
        places = overlay(("B0",))
        async with (
            running(places, limits=Limits(connections=1)),
            BrokerClient("ada", places.addresses["B0"], SECRET) as ada,
        ):
            assert await reason_for(places.addresses["B0"]) == "too many connections; try again later"
            feed = await ada.subscribe("volume:>1")
            await ada.publish(quote(2))
            assert (await anext(feed)).id == "YHOO-2"

    play(story())


def test_more_advertisements_than_allowed_are_refused_and_the_same_again_is_none() -> None:
    async def story() -> None:
        places = overlay(("B0",))
        async with running(places, limits=Limits(adverts=1)):
            connection = await caller(places.addresses["B0"], "ada", "client")
            for number, name in enumerate(("ada/1", "ada/1", "ada/2")):
                connection.send(AdvertiseRequest(number, name, "volume:>1"))
                answer = await connection.receive((Accepted, Refused))
                too_many = Refused(number, "B0 has 1 advertisements already")
                assert answer == (too_many if name == "ada/2" else Accepted(number))
            await connection.close()

    play(story())


@pytest.mark.parametrize("number", range(4))
def test_a_broker_outlives_hostile_frames(number: int, caplog: pytest.LogCaptureFixture) -> None:
    """From strangers, and from a client and a neighbour that know the secret."""

    async def hostile(address: str, name: str, role: str, frames: list[bytes]) -> None:
        connection = await caller(address, name, role) if name else None
        host, port = address.rsplit(":", 1)
        writer = connection._writer if connection else (await asyncio.open_connection(host, int(port)))[1]
        for frame in frames:
            writer.write(frame)
        if connection:
            with suppress(OSError):
                while not isinstance(await connection.receive((Goodbye, *TO_CLIENT, *BETWEEN_BROKERS)), Goodbye):
                    pass
            await connection.close()
        writer.close()

    async def story() -> None:
        places, rng = overlay(("B0", "B1")), Random(number)
        address = places.addresses["B0"]
        async with BrokerServer(config(places, "B0")) as broker:
            for name, role in 8 * [("", ""), ("ada", "client"), ("B1", "broker")]:
                frames = [fuzz_frames.one_frame(rng) for _ in range(20)]
                await hostile(address, name, role, [*frames, b"the end"])
            async with BrokerClient("bob", address, SECRET) as bob:
                feed = await bob.subscribe("volume:>1")
                await bob.publish(quote(2))
                assert (await anext(feed)).id == "YHOO-2"
            assert broker.tallies.refused >= 16

    play(story())
    gc.collect()  # tasks that failed tell of it when they are gone
    assert [each.getMessage() for each in caplog.records if each.levelname == "ERROR"] == []


def test_a_broker_that_is_no_neighbour_is_refused() -> None:
    async def story() -> None:
        places = overlay(("B0", "B1"))
        async with running(places):
            with pytest.raises(FrameError, match="refused: B9 is no neighbour of B1"):
                await caller(places.addresses["B1"], "B9", "broker")

    play(story())


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (SubscribeRequest(1, "bob/1", "volume:>1"), "what ada has is called ada/…, got 'bob/1'"),
        (PublishRequest(1, "bob/x/1", quote(1)), "what ada has is called ada/…, got 'bob/x/1'"),
        (
            Interest("volume:>1"),
            "one of SubscribeRequest, UnsubscribeRequest, AdvertiseRequest, PublishRequest, Goodbye",
        ),
        (
            PublishRequest(1, "ada/x/1", Publication("p", "x" * 5000)),
            "a message has at most 5,000 bytes here, got one of ",
        ),
    ],
)
def test_a_client_cannot_speak_for_others_nor_without_end(message: object, reason: str) -> None:
    async def story() -> None:
        places = overlay(("B0",))
        async with running(places, limits=Limits(message_bytes=5_000)):
            connection = await caller(places.addresses["B0"], "ada", "client")
            connection.send(message)
            goodbye = await connection.receive((Goodbye,))
            assert goodbye.reason.startswith(reason)
            await connection.close()

    play(story())


def test_a_client_that_does_not_read_is_disconnected_and_others_are_served() -> None:
    async def story() -> None:
        places = overlay(("B0",))
        async with (
            running(places, limits=Limits(queue_bytes=50_000)) as brokers,
            BrokerClient("bob", places.addresses["B0"], SECRET) as bob,
        ):
            slow = await caller(places.addresses["B0"], "ada", "client")
            slow.send(SubscribeRequest(1, "ada/1", "volume:>=0"))
            feed = await bob.subscribe("volume:>=0")
            await until(lambda: len(brokers["B0"].core.subscribers) == 2)
            number = 0
            while not brokers["B0"].tallies.slow:
                post = quote(number)
                await bob.publish(replace(post, text="x" * 20_000))
                assert (await anext(feed)).id == post.id
                number += 1
                assert brokers["B0"].core.subscribers and number < 10_000
            await until(lambda: list(brokers["B0"].core.subscribers) == [feed.name])
            await slow.close()

    play(story())


def test_a_connection_ends_that_takes_nothing_for_long() -> None:
    async def story() -> None:
        places = overlay(("B0", "B1"))
        async with BrokerServer(config(places, "B0", limits=Limits(stall_s=0.1))) as head:
            neighbour = await caller(places.addresses["B0"], "B1", "broker")
            neighbour.send(Interest("volume:>=0"))
            async with BrokerClient("exchange", places.addresses["B0"], SECRET) as exchange:
                await exchange.advertise()
                await until(lambda: wants(head, "B1", "volume:>=0"))
                post = replace(quote(1), text="x" * 100_000)
                sending = [asyncio.create_task(exchange.publish(post)) for _ in range(200)]
                await until(lambda: "B1" not in head._links)
                await asyncio.gather(*sending)  # nobody waits for the neighbour any more
            await neighbour.close()

    play(story())


def test_of_two_clients_with_one_name_the_first_is_disconnected() -> None:
    async def story() -> None:
        places = overlay(("B0",))
        async with running(places) as brokers:
            first = await caller(places.addresses["B0"], "ada", "client")
            first.send(SubscribeRequest(1, "ada/1", "volume:>1"))
            assert await first.receive((Accepted,)) == Accepted(1)
            second = await caller(places.addresses["B0"], "ada", "client")
            assert await first.receive((Goodbye,)) == Goodbye("ada has connected again")
            second.send(SubscribeRequest(1, "ada/1", "volume:>1"))
            assert await second.receive((Accepted,)) == Accepted(1)
            assert list(brokers["B0"].core.subscribers) == ["ada/1"]
            await first.close()
            await second.close()

    play(story())


def test_after_a_restart_of_its_broker_a_feed_goes_on_by_itself() -> None:
    async def story() -> None:
        places = overlay(("B0", "B1"))
        async with (
            running(places) as brokers,
            BrokerClient("ada", places.addresses["B1"], SECRET) as ada,
            BrokerClient("exchange", places.addresses["B0"], SECRET) as exchange,
        ):
            await exchange.advertise("class:STOCK")
            feed = await ada.subscribe("symbol:YHOO")
            await until(lambda: wants(brokers["B0"], "B1", "symbol:YHOO"))
            await exchange.publish(quote(1))
            assert (await anext(feed)).id == "YHOO-1"
            await brokers["B1"].stop()
            await exchange.publish(quote(2))  # nobody promises this one
            async with BrokerServer(config(places, "B1")) as again:
                await until(lambda: again.core.subscribers == {feed.name: "symbol:YHOO"})
                await until(lambda: "B1" in brokers["B0"]._links and wants(brokers["B0"], "B1", "symbol:YHOO"))
                await exchange.publish(quote(3))
                assert (await anext(feed)).id == "YHOO-3"

    play(story())


def test_a_publication_that_was_underway_when_its_broker_stopped_is_sent_again() -> None:
    async def story() -> None:
        places = overlay(("B0",))
        async with running(places) as brokers, BrokerClient("ada", places.addresses["B0"], SECRET) as ada:
            await ada.advertise()
            await brokers["B0"].stop()
            await until(lambda: ada._connection("B0") is None)
            sending = asyncio.create_task(ada.publish(quote(1)))
            async with BrokerServer(config(places, "B0")) as again:
                await sending
                assert again.tallies.publications == 1

    play(story())


def test_what_a_neighbour_said_before_it_came_back_does_not_count() -> None:
    async def story() -> None:
        places = overlay(("B0", "B1"))
        async with BrokerServer(config(places, "B0")) as head:
            before = await caller(places.addresses["B0"], "B1", "broker")
            await until(lambda: "B1" in head._links)
            old = head._links["B1"]
            after = await caller(places.addresses["B0"], "B1", "broker")
            await until(lambda: head._links.get("B1") not in (None, old))
            after.send(Interest("volume:>=0"))
            await until(lambda: wants(head, "B1", "volume:>=0"))
            head._put(_Item(InterestGone("volume:>=0"), "B1", link=old))  # it has lain in a queue
            await until(lambda: not len(head._inbox))
            assert wants(head, "B1", "volume:>=0")
            head._put(_Item(InterestGone("volume:>=0"), "B1", link=head._links["B1"]))
            await until(lambda: not wants(head, "B1", "volume:>=0"))
            await before.close()
            await after.close()

    play(story())


def test_readers_wait_while_a_neighbour_takes_nothing() -> None:
    async def story() -> None:
        places = overlay(("B0", "B1"))
        limits = Limits(queue_bytes=50_000)
        async with BrokerServer(config(places, "B0", limits=limits)) as head:
            neighbour = await caller(places.addresses["B0"], "B1", "broker")
            await until(lambda: "B1" in head._links)
            neighbour.send(Interest("volume:>=0"))
            async with BrokerClient("exchange", places.addresses["B0"], SECRET) as exchange:
                await exchange.advertise()
                await until(lambda: wants(head, "B1", "volume:>=0"))
                post = replace(quote(1), text="x" * 100_000)  # more in all than sockets hold
                sending = [asyncio.create_task(exchange.publish(post)) for _ in range(200)]
                await until(lambda: head._is_congested(""))
                assert not all(task.done() for task in sending)
                received = 0
                while received < 200:  # it reads again, and all of them come
                    received += isinstance(await neighbour.receive(BETWEEN_BROKERS), Transit)
                await asyncio.gather(*sending)
            await neighbour.close()

    play(story())
