"""What is a broker in the simulation? Input queue, matching, output queue, routing tables, and a load balancer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tidings.balancing.padres import (
    BrokerLoad,
    Candidate,
    DelayModel,
    EdgeBalancer,
    HeadBalancer,
    Key,
    LoadProfile,
    Meter,
    Metrics,
    Poset,
    Press,
)
from tidings.balancing.padres.messages import (
    Announce,
    Arrived,
    BeginSampling,
    Effect,
    Leave,
    Message,
    MoveTo,
    Profiled,
    Send,
    Subscribe,
    Tell,
    Tick,
    Unsubscribe,
    Wake,
)
from tidings.simulate import control
from tidings.simulate.clock import Clock
from tidings.simulate.links import Link
from tidings.simulate.machines import CONTROL_BYTES, MESSAGE_BYTES, Machine
from tidings.simulate.messages import UNLIMITED, InFlight, Join, Packet, Quit, has_priority
from tidings.simulate.queues import PriorityServer
from tidings.simulate.routing import LOCAL, Advertise, Forward, Routing, Unadvertise, Unwant, Want
from tidings.simulate.universe import Universe, bits

Balancer = EdgeBalancer | HeadBalancer
Deliver = Callable[[str, str, "InFlight | MoveTo | Leave"], None]
"""From which broker, to which client, what."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """Something in the output queue: for a neighbour, or one thing for each of some clients."""

    packet: InFlight | Packet | MoveTo | Leave
    size_bytes: float
    neighbour: str = ""
    clients: tuple[str, ...] = ()


@dataclass(slots=True)
class MessageCounts:
    """How many messages a broker has sent, by kind."""

    publications: int = 0
    deliveries: int = 0
    pie: int = 0
    coordination: int = 0
    subscriptions: int = 0
    refused: int = 0

    @property
    def overhead(self) -> int:
        return self.pie + self.coordination + self.subscriptions


@dataclass(slots=True)
class _Sampling:
    """PRESS at work: the other's CSS as bits, and for whom."""

    session: str
    css: int
    press: Press


@dataclass(slots=True)
class Surroundings:
    """What all brokers of a world share, and the links of this one."""

    clock: Clock
    universe: Universe
    deliver: Deliver
    links: dict[str, Link] = field(default_factory=dict)
    heads: frozenset[str] = frozenset()


class Broker:
    """One broker. It is made anew when it is started again after a crash."""

    def __init__(self, name: str, machine: Machine, around: Surroundings, neighbours: tuple[str, ...]) -> None:
        self.name = name
        self.machine = machine
        self.counts = MessageCounts()
        self.metrics = Metrics()
        """As of the last window."""
        self.routing = Routing(around.universe, neighbours)
        self.subscribers: dict[str, int] = {}
        self.balancer: Balancer | None = None
        self._around = around
        self._clock = around.clock
        self._universe = around.universe
        self._by_query: dict[int, dict[str, None]] = {}
        self._poset: Poset[Key] = Poset(around.universe.covers)  # type: ignore[arg-type]  # keys are numbers here
        self._control: dict[tuple[str, str], int] = {}
        self._control_mask = 0
        self._meter = Meter()
        self._delays = DelayModel()
        self._moving: set[str] = set()
        """Who was told to move and has not left yet: nobody is given away twice."""
        self._sampling: _Sampling | None = None
        self._queued_bytes = 0.0
        self._input: PriorityServer[tuple[Packet, str]] = PriorityServer(self._clock, self._matching_s, self._matched)
        self._output: PriorityServer[Outgoing] = PriorityServer(self._clock, self._sending_s, self._sent)
        self.is_alive = True

    # --- what comes in

    def start(self, balancer: Balancer) -> None:
        """Give the broker its balancer, and advertise what that will say."""
        self.balancer = balancer
        for number, text in enumerate(control.advertisements(balancer)):
            self._forward(
                self.routing.advertise(Advertise(f"{self.name}/{number}", self._universe.number(text)), LOCAL)
            )
        self._subscribe_control("to", self.name, control.addressed(self.name))
        if isinstance(balancer, HeadBalancer):
            self._subscribe_control("global", "", control.GLOBAL)
        self._apply(balancer.start(self._clock.now))

    def stop(self) -> None:
        """Crash."""
        self.is_alive = False
        self._input.stop()
        self._output.stop()

    def reconnect(self, neighbour: str) -> None:
        """A connection is there again: forget what was said before, and tell what is advertised here."""
        self._forward(self.routing.forget(neighbour))
        self._forward(self.routing.greet(neighbour))

    def receive(self, packet: Packet, hop: str = LOCAL) -> None:
        """Take a message from a neighbour, a client or an own module into the input queue."""
        if not self.is_alive:
            return
        is_data = isinstance(packet, InFlight) and not packet.is_control
        if is_data:
            if not self.machine.fits(len(self.subscribers), self._queued_bytes + MESSAGE_BYTES):
                self.counts.refused += 1
                return
            self._meter.arrived()
            self._queued_bytes += MESSAGE_BYTES
        self._input.put((packet, hop), first=has_priority(packet))

    # --- matching

    def _matching_s(self, item: tuple[Packet, str]) -> float:
        packet, _ = item
        if isinstance(packet, InFlight) and not packet.is_control:
            return self.machine.matching_s(len(self.subscribers))
        return self.machine.control_s

    def _matched(self, item: tuple[Packet, str], duration: float) -> None:
        packet, hop = item
        match packet:
            case InFlight():
                self._route(packet, hop, duration)
            case Join():
                self._join(packet)
            case Quit(subscriber):
                self._part(subscriber)
            case Advertise():
                self._forward(self.routing.advertise(packet, hop))
            case Unadvertise():
                self._forward(self.routing.unadvertise(packet, hop))
            case Want(query):
                self._forward(self.routing.want(query, hop))
            case Unwant(query):
                self._forward(self.routing.unwant(query, hop))

    def _route(self, packet: InFlight, hop: str, duration: float) -> None:
        answers = self._universe.answers(packet.publication)
        masks = self.routing.masks
        for neighbour in self.routing.neighbours:
            if neighbour != hop and masks[neighbour] & answers:
                self._pass_on(packet, neighbour)
        if packet.is_control:
            if answers & self._control_mask and packet.payload is not None:
                self._tell(packet.payload)
            return
        self._queued_bytes -= MESSAGE_BYTES
        self._meter.matched(duration)
        self._delays.observe(len(self.subscribers), duration)
        hits = answers & masks[LOCAL]
        clients = tuple(client for query in bits(hits) for client in self._by_query.get(query, ()))
        if clients:
            self.counts.deliveries += len(clients)
            self._send(Outgoing(packet, MESSAGE_BYTES * len(clients), clients=clients))
        if self._sampling is not None:
            self._sample(hits, answers)

    def _pass_on(self, packet: InFlight, neighbour: str) -> None:
        between_clusters = self.name in self._around.heads and neighbour in self._around.heads
        if between_clusters:
            if not packet.ttl:
                return
            packet = replace(packet, ttl=packet.ttl - 1)
        if not packet.is_control:
            self.counts.publications += 1
        elif control.is_pie(packet.payload):
            self.counts.pie += 1
        else:
            self.counts.coordination += 1
        self._send(Outgoing(packet, CONTROL_BYTES if packet.is_control else MESSAGE_BYTES, neighbour))

    def _forward(self, forwards: list[Forward]) -> None:
        for neighbour, message in forwards:
            self.counts.subscriptions += 1
            self._send(Outgoing(message, CONTROL_BYTES, neighbour))

    # --- clients

    def _join(self, join: Join) -> None:
        known = self.subscribers.get(join.subscriber)
        if known is None:
            self.subscribers[join.subscriber] = join.query
            self._by_query.setdefault(join.query, {})[join.subscriber] = None
            self._poset.add(join.query)
            self._forward(self.routing.want(join.query, LOCAL))
        if join.session:
            self._tell(Arrived(join.session, join.subscriber, join.total))

    def _part(self, subscriber: str) -> None:
        self._moving.discard(subscriber)
        query = self.subscribers.pop(subscriber, None)
        if query is None:
            return
        del self._by_query[query][subscriber]
        if not self._by_query[query]:
            del self._by_query[query]
            self._poset.remove(query)
        self._forward(self.routing.unwant(query, LOCAL))

    # --- sending

    def _send(self, outgoing: Outgoing) -> None:
        packet = outgoing.packet
        first = not isinstance(packet, Leave) and (isinstance(packet, MoveTo) or has_priority(packet))
        if not first:
            self._meter.queued(outgoing.size_bytes)
        self._output.put(outgoing, first=first)

    def _sending_s(self, outgoing: Outgoing) -> float:
        return self.machine.sending_s(outgoing.size_bytes)

    def _sent(self, outgoing: Outgoing, duration: float) -> None:
        packet = outgoing.packet
        if isinstance(packet, Leave) or (not isinstance(packet, MoveTo) and not has_priority(packet)):
            self._meter.sent(outgoing.size_bytes, duration)
        if outgoing.neighbour:
            self._around.links[outgoing.neighbour].send(packet)  # type: ignore[arg-type]  # not for a client
            return
        for client in outgoing.clients:
            self._around.deliver(self.name, client, packet)  # type: ignore[arg-type]  # for clients only

    # --- the balancer and its view

    def _tell(self, message: Message) -> None:
        if self.balancer is not None:
            self._apply(self.balancer.on(message, self._clock.now))

    def _tick(self, tick: Tick) -> None:
        if self.is_alive:
            self._tell(tick)

    def _apply(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Send(to, message, in_order):
                    self._publish(control.to_broker(to), message, in_order=in_order)
                case Announce(pie):
                    self._publish(control.load_of(pie), pie, ttl=1 if pie.is_global else UNLIMITED)
                case Tell(subscriber, message, _):
                    self.counts.coordination += 1
                    self._note_move(subscriber, message)
                    self._send(Outgoing(message, CONTROL_BYTES, clients=(subscriber,)))
                case Wake(at, tick):
                    self._clock.at(at, self._tick, tick)
                case Subscribe(cluster, metric, below):
                    name = metric.value if metric else ""
                    self._subscribe_control(cluster, name, control.local_load(cluster, metric, below))
                case Unsubscribe(cluster):
                    for key in [key for key in self._control if key[0] == cluster]:
                        self._unsubscribe_control(key)
                case BeginSampling(session, offer):
                    self._begin_sampling(session, offer.css)

    def _note_move(self, subscriber: str, message: MoveTo | Leave) -> None:
        if isinstance(message, MoveTo):
            self._moving.add(subscriber)
        elif not message.arrived:
            self._moving.discard(subscriber)

    def _publish(
        self, attributes: control.Attributes, message: Message, *, in_order: bool = False, ttl: int = UNLIMITED
    ) -> None:
        publication = control.publication(attributes)
        self.receive(InFlight(publication, self._clock.now, payload=message, in_order=in_order, ttl=ttl))

    def _subscribe_control(self, cluster: str, name: str, text: str) -> None:
        key, query = (cluster, name), self._universe.number(text)
        if self._control.get(key) == query:
            return
        old = self._control.get(key)
        self._control[key] = query
        self._set_control_mask()
        self._forward(self.routing.want(query, LOCAL))
        if old is not None:
            self._forward(self.routing.unwant(old, LOCAL))

    def _unsubscribe_control(self, key: tuple[str, str]) -> None:
        query = self._control.pop(key)
        self._set_control_mask()
        self._forward(self.routing.unwant(query, LOCAL))

    def _set_control_mask(self) -> None:
        self._control_mask = 0
        for query in self._control.values():
            self._control_mask |= 1 << query

    def _begin_sampling(self, session: str, css: tuple[Key, ...]) -> None:
        """Subscribe locally to the other's CSS: such subscriptions go to no neighbour (TTL 0)."""
        assert isinstance(self.balancer, EdgeBalancer)
        parameters = self.balancer.parameters
        mask = 0
        for key in css:
            assert isinstance(key, int)
            mask |= 1 << key
        press = Press(self._by_query, parameters.press_samples, parameters.press_timeout_s, self._clock.now)
        self._sampling = _Sampling(session, mask, press)
        self._clock.at(press.deadline, self._end_sampling, session)

    def _sample(self, hits: int, answers: int) -> None:
        sampling = self._sampling
        assert sampling is not None
        if sampling.press.sample(bits(hits), reaches_css=bool(answers & sampling.css), now=self._clock.now):
            self._end_sampling(sampling.session)

    def _end_sampling(self, session: str) -> None:
        sampling = self._sampling
        if self.is_alive and sampling is not None and sampling.session == session:
            self._sampling = None
            self._tell(Profiled(session, sampling.press.profile(self._clock.now)))

    def measure(self, now: float) -> Metrics:
        self.metrics = self._meter.close(now)
        return self.metrics

    def load(self) -> BrokerLoad:
        return BrokerLoad(
            self._meter.rate,
            self._delays.line(),
            len(self.subscribers),
            self._meter.output_bytes_s,
            self.machine.bandwidth_bytes_s,
        )

    def poset(self) -> Poset[Key]:
        return self._poset

    def candidates(self, profile: LoadProfile) -> list[Candidate]:
        found = []
        for query, clients in self._by_query.items():
            vector = profile.vectors.get(query, 0)
            staying = tuple(client for client in clients if client not in self._moving)
            if staying:
                found.append(Candidate(query, staying, vector, profile.rate_of(vector) * MESSAGE_BYTES))
        return found

    def covers(self, wide: Key, narrow: Key) -> bool:
        assert isinstance(wide, int)
        assert isinstance(narrow, int)
        return self._universe.covers(wide, narrow)
