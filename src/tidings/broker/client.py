"""How does an application use brokers? A client subscribes, publishes, and hides lost connections and migrations."""

from __future__ import annotations

import asyncio
import logging
import secrets
from dataclasses import dataclass
from itertools import count
from random import Random

from tidings.balancing.padres.messages import Attach, Detach, Leave, Lost, MoveTo
from tidings.broker.backoff import Backoff
from tidings.broker.config import check_secret, host_and_port
from tidings.broker.connection import Connection
from tidings.broker.feed import Feed
from tidings.broker.frames import FrameError
from tidings.broker.handshake import call
from tidings.broker.messages import (
    TO_CLIENT,
    Accepted,
    AdvertiseRequest,
    ClientRequest,
    Delivery,
    Goodbye,
    LeaveOrder,
    MoveOrder,
    PublishRequest,
    Refused,
    SubscribeRequest,
    UnsubscribeRequest,
)
from tidings.broker.queries import ANYTHING
from tidings.model import Publication, TidingsError

_HANDSHAKE_S = 30.0
_MESSAGE_BYTES = 1 << 20
_UNDERWAY = 1000
"""So many publications may wait for their answer at once."""
_log = logging.getLogger(__name__)


class RequestRefusedError(TidingsError):
    """A broker refuses what a client asks for; the message says why."""


@dataclass(slots=True)
class _Uplink:
    """One broker to which the client is connected, or wants to be."""

    broker: str
    address: str
    connection: Connection | None = None


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request without an answer yet. It is sent again after a lost connection."""

    request: ClientRequest
    broker: str
    answer: asyncio.Future[None]


class BrokerClient:
    """A client of the broker at ``address``: ``async with BrokerClient("ada", "127.0.0.1:7001", secret) as client:``.

    Names are unique: of two clients with one name, the first is disconnected. ``queued``: how many publications a feed
    holds for the application; then nothing more is read, and in the end the broker disconnects the client.

    Each publication reaches each feed that it answers once, while the brokers on its way live. What a broker has when
    it dies is lost, and what is published while a feed is not connected does not reach it.
    """

    def __init__(self, name: str, address: str, secret: bytes, *, queued: int = 10_000) -> None:
        check_secret(secret)
        self.name = name
        self._address, self._secret, self._queued = address, secret, queued
        self._random = Random()
        self._session = secrets.token_hex(4)
        self._numbers = count(1)
        self._feeds: dict[str, Feed] = {}
        self._adverts: dict[str, str] = {}
        self._asked: dict[int, _Asked] = {}
        self._uplinks: dict[str, _Uplink] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._underway = asyncio.Semaphore(_UNDERWAY)

    async def __aenter__(self) -> BrokerClient:
        """Connect. A broker that is not there, or silent, is a ConnectionError, one that refuses us a FrameError."""
        connection, self.home = await self._connect(self._address)
        self._uplinks[self.home] = uplink = _Uplink(self.home, self._address, connection)
        self._spawn(uplink)
        return self

    async def __aexit__(self, *_: object) -> None:
        for feed in self._feeds.values():
            feed.stop()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for asked in self._asked.values():
            asked.answer.cancel()

    # --- what an application does

    async def subscribe(self, query: str) -> Feed:
        """Leave a standing query; iterate over what comes back. Returns when the broker has it."""
        feed = Feed(f"{self.name}/{next(self._numbers)}", query, self.home, self._queued, self._end)
        self._feeds[feed.name] = feed
        try:
            await self._ask(SubscribeRequest(next(self._numbers), feed.name, query), self.home)
        except RequestRefusedError:
            del self._feeds[feed.name]
            raise
        feed.joined_at = asyncio.get_running_loop().time()
        return feed

    async def advertise(self, query: str = ANYTHING) -> None:
        """Say what will be published. What answers no advertisement of its publisher may reach nobody."""
        name = f"{self.name}/{next(self._numbers)}"
        await self._ask(AdvertiseRequest(next(self._numbers), name, query), self.home)
        self._adverts[name] = query

    async def publish(self, publication: Publication) -> None:
        """Publish. Returns when the broker has passed it on; after a lost connection it is sent again."""
        if not self._adverts:
            await self.advertise()
        async with self._underway:
            number = next(self._numbers)
            key = f"{self.name}/{self._session}/{number}"
            await self._ask(PublishRequest(number, key, publication), self.home)

    async def _end(self, feed: Feed) -> None:
        """Unsubscribe a feed wherever it is."""
        del self._feeds[feed.name]
        connected = [broker for broker in feed.migrant.homes if self._connection(broker) is not None]
        for broker in connected:
            await self._ask(UnsubscribeRequest(next(self._numbers), feed.name), broker)

    # --- requests

    def _send(self, request: ClientRequest, broker: str) -> asyncio.Future[None]:
        """Send a request now, or as soon as the broker is there."""
        answer = asyncio.get_running_loop().create_future()
        self._asked[request.number] = _Asked(request, broker, answer)
        connection = self._connection(broker)
        if connection is not None:
            connection.send(request)
        return answer

    async def _ask(self, request: ClientRequest, broker: str) -> None:
        try:
            await self._send(request, broker)
        finally:
            self._asked.pop(request.number, None)

    def _connection(self, broker: str) -> Connection | None:
        return self._uplinks[broker].connection if broker in self._uplinks else None

    # --- connections

    async def _connect(self, address: str) -> tuple[Connection, str]:
        reader, writer = await asyncio.open_connection(*host_and_port(address))
        connection = Connection(reader, writer, _MESSAGE_BYTES)
        try:
            broker = await call(connection, self._secret, self.name, "client", _HANDSHAKE_S)
        except TimeoutError:
            await connection.close()
            raise ConnectionError(
                f"{address} did not finish the handshake within {_HANDSHAKE_S:g} s; is it a broker, or is it too busy?"
            ) from None
        except BaseException:
            await connection.close()
            raise
        connection.trust()
        return connection, broker

    def _spawn(self, uplink: _Uplink) -> None:
        task = asyncio.create_task(self._keep(uplink))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _keep(self, uplink: _Uplink) -> None:
        """Keep a connection to a broker as long as somebody needs it."""
        backoff = Backoff(self._random)
        while self._is_needed(uplink):
            try:
                if uplink.connection is None:
                    uplink.connection, _ = await self._connect(uplink.address)
                    self._resume(uplink)
                backoff.reset()
                await self._read(uplink)
            except (FrameError, OSError) as error:
                _log.info("%s has lost %s: %s", self.name, uplink.broker, error)
            finally:
                if uplink.connection is not None:
                    await uplink.connection.close()
                uplink.connection = None
            self._lost(uplink.broker)
            if self._is_needed(uplink):
                await backoff.wait()
        if self._uplinks.get(uplink.broker) is uplink:
            del self._uplinks[uplink.broker]

    def _is_needed(self, uplink: _Uplink) -> bool:
        return uplink.broker == self.home or any(uplink.broker in feed.migrant.homes for feed in self._feeds.values())

    def _resume(self, uplink: _Uplink) -> None:
        """A broker is there (again): tell it everything that it has to know of us."""
        connection = uplink.connection
        assert connection is not None
        asked = [each.request for each in self._asked.values() if each.broker == uplink.broker]
        underway = {each.subscriber for each in asked if isinstance(each, SubscribeRequest)}
        if uplink.broker == self.home:
            for name, query in self._adverts.items():
                connection.send(AdvertiseRequest(next(self._numbers), name, query))
        for feed in self._feeds.values():
            if uplink.broker in feed.migrant.homes and feed.name not in underway:
                self._join(feed, uplink.broker)
        for request in asked:
            connection.send(request)

    def _join(self, feed: Feed, broker: str) -> None:
        move = feed.migrant.moving
        session, total = (move.session, move.total) if move is not None and move.to == broker else ("", 0)
        request = SubscribeRequest(next(self._numbers), feed.name, feed.query, session, total)
        self._send(request, broker).add_done_callback(lambda answer: self._joined(feed, broker, answer))

    def _joined(self, feed: Feed, broker: str, answer: asyncio.Future[None]) -> None:
        """A feed ends when its home refuses it. When another broker does, it does not move."""
        if answer.cancelled():
            return
        error = answer.exception()
        if not isinstance(error, RequestRefusedError):
            feed.joined_at = asyncio.get_running_loop().time()
        elif broker == feed.migrant.home:
            feed.stop(error)
        else:
            self._tell(feed, Lost(broker))

    def _lost(self, broker: str) -> None:
        """Without a connection nobody is subscribed there, and no move goes on. What was asked for that is done."""
        for feed in list(self._feeds.values()):
            self._tell(feed, Lost(broker))
        for number, asked in list(self._asked.items()):
            if asked.broker == broker and self._is_over(asked.request, broker):
                del self._asked[number]
                asked.answer.cancel() if isinstance(asked.request, SubscribeRequest) else asked.answer.set_result(None)

    def _is_over(self, request: ClientRequest, broker: str) -> bool:
        """Whether a request means nothing to a broker any more that has lost us."""
        if isinstance(request, SubscribeRequest):
            feed = self._feeds.get(request.subscriber)
            return feed is None or broker not in feed.migrant.homes
        return isinstance(request, UnsubscribeRequest)

    # --- what comes in

    async def _read(self, uplink: _Uplink) -> None:
        connection = uplink.connection
        assert connection is not None
        while self._is_needed(uplink) or any(asked.broker == uplink.broker for asked in self._asked.values()):
            message = await connection.receive(TO_CLIENT)
            match message:
                case Delivery(subscriber, key, publication):
                    if subscriber in self._feeds:
                        await self._feeds[subscriber].take(key, publication)
                case Accepted(number):
                    self._answered(number)
                case Refused(number, reason):
                    self._answered(number, RequestRefusedError(reason))
                case MoveOrder(subscriber, address, move):
                    if subscriber in self._feeds:
                        self._tell(self._feeds[subscriber], move, address)
                case LeaveOrder(subscriber, leave):
                    if subscriber in self._feeds:
                        self._tell(self._feeds[subscriber], leave)
                case Goodbye(reason):
                    raise FrameError(reason)
                case None:
                    return

    def _answered(self, number: int, error: RequestRefusedError | None = None) -> None:
        asked = self._asked.pop(number, None)
        if asked is None or asked.answer.done():
            return
        if error is None:
            asked.answer.set_result(None)
        else:
            asked.answer.set_exception(error)

    def _tell(self, feed: Feed, message: MoveTo | Leave | Lost, address: str = "") -> None:
        for effect in feed.migrant.on(message):
            match effect:
                case Attach(to, _, _):
                    self._attach(feed, to, address)
                case Detach(broker):
                    if self._connection(broker) is not None:
                        self._send(UnsubscribeRequest(next(self._numbers), feed.name), broker)

    def _attach(self, feed: Feed, broker: str, address: str) -> None:
        if broker not in self._uplinks:
            self._uplinks[broker] = _Uplink(broker, address)
            self._spawn(self._uplinks[broker])
        elif self._connection(broker) is not None:
            self._join(feed, broker)
        # an uplink without a connection tells the broker of all feeds when it has one
