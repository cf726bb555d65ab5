"""What does a broker do with a message? Routing, subscribers and the load balancer, without sockets and clocks.

The routing tables and the balancers are those of the simulation. ``on(packet, hop, now)`` gives what has to be done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import cast

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
from tidings.broker.messages import (
    Advert,
    AdvertGone,
    BrokerMessage,
    Coordination,
    Interest,
    InterestGone,
    TableText,
    Transit,
)
from tidings.broker.queries import Queries
from tidings.model import Publication, QueryError
from tidings.simulate import control
from tidings.simulate.messages import UNLIMITED
from tidings.simulate.routing import LOCAL, Advertise, Forward, Routing, Unadvertise, Want

_END_SAMPLING = "end of sampling"
_SETTLED_S = (1.0, 10.0, 60.0)
"""So long after a connection was made subscriptions have come through it, on a quick, a busy and a very busy machine.

Then balancers tell their load again: an idle one tells it once only, which nobody may have heard.
"""


@dataclass(frozen=True, slots=True)
class Entering:
    """A subscriber comes; a migrating one names its session and how many come."""

    subscriber: str
    query: str
    session: str = ""
    total: int = 0


@dataclass(frozen=True, slots=True)
class Leaving:
    subscriber: str


@dataclass(frozen=True, slots=True)
class Linked:
    """A connection to a neighbour is there (again)."""

    neighbour: str


BrokerPacket = BrokerMessage | Entering | Leaving | Linked | Tick


@dataclass(frozen=True, slots=True)
class ToBroker:
    neighbour: str
    message: BrokerMessage


@dataclass(frozen=True, slots=True)
class ToSubscribers:
    """A publication for each of some subscribers."""

    subscribers: tuple[str, ...]
    carried: Transit


@dataclass(frozen=True, slots=True)
class Order:
    """Something that a subscriber shall do."""

    subscriber: str
    message: MoveTo | Leave


@dataclass(frozen=True, slots=True)
class ToItself:
    """A publication of the broker's own: it goes into its input queue."""

    carried: Transit


Outcome = ToBroker | ToSubscribers | Order | ToItself | Wake


def has_priority(packet: BrokerPacket) -> bool:
    """Control messages overtake publications, unless they have to stay in order ([PADRES] 3.2)."""
    return not isinstance(packet, Transit) or not (packet.is_data or packet.in_order)


@dataclass(slots=True)
class _Sampling:
    session: str
    css: frozenset[int]
    press: Press


class BrokerCore:
    """One broker, and the view that its balancer has of it. Keys of subscriptions are their texts."""

    def __init__(
        self, name: str, neighbours: tuple[str, ...], heads: frozenset[str], bandwidth_bytes_s: float, now: float
    ) -> None:
        self.name = name
        self.queries = Queries()
        self.routing = Routing(self.queries, neighbours)
        self.subscribers: dict[str, str] = {}
        self.balancer: EdgeBalancer | HeadBalancer | None = None
        self.meter = Meter()
        self.meter.close(now)
        self.metrics = Metrics()
        """As of the last window."""
        self._heads = heads
        self._bandwidth_bytes_s = bandwidth_bytes_s
        self._by_query: dict[str, dict[str, None]] = {}
        self._poset: Poset[Key] = Poset(self.covers)
        self._control: dict[tuple[str, str], int] = {}
        self._delays = DelayModel()
        self._delivered, self._delivered_bytes = 0, 0
        self._moving: set[str] = set()
        self._sampling: _Sampling | None = None

    def start(self, balancer: EdgeBalancer | HeadBalancer, now: float) -> list[Outcome]:
        """Give the broker its balancer, and advertise what that will say."""
        self.balancer = balancer
        out: list[Outcome] = []
        for number, text in enumerate(control.advertisements(balancer)):
            out += self._advertise(Advert(f"{self.name}/{number}", text), LOCAL)
        out += self._subscribe_control("to", self.name, control.addressed(self.name))
        if isinstance(balancer, HeadBalancer):
            out += self._subscribe_control("global", "", control.GLOBAL)
        return out + self._apply(balancer.start(now), now)

    def on(self, packet: BrokerPacket, hop: str, now: float) -> list[Outcome]:
        """What follows from a message. A query that cannot be read is a QueryError, and nothing has changed."""
        if self.queries.is_sweep_due:
            self.queries.sweep(self._used())
        match packet:
            case Transit():
                return self._route(packet, hop, now)
            case Entering():
                return self._enter(packet, now)
            case Leaving(subscriber):
                return self._part(subscriber)
            case Advert():
                return self._advertise(packet, hop)
            case AdvertGone(name):
                return self._told(self.routing.unadvertise(Unadvertise(name), hop))
            case Interest(text):
                return self._told(self.routing.want(self.queries.number(text), hop))
            case InterestGone(text):
                return self._told(self.routing.unwant(self.queries.number(text), hop))
            case Linked(neighbour):
                forgotten = self._told(self.routing.forget(neighbour))
                told = [Wake(now + seconds, Tick("linked")) for seconds in _SETTLED_S]
                return [*forgotten, *self._told(self.routing.greet(neighbour)), *told]
            case Tick(what, session):
                return self._end_sampling(session, now) if what == _END_SAMPLING else self._tell(packet, now)

    def matched(self, duration_s: float) -> None:
        """A publication took so long."""
        self.meter.matched(duration_s)
        self._delays.observe(len(self.subscribers), duration_s)

    def delivered(self, size_bytes: int) -> None:
        """A delivery to a subscriber has so many bytes."""
        self._delivered += 1
        self._delivered_bytes += size_bytes

    # --- routing

    def _route(self, carried: Transit, hop: str, now: float) -> list[Outcome]:
        answers = self.queries.answers(carried.publication)
        wanted = self.routing.wanted
        out: list[Outcome] = []
        for neighbour in self.routing.neighbours:
            if neighbour != hop and any(query in wanted[neighbour] for query in answers):
                out += self._passed_on(carried, neighbour)
        if carried.payload is not None:
            if not answers.isdisjoint(self._control.values()):
                out += self._tell(carried.payload, now)
            return out
        hits = [text for query in answers if (text := self.queries.text(query)) in self._by_query]
        clients = tuple(client for text in hits for client in self._by_query[text])
        if clients:
            out.append(ToSubscribers(clients, carried))
        return out + self._sample(hits, answers, now)

    def _passed_on(self, carried: Transit, neighbour: str) -> list[Outcome]:
        if not (self.name in self._heads and neighbour in self._heads):
            return [ToBroker(neighbour, carried)]
        return [ToBroker(neighbour, replace(carried, ttl=carried.ttl - 1))] if carried.ttl else []

    def _advertise(self, advert: Advert, hop: str) -> list[Outcome]:
        return self._told(self.routing.advertise(Advertise(advert.name, self.queries.advertised(advert.query)), hop))

    def _told(self, forwards: Iterable[Forward]) -> list[Outcome]:
        return [ToBroker(neighbour, self._as_text(message)) for neighbour, message in forwards]

    def _as_text(self, message: object) -> TableText:
        match message:
            case Advertise(name, query):
                return Advert(name, self.queries.text(query))
            case Unadvertise(name):
                return AdvertGone(name)
        kind = Interest if isinstance(message, Want) else InterestGone
        return kind(self.queries.text(message.query))  # type: ignore[attr-defined]  # Want or Unwant

    def _used(self) -> frozenset[int]:
        """The numbers of all queries that somebody wants, advertises or samples."""
        wanted = (query for queries in self.routing.wanted.values() for query in queries)
        advertised = (query for _, query in self.routing.advertised.values())
        sampled = self._sampling.css if self._sampling is not None else ()
        return frozenset([*wanted, *advertised, *sampled, *self._control.values()])

    # --- subscribers

    def _enter(self, entering: Entering, now: float) -> list[Outcome]:
        out: list[Outcome] = []
        if entering.subscriber not in self.subscribers:
            number = self.queries.number(entering.query)
            text = self.queries.text(number)
            self.subscribers[entering.subscriber] = text
            self._by_query.setdefault(text, {})[entering.subscriber] = None
            out += self._told(self.routing.want(number, LOCAL))
            self._poset.add(text)
        if entering.session:
            out += self._tell(Arrived(entering.session, entering.subscriber, entering.total), now)
        return out

    def _part(self, subscriber: str) -> list[Outcome]:
        self._moving.discard(subscriber)
        text = self.subscribers.pop(subscriber, None)
        if text is None:
            return []
        del self._by_query[text][subscriber]
        if not self._by_query[text]:
            del self._by_query[text]
            self._poset.remove(text)
        return self._told(self.routing.unwant(self.queries.number(text), LOCAL))

    # --- the balancer

    def _tell(self, message: Message, now: float) -> list[Outcome]:
        return [] if self.balancer is None else self._apply(self.balancer.on(message, now), now)

    def _apply(self, effects: list[Effect], now: float) -> list[Outcome]:
        return [outcome for effect in effects for outcome in self._outcomes(effect, now)]

    def _outcomes(self, effect: Effect, now: float) -> list[Outcome]:
        match effect:
            case Send(to, message, in_order):
                return [self._publish(control.to_broker(to), message, in_order=in_order)]
            case Announce(pie):
                return [self._publish(control.load_of(pie), pie, ttl=1 if pie.is_global else UNLIMITED)]
            case Tell(subscriber, message, _):
                return [self._ordered(subscriber, message)]
            case Wake():
                return [effect]
            case Subscribe(cluster, metric, below):
                name = metric.value if metric else ""
                return self._subscribe_control(cluster, name, control.local_load(cluster, metric, below))
            case Unsubscribe(cluster):
                gone = [self._control.pop(key) for key in [key for key in self._control if key[0] == cluster]]
                return [each for query in gone for each in self._told(self.routing.unwant(query, LOCAL))]
            case BeginSampling(session, offer):
                return self._begin_sampling(session, offer.css, now)

    def _ordered(self, subscriber: str, message: MoveTo | Leave) -> Order:
        """Whoever was told to move is not given away again before it has left or stays."""
        if isinstance(message, MoveTo):
            self._moving.add(subscriber)
        elif not message.arrived:
            self._moving.discard(subscriber)
        return Order(subscriber, message)

    def _publish(
        self, publication: Publication, message: Message, *, in_order: bool = False, ttl: int = UNLIMITED
    ) -> ToItself:
        payload = cast(Coordination, message)
        return ToItself(Transit(publication, payload=payload, in_order=in_order, ttl=ttl))

    def _subscribe_control(self, cluster: str, name: str, text: str) -> list[Outcome]:
        key, query = (cluster, name), self.queries.number(text)
        old = self._control.get(key)
        if old == query:
            return []
        self._control[key] = query
        out = self._told(self.routing.want(query, LOCAL))
        return out if old is None else out + self._told(self.routing.unwant(old, LOCAL))

    # --- PRESS

    def _begin_sampling(self, session: str, css: tuple[Key, ...], now: float) -> list[Outcome]:
        """Subscribe locally to the other's CSS: such subscriptions go to no neighbour."""
        assert isinstance(self.balancer, EdgeBalancer)
        parameters = self.balancer.parameters
        press = Press(self._by_query, parameters.press_samples, parameters.press_timeout_s, now)
        self._sampling = _Sampling(session, frozenset(self._readable(css)), press)
        return [Wake(press.deadline, Tick(_END_SAMPLING, session))]

    def _readable(self, css: tuple[Key, ...]) -> Iterator[int]:
        for text in css:
            try:
                yield self.queries.number(str(text))
            except QueryError:  # of a neighbour with another version of the language
                continue

    def _sample(self, hits: list[str], answers: Iterable[int], now: float) -> list[Outcome]:
        sampling = self._sampling
        if sampling is None:
            return []
        is_over = sampling.press.sample(hits, reaches_css=not sampling.css.isdisjoint(answers), now=now)
        return self._end_sampling(sampling.session, now) if is_over else []

    def _end_sampling(self, session: str, now: float) -> list[Outcome]:
        sampling = self._sampling
        if sampling is None or sampling.session != session:
            return []
        self._sampling = None
        return self._tell(Profiled(session, sampling.press.profile(now)), now)

    # --- what the balancer may ask

    def measure(self, now: float) -> Metrics:
        self.metrics = self.meter.close(now)
        return self.metrics

    def load(self) -> BrokerLoad:
        rate, output = self.meter.rate, self.meter.output_bytes_s
        return BrokerLoad(rate, self._delays.line(), len(self.subscribers), output, self._bandwidth_bytes_s)

    def poset(self) -> Poset[Key]:
        return self._poset

    def candidates(self, profile: LoadProfile) -> list[Candidate]:
        size_bytes = self._delivered_bytes / self._delivered if self._delivered else 0.0
        found = []
        for text, clients in self._by_query.items():
            staying = tuple(client for client in clients if client not in self._moving)
            if staying:
                vector = profile.vectors.get(text, 0)
                found.append(Candidate(text, staying, vector, profile.rate_of(vector) * size_bytes))
        return found

    def covers(self, wide: Key, narrow: Key) -> bool:
        """``narrow`` is of this broker; ``wide`` may be of another one."""
        try:
            return self.queries.covers(self.queries.number(str(wide)), self.queries.number(str(narrow)))
        except QueryError:
            return False
