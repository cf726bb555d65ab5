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
    Traffic,
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
from tidings.model import Publication
from tidings.simulate import control
from tidings.simulate.attached import Attached
from tidings.simulate.clock import Clock
from tidings.simulate.links import Link
from tidings.simulate.machines import CONTROL_BYTES, MESSAGE_BYTES, Machine
from tidings.simulate.messages import UNLIMITED, InFlight, Join, MessageCounts, Outgoing, Packet, Quit, has_priority
from tidings.simulate.queues import PriorityServer
from tidings.simulate.roster import SubscriberRoster
from tidings.simulate.routing import LOCAL, Advertise, Forward, Routing, Unadvertise, Unwant, Want
from tidings.simulate.universe import Universe, bits

Balancer = EdgeBalancer | HeadBalancer
Deliver = Callable[[str, int, "InFlight | MoveTo | Leave"], None]
"""From which broker, to which subscribers (as bits), what."""


@dataclass(slots=True)
class _Route:
    """Where publications with one content go: which neighbours, how many subscribers here and which, which queries."""

    answers: int
    neighbours: tuple[str, ...]
    hits: int
    subscribers: int
    count: int


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
    roster: SubscriberRoster
    deliver: Deliver
    processed: Callable[[str, str], None]
    """This broker has dealt with a message of that subscriber."""
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
        self.attached = Attached(around.universe, around.roster)
        self.subscribers = self.attached.queries
        self.balancer: Balancer | None = None
        self._around = around
        self._clock = around.clock
        self._universe = around.universe
        self._routes: dict[str, _Route] = {}
        self._routes_version = 0
        self._control: dict[tuple[str, str], int] = {}
        self._control_mask = 0
        self._meter = Meter()
        self._traffic = Traffic(bits, self._clock.now)  # type: ignore[arg-type]  # hits are bits here
        self._delays = DelayModel()
        self._sampling: _Sampling | None = None
        self._queued_bytes = 0.0
        self._bytes_s = machine.bandwidth_bytes_s
        self._control_s = machine.control_s
        self._matching_now_s = machine.matching_s(0)
        self._room_bytes = machine.room_bytes(0)
        self.input: PriorityServer[tuple[Packet, str]] = PriorityServer(self._clock, self._matching_s, self._matched)
        self.output: PriorityServer[Outgoing] = PriorityServer(self._clock, self._sending_s, self._sent)
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
        self.input.stop()
        self.output.stop()

    def reconnect(self, neighbour: str) -> None:
        """A connection is there again: forget what was said before, and tell what is advertised here."""
        self._forward(self.routing.forget(neighbour))
        self._forward(self.routing.greet(neighbour))

    def receive(self, packet: Packet, hop: str = LOCAL) -> None:
        """Take a message from a neighbour, a client or an own module into the input queue."""
        if not self.is_alive:
            return
        if type(packet) is InFlight and packet.payload is None:  # most are, here and below: a call or two less for each
            if self._queued_bytes + MESSAGE_BYTES > self._room_bytes:
                self.counts.refused += 1
                return
            self._meter.arrived()
            self._queued_bytes += MESSAGE_BYTES
            self.input.put((packet, hop))
        else:
            self.input.put((packet, hop), first=has_priority(packet))

    # --- matching

    def _matching_s(self, item: tuple[Packet, str]) -> float:
        packet = item[0]
        if type(packet) is InFlight and packet.payload is None:
            return self._matching_now_s
        return self._control_s

    def _matched(self, item: tuple[Packet, str], duration: float) -> None:
        packet, hop = item
        if type(packet) is InFlight:  # most are, and a match statement takes four times as long to say so
            if packet.payload is None:
                self._route(packet, hop, duration)
            else:
                self._route_control(packet, hop)
            return
        match packet:
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
        """A publication goes to the neighbours and the subscribers that have asked for it."""
        if self._routes_version != self.routing.version:
            self._routes.clear()
            self._routes_version = self.routing.version
        route = self._routes.get(packet.publication.id)
        if route is None:
            route = self._routes[packet.publication.id] = self._find_route(packet)
        for neighbour in route.neighbours:
            if neighbour != hop:
                self.counts.publications += 1
                self._traffic.passed_on(MESSAGE_BYTES)
                self._send(Outgoing(packet, MESSAGE_BYTES, neighbour))
        self._traffic.matched(route.hits)
        self._queued_bytes -= MESSAGE_BYTES
        self._meter.matched(duration)
        self._delays.observe(len(self.subscribers), duration)
        count = route.count
        if count:
            self.counts.deliveries += count
            self._send(Outgoing(packet, MESSAGE_BYTES * count, "", route.subscribers))
        if self._sampling is not None:
            self._sample(route.hits, route.answers)

    def _find_route(self, packet: InFlight) -> _Route:
        answers = self._universe.answers(packet.publication)
        masks = self.routing.masks
        neighbours = tuple([name for name in self.routing.neighbours if masks[name] & answers])
        hits = answers & masks[LOCAL]
        subscribers = self.attached.asking(hits)
        return _Route(answers, neighbours, hits, subscribers, subscribers.bit_count())

    def _route_control(self, packet: InFlight, hop: str) -> None:
        answers = self._universe.answers(packet.publication)
        masks = self.routing.masks
        for neighbour in self.routing.neighbours:
            if neighbour != hop and masks[neighbour] & answers:
                self._pass_on_control(packet, neighbour)
        if answers & self._control_mask and packet.payload is not None:
            self._tell(packet.payload)

    def _pass_on_control(self, packet: InFlight, neighbour: str) -> None:
        if self.name in self._around.heads and neighbour in self._around.heads:
            if not packet.ttl:
                return
            packet = replace(packet, ttl=packet.ttl - 1)
        if control.is_pie(packet.payload):
            self.counts.pie += 1
        else:
            self.counts.coordination += 1
        self._send(Outgoing(packet, CONTROL_BYTES, neighbour, is_first=not packet.in_order))

    def _forward(self, forwards: list[Forward]) -> None:
        for neighbour, message in forwards:
            self.counts.subscriptions += 1
            self._send(Outgoing(message, CONTROL_BYTES, neighbour, is_first=True))

    # --- clients

    def _join(self, join: Join) -> None:
        if self.attached.add(join.subscriber, join.query):
            if len(self.attached.by_query[join.query]) == 1:
                self._traffic.begin(join.query, self._clock.now)
            self._note_subscribers()
            self._forward(self.routing.want(join.query, LOCAL))
        self._around.processed(self.name, join.subscriber)
        if join.session:
            self._tell(Arrived(join.session, join.subscriber, join.total))

    def _part(self, subscriber: str) -> None:
        query = self.attached.remove(subscriber)
        if query is not None:
            if query not in self.attached.by_query:
                self._traffic.end(query)
            self._note_subscribers()
            self._forward(self.routing.unwant(query, LOCAL))
        self._around.processed(self.name, subscriber)

    def _note_subscribers(self) -> None:
        """There is one more or one less: what hangs on their number is computed here, not for each publication."""
        self._routes.clear()
        self._matching_now_s = self.machine.matching_s(len(self.subscribers))
        self._room_bytes = self.machine.room_bytes(len(self.subscribers))

    # --- sending

    def _send(self, outgoing: Outgoing) -> None:
        if not outgoing.is_first:
            self._meter.queued(outgoing.size_bytes)
        self.output.put(outgoing, first=outgoing.is_first)

    def _sending_s(self, outgoing: Outgoing) -> float:
        return outgoing.size_bytes / self._bytes_s

    def _sent(self, outgoing: Outgoing, duration: float) -> None:
        if not outgoing.is_first:
            self._meter.sent(outgoing.size_bytes, duration)
        if outgoing.neighbour:
            self._around.links[outgoing.neighbour].send(outgoing.packet)  # type: ignore[arg-type]  # not for a client
        else:
            self._around.deliver(self.name, outgoing.subscribers, outgoing.packet)  # type: ignore[arg-type]  # for clients only

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
                    self.counts.announced += not pie.is_global
                    self._publish(control.load_of(pie), pie, ttl=1 if pie.is_global else UNLIMITED)
                case Tell(subscriber, message, _):
                    self.counts.coordination += 1
                    self._note_move(subscriber, message)
                    who = self._around.roster.bit(subscriber)
                    self._send(Outgoing(message, CONTROL_BYTES, subscribers=who, is_first=isinstance(message, MoveTo)))
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
            self.attached.moving.add(subscriber)
        elif not message.arrived:
            self.attached.moving.discard(subscriber)

    def _publish(
        self, publication: Publication, message: Message, *, in_order: bool = False, ttl: int = UNLIMITED
    ) -> None:
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
        self._control_mask = sum(1 << query for query in set(self._control.values()))

    def _begin_sampling(self, session: str, css: tuple[Key, ...]) -> None:
        """Subscribe locally to the other's CSS: such subscriptions go to no neighbour (TTL 0)."""
        assert isinstance(self.balancer, EdgeBalancer)
        self.counts.sessions += 1
        parameters = self.balancer.parameters
        mask = 0
        for key in css:
            assert isinstance(key, int)
            mask |= 1 << key
        press = Press(self.attached.by_query, parameters.press_samples, parameters.press_timeout_s, self._clock.now)
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
            profile = sampling.press.profile(self._clock.now)
            self._tell(Profiled(session, replace(profile, rate=self._meter.rate)))

    def measure(self, now: float) -> Metrics:
        self._traffic.close(now)
        self.metrics = self._meter.close(now)
        return self.metrics

    def load(self) -> BrokerLoad:
        """The output is what all subscriptions get together, so that it falls by what those get that go."""
        sent = self.attached.output_bytes_s(self._traffic.rates())
        return BrokerLoad(
            self._meter.rate,
            self._delays.line(),
            len(self.subscribers),
            self._meter.output_bytes_s if sent is None else sent + self._traffic.passed_on_bytes_s,
            self.machine.bandwidth_bytes_s,
        )

    def poset(self) -> Poset[Key]:
        return self.attached.poset

    def candidates(self, profile: LoadProfile) -> list[Candidate]:
        return self.attached.candidates(profile, self._traffic.rates())

    def covers(self, wide: Key, narrow: Key) -> bool:
        assert isinstance(wide, int)
        assert isinstance(narrow, int)
        return self._universe.covers(wide, narrow)
