"""How does a broker run as a process? It listens, calls its neighbours, and drives a :class:`BrokerCore` in real time.

Nothing waits without a bound. When a neighbour takes less than it is sent, readers pause: in a tree of brokers that
reaches the publishers and no other, so nothing is lost and nobody waits in a circle. A client that does not read what
it subscribed to is disconnected.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import dataclass
from random import Random
from time import perf_counter
from typing import Any

from tidings.balancing.padres import ByProfile, EdgeBalancer, HeadBalancer
from tidings.balancing.padres.messages import Leave, MoveTo, Wake
from tidings.broker.backoff import Backoff
from tidings.broker.codec import encode, encode_deliveries
from tidings.broker.config import BrokerConfig, host_and_port
from tidings.broker.connection import Connection, SendingRate
from tidings.broker.core import (
    BrokerCore,
    BrokerPacket,
    Entering,
    Leaving,
    Linked,
    Order,
    Outcome,
    ToBroker,
    ToItself,
    ToSubscribers,
    has_priority,
)
from tidings.broker.frames import FrameError, framed
from tidings.broker.guests import Guest, Tallies
from tidings.broker.handshake import answer, call
from tidings.broker.inbox import Inbox
from tidings.broker.messages import (
    BETWEEN_BROKERS,
    FROM_CLIENT,
    Accepted,
    Advert,
    AdvertGone,
    ClientRequest,
    Goodbye,
    Hello,
    LeaveOrder,
    MoveOrder,
    Refused,
    Transit,
)
from tidings.model import QueryError
from tidings.simulate.routing import LOCAL

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Item:
    """Something in the input queue. Whoever asked for it gets an answer."""

    packet: BrokerPacket
    hop: str = LOCAL
    guest: Guest | None = None
    number: int = 0
    link: Connection | None = None


class BrokerServer:
    """One broker on one event loop: ``async with BrokerServer(config):``."""

    def __init__(self, config: BrokerConfig, random: Random | None = None) -> None:
        self.config = config
        self.name = config.name
        self.tallies = Tallies()
        self._random = random or Random()
        self._guests: dict[str, Guest] = {}
        self._carriers: dict[str, Guest] = {}
        """By subscriber."""
        self._links: dict[str, Connection] = {}
        self._adverts: dict[str, set[str]] = {}
        self._strangers = 0
        self._visits = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._pace = SendingRate(config.bandwidth_bytes_s)

    # --- life

    async def __aenter__(self) -> BrokerServer:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        config, overlay = self.config, self.config.overlay
        self._loop = asyncio.get_running_loop()
        self._inbox: Inbox[_Item] = Inbox(config.limits.queued_messages, config.limits.queue_bytes)
        neighbours = overlay.neighbours(self.name)
        self.core = BrokerCore(self.name, neighbours, overlay.heads, config.bandwidth_bytes_s, self._loop.time())
        host, port = host_and_port(overlay.addresses[self.name])
        self._server = await asyncio.start_server(self._visited, host, port)
        self._spawn(self._work())
        for neighbour in overlay.called_by(self.name):
            self._spawn(self._keep_calling(neighbour))
        if config.balance:
            self._apply(self.core.start(self._balancer(), self._loop.time()))

    async def stop(self) -> None:
        """Disconnect everybody and forget everything."""
        self._server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _balancer(self) -> EdgeBalancer | HeadBalancer:
        place, parameters = self.config.overlay.place(self.name), self.config.parameters
        if self.name == place.head:
            edges = self.config.overlay.cluster_of(self.name).edges
            return HeadBalancer(place, edges, parameters, self._random)
        return EdgeBalancer(place, self.core, parameters, ByProfile(parameters), self._random)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- connections

    def _visited(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._spawn(self._receive(self._connection(reader, writer)))

    def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Connection:
        return Connection(reader, writer, self.config.limits.message_bytes, self.config.limits.stall_s)

    async def _receive(self, connection: Connection) -> None:
        reason = "the broker stops"
        self._visits += 1
        try:
            reason = await self._serve(connection)
        except (FrameError, TimeoutError) as error:
            self.tallies.refused += 1
            reason = str(error) or f"a handshake takes at most {self.config.limits.handshake_s:g} s"
            _log.warning("%s disconnects somebody: %s", self.name, reason)
        except OSError as error:
            reason = str(error)
        finally:
            self._visits -= 1
            await connection.close(reason)

    async def _serve(self, connection: Connection) -> str:
        """Serve one connection to its end; the result is why it ends."""
        limits = self.config.limits
        if self._strangers >= limits.strangers or self._visits > limits.connections:
            raise FrameError("too many connections; try again later")
        self._strangers += 1
        try:
            hello = await answer(connection, self.config.secret, self.name, limits.handshake_s)
        finally:
            self._strangers -= 1
        if hello.role == "broker":
            if hello.name not in self.core.routing.neighbours:
                raise FrameError(f"{hello.name} is no neighbour of {self.name}")
            return await self._serve_broker(connection, hello.name)
        return await self._serve_client(connection, hello)

    async def _keep_calling(self, neighbour: str) -> None:
        """Keep a connection to a neighbour."""
        host, port = host_and_port(self.config.overlay.addresses[neighbour])
        backoff = Backoff(self._random)
        while True:
            try:
                reader, writer = await asyncio.open_connection(host, port)
            except OSError:
                await backoff.wait()
                continue
            connection, reason = self._connection(reader, writer), "the broker stops"
            try:
                await call(connection, self.config.secret, self.name, "broker", self.config.limits.handshake_s)
                backoff.reset()
                reason = await self._serve_broker(connection, neighbour)
            except (FrameError, OSError) as error:  # TimeoutError is an OSError
                reason = str(error)
                _log.warning("%s has lost %s: %s", self.name, neighbour, reason)
            finally:
                await connection.close(reason)
            await backoff.wait()

    async def _serve_broker(self, connection: Connection, neighbour: str) -> str:
        """Take what a neighbour says. It hears nothing from us before what was queued before is forgotten."""
        self._trust(connection)
        self._put(_Item(Linked(neighbour), neighbour, link=connection))
        try:
            while True:
                await self._inbox.wait_while(lambda: self._is_congested(neighbour))
                message = await connection.receive(BETWEEN_BROKERS)
                if message is None or isinstance(message, Goodbye):
                    return ""
                self._put(_Item(message, neighbour, link=connection), connection.received_bytes)
        finally:
            if self._links.get(neighbour) is connection:
                del self._links[neighbour]
                self._inbox.relieve()

    async def _serve_client(self, connection: Connection, hello: Hello) -> str:
        old = self._guests.get(hello.name)
        guest = self._guests[hello.name] = Guest(hello.name, connection)
        if old is not None:
            self._forget(old)
            await old.connection.close(f"{hello.name} has connected again")
        self._trust(connection)
        try:
            while True:
                await self._inbox.wait_while(lambda: self._is_congested(LOCAL))
                message = await connection.receive(FROM_CLIENT)
                if message is None or isinstance(message, Goodbye):
                    return ""
                self._request(guest, message)
        finally:
            self._forget(guest)

    def _trust(self, connection: Connection) -> None:
        connection.drained = self._inbox.relieve
        connection.trust(self._pace, self.core.meter.sent)

    def _forget(self, guest: Guest) -> None:
        """A client is gone. Its subscribers go at once; what it advertised stays a while: it may come back."""
        if self._guests.get(guest.name) is guest:
            del self._guests[guest.name]
            self._loop.call_later(self.config.limits.linger_s, self._end_adverts, guest.name)
        for subscriber in guest.subscribers:
            if self._carriers.get(subscriber) is guest:
                del self._carriers[subscriber]
                self._put(_Item(Leaving(subscriber)))
        guest.subscribers.clear()

    def _end_adverts(self, client: str) -> None:
        if client not in self._guests:
            for name in self._adverts.pop(client, ()):
                self._put(_Item(AdvertGone(name)))

    # --- what comes in

    def _is_congested(self, hop: str) -> bool:
        """Whether what comes from there could pile up in front of another neighbour."""
        most = self.config.limits.queue_bytes
        return any(link.waiting > most for neighbour, link in self._links.items() if neighbour != hop)

    def _put(self, item: _Item, size_bytes: int = 0) -> None:
        if isinstance(item.packet, Transit) and item.packet.is_data:
            self.core.meter.arrived()
        self._inbox.put(item, first=has_priority(item.packet), size_bytes=size_bytes)

    def _request(self, guest: Guest, request: ClientRequest) -> None:
        packet = guest.packet(request)
        subscribers = len(self.core.subscribers)
        if excess := guest.excess(packet, self.config.limits, subscribers, self._adverts):
            self._refuse(guest, request.number, f"{self.name} has {excess} already")
        else:
            self._put(_Item(packet, LOCAL, guest, request.number), guest.connection.received_bytes)

    # --- the work

    async def _work(self) -> None:
        """Take up one thing after the other, for ever."""
        while True:
            item = await self._inbox.take()
            try:
                self._do(item)
            except QueryError as error:
                if item.guest is not None:
                    self._refuse(item.guest, item.number, str(error))
                _log.warning("%s does not understand %s: %s", self.name, item.hop or "a client", error)
            except Exception:  # one bad message must not end the broker
                _log.exception("%s could not do %s", self.name, type(item.packet).__name__)
            await asyncio.sleep(0)

    def _do(self, item: _Item) -> None:
        packet, guest = item.packet, item.guest
        if self._is_stale(item):
            return
        if isinstance(packet, Linked) and item.link is not None:
            self._link(item.hop, item.link)
        began = perf_counter()
        outcomes = self.core.on(packet, item.hop, self._loop.time())
        if isinstance(packet, Transit) and packet.is_data:
            self.core.matched(perf_counter() - began)
            self.tallies.publications += 1
        if guest is not None:
            self._note(guest, packet)
            self._reply(guest, Accepted(item.number))
        self._apply(outcomes)

    def _link(self, neighbour: str, link: Connection) -> None:
        """From now on a neighbour hears us here."""
        old = self._links.pop(neighbour, None)
        if old is not None:
            self._spawn(old.close("you have connected again"))
        if not link.is_closed:
            self._links[neighbour] = link

    def _is_stale(self, item: _Item) -> bool:
        """Whether a client or a neighbour has gone, or come back, since something was queued for it, or by it.

        Publications are never stale.
        """
        packet, guest = item.packet, item.guest
        if item.link is not None and not isinstance(packet, Linked | Transit):
            return self._links.get(item.hop) is not item.link
        if guest is None:
            return isinstance(packet, Leaving) and packet.subscriber in self._carriers
        return self._guests.get(guest.name) is not guest and not isinstance(packet, Transit)

    def _note(self, guest: Guest, packet: BrokerPacket) -> None:
        """What a client has goes when its connection does."""
        match packet:
            case Entering(subscriber):
                guest.subscribers.add(subscriber)
                self._carriers[subscriber] = guest
            case Leaving(subscriber):
                guest.subscribers.discard(subscriber)
                self._carriers.pop(subscriber, None)
            case Advert(name):
                self._adverts.setdefault(guest.name, set()).add(name)

    def _refuse(self, guest: Guest, number: int, reason: str) -> None:
        self.tallies.refused += 1
        self._reply(guest, Refused(number, reason))

    def _reply(self, guest: Guest, message: Accepted | Refused) -> None:
        guest.connection.send(message, first=True)
        self._check_reads(guest)

    # --- what goes out

    def _apply(self, outcomes: list[Outcome]) -> None:
        for outcome in outcomes:
            match outcome:
                case ToBroker(neighbour, message):
                    self._send(neighbour, message)
                case ToSubscribers():
                    self._deliver(outcome)
                case Order(subscriber, message):
                    self._order(subscriber, message)
                case ToItself(carried):
                    self._put(_Item(carried))
                case Wake(at, tick):
                    self._loop.call_at(at, self._put, _Item(tick))

    def _send(self, neighbour: str, message: Any) -> None:
        link = self._links.get(neighbour)
        if link is None:
            self.tallies.unsent += 1
            return
        frame = framed(encode(message))
        is_data = isinstance(message, Transit) and message.is_data
        if is_data:
            self.core.meter.queued(len(frame))
        link.put(frame, first=has_priority(message), is_data=is_data)

    def _deliver(self, outcome: ToSubscribers) -> None:
        names, carried = outcome.subscribers, outcome.carried
        for name, body in zip(names, encode_deliveries(names, carried.key, carried.publication), strict=True):
            guest = self._carriers.get(name)
            if guest is None:
                continue
            frame = framed(body)
            self.core.meter.queued(len(frame))
            self.core.delivered(len(frame))
            self.tallies.deliveries += 1
            guest.connection.put(frame, is_data=True)
            self._check_reads(guest)

    def _check_reads(self, guest: Guest) -> None:
        waiting = guest.connection.waiting
        if waiting <= self.config.limits.queue_bytes or self._guests.get(guest.name) is not guest:
            return
        self.tallies.slow += 1
        _log.warning("%s disconnects %s, which does not read", self.name, guest.name)
        self._forget(guest)
        self._spawn(guest.connection.close(f"{waiting:,} bytes wait for you, and you do not read"))

    def _order(self, subscriber: str, message: MoveTo | Leave) -> None:
        guest = self._carriers.get(subscriber)
        if guest is None:
            return
        if isinstance(message, MoveTo):
            address = self.config.overlay.addresses[message.to]
            guest.connection.send(MoveOrder(subscriber, address, message), first=True)
        else:
            guest.connection.send(LeaveOrder(subscriber, message))
