"""What does the load balancer of an edge broker do? All its parts as one state machine ([PADRES] Fig. 4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import ClassVar

from tidings.balancing.padres.balancer import LoadBalancer, Place
from tidings.balancing.padres.choosing import BrokerView, Chooser
from tidings.balancing.padres.detection import Detection
from tidings.balancing.padres.loads import Offer
from tidings.balancing.padres.messages import (
    Announce,
    Arrived,
    AskGlobal,
    Cancel,
    Catchup,
    Done,
    Effect,
    Pie,
    Profiled,
    Reply,
    Request,
    Send,
    Status,
    Subscribe,
    Tick,
    Unsubscribe,
    Wake,
    WatchCluster,
)
from tidings.balancing.padres.metrics import Metric, Metrics
from tidings.balancing.padres.parameters import Parameters
from tidings.balancing.padres.pie import AdaptivePie
from tidings.balancing.padres.sessions import Giving, Taking


@dataclass(frozen=True, slots=True, eq=False)
class Expectation:
    """The loads of this broker and of the taker that a session is expected to bring ([PADRES] 6.3.6)."""

    broker: str
    giver: Metrics
    taker: Metrics


class EdgeBalancer(LoadBalancer):
    """Detector, mediator, PIE and offloading of one edge broker. Without I/O: ``on(message, now) -> effects``."""

    def __init__(
        self,
        place: Place,
        view: BrokerView,
        parameters: Parameters,
        chooser: Chooser,
        random: Random,
        *,
        adaptive: bool = True,
    ) -> None:
        super().__init__(place, parameters, random)
        self.view = view
        self.others: dict[str, Pie] = {}
        self.metrics = Metrics()
        self.giving = Giving(place.name, parameters)
        self.taking = Taking(parameters)
        self.detection = Detection(parameters)
        self.moved = 0
        """How many subscribers went away so far."""
        self.expectation: Expectation | None = None
        """What the last session that moved somebody is expected to bring."""
        self._chooser = chooser
        self._adaptive = AdaptivePie(parameters) if adaptive else None
        self._watched = {place.cluster}

    def start(self, now: float) -> list[Effect]:
        """What has to be done first: subscribe to the load of others, and ask to be woken."""
        period = self.parameters.local_pie_publishing_period_s
        wakes = [self._wake_between(0, period, now, Tick("pie")), self._next_detection(now)]
        return [*self._subscribe(self.place.cluster), self._catch_up(), *wakes]

    def _on_tick(self, tick: Tick, now: float) -> list[Effect]:
        match tick.what:
            case "pie":
                return self._tell_load(now)
            case "detect":
                return [*self._detect(now), self._next_detection(now)]
            case "linked":  # what was told while nobody listened is told again, and asked for again
                self._sender.forget()
                return [self._catch_up()]
            case "reply" if self._is_asking(tick.session):
                self.others.pop(self.giving.action.broker, None)
                return self.giving.next(now)
            case "moved" if tick.session == self.giving.session and self.giving.moving:
                return self._end_giving(frozenset(), now)
            case "expect" if tick.session == self.taking.session:
                return self._end_taking(now)
            case "lease" if tick.session == self.taking.session and not self.taking.arrived:
                self.taking.end()
                self._state.end(now, moved=False)
        return []

    def _tell_load(self, now: float) -> list[Effect]:
        self.metrics = self.view.measure(now)
        self._state.measured(self.metrics, now)
        balanced = self.detection.balanced_with(self.metrics, self.others)
        pie = Pie(self.place.name, self.place.cluster, self.metrics, self.status, balanced)
        effects: list[Effect] = [Wake(now + self.parameters.local_pie_publishing_period_s, Tick("pie"))]
        if self._sender.is_due(pie):
            effects.append(Announce(pie))
            if self._adaptive is not None:
                self._adaptive.published(self.metrics)
        return effects + self._revise()

    def _revise(self) -> list[Effect]:
        if self._adaptive is None:
            return []
        changed = self._adaptive.revise(self.metrics, [pie.metrics for pie in self.others.values()])
        subscribed: list[Effect] = [
            Subscribe(cluster, metric, self._adaptive.bounds[metric])
            for metric in changed
            for cluster in sorted(self._watched)
        ]
        return [*subscribed, self._catch_up()] if changed else []

    def _detect(self, now: float) -> list[Effect]:
        if not self._state.may_ask or self._is_engaged:
            return []
        actions = self.detection.detect(self.metrics, self.others)
        if actions:
            return self.giving.ask(actions, now)
        nobody = not any(pie.status is Status.OK for pie in self.others.values())
        if self.status is Status.NOT_AVAILABLE and nobody:
            return [Send(self.place.head, AskGlobal(self.place.name))]
        return []

    def _on_pie(self, pie: Pie, _now: float) -> list[Effect]:
        if pie.broker != self.place.name and not pie.is_global and pie.cluster in self._watched:
            self.others[pie.broker] = pie
        return []

    def _on_request(self, request: Request, now: float) -> list[Effect]:
        status = Status.BUSY if self._is_engaged else self.status
        if status is not Status.OK:
            return [Send(request.sender, Reply(request.session, self.place.name, status))]
        self._state.begin()
        offer = Offer(self.view.load(), tuple(self.view.poset().css))
        reply = Reply(request.session, self.place.name, status, offer)
        return [Send(request.sender, reply), *self.taking.begin(request, now)]

    def _on_reply(self, reply: Reply, now: float) -> list[Effect]:
        if not self._is_asking(reply.session):
            return [Send(reply.sender, Cancel(reply.session))] if reply.offer else []
        known = self.others.get(reply.sender)
        if known is not None:
            metrics = reply.offer.load.metrics if reply.offer else known.metrics
            self.others[reply.sender] = replace(known, status=reply.status, metrics=metrics)
        if reply.offer is None:
            return self.giving.next(now)
        if not self.detection.is_due(self.giving.action, self._comparable, reply.offer.load.metrics):
            return [Send(reply.sender, Cancel(reply.session)), *self.giving.next(now)]
        self._state.begin()
        return self.giving.accepted(reply.offer)

    def _on_profiled(self, profiled: Profiled, now: float) -> list[Effect]:
        if profiled.session != self.giving.session or self.giving.offer is None or self.giving.moving:
            return []
        action = self.giving.action
        choice = self._chooser.choose(action.metric, self.view, self.giving.offer, profiled.profile)
        if not choice.subscribers:
            self.detection.settled.note(action)
            self._state.end(now, moved=False)
        elif choice.giver is not None and choice.taker is not None:
            self.expectation = Expectation(action.broker, choice.giver, choice.taker)
        return self.giving.move(choice.subscribers, now)

    def _on_done(self, done: Done, now: float) -> list[Effect]:
        if done.session != self.giving.session or not self.giving.moving:
            return []
        return self._end_giving(done.arrived, now)

    def _end_giving(self, arrived: frozenset[str], now: float) -> list[Effect]:
        taker = self.giving.action.broker
        self.moved += len(arrived)
        self.detection.settled.forget(taker)
        if taker in self.others:
            self.others[taker] = replace(self.others[taker], status=Status.STABILIZING)
        self._state.end(now, moved=bool(arrived))
        return self.giving.finish(arrived)

    def _on_arrived(self, arrival: Arrived, now: float) -> list[Effect]:
        if arrival.session != self.taking.session:
            return []
        effects = self.taking.arrive(arrival, now)
        if not self.taking.is_active:
            self._state.end(now, moved=True)
        return effects

    def _end_taking(self, now: float) -> list[Effect]:
        effects = self.taking.finish()
        self._state.end(now, moved=True)
        return effects

    def _on_cancel(self, cancel: Cancel, now: float) -> list[Effect]:
        if cancel.session == self.taking.session:
            self.taking.end()
            self._state.end(now, moved=False)
        return []

    def _on_watch(self, watch: WatchCluster, _now: float) -> list[Effect]:
        if not watch.on:
            self._watched.discard(watch.cluster)
            self.others = {name: pie for name, pie in self.others.items() if pie.cluster != watch.cluster}
            return [Unsubscribe(watch.cluster)]
        self._watched.add(watch.cluster)
        self._sender.forget()
        return self._subscribe(watch.cluster)

    def _subscribe(self, cluster: str) -> list[Effect]:
        if self._adaptive is None:
            return [Subscribe(cluster)]
        return [Subscribe(cluster, metric, self._adaptive.bounds[metric]) for metric in Metric]

    def _catch_up(self) -> Send:
        """A load message comes on a change only, so a new subscription may have missed all of them.

        Departs from the paper, where an idle broker would never be heard of by those who became busy later.
        """
        return Send(self.place.head, Catchup(self.place.name))

    def _is_asking(self, session: str) -> bool:
        return self.giving.is_active and self.giving.offer is None and session == self.giving.session

    @property
    def _comparable(self) -> Metrics:
        """Our load as an offer would tell it: that of an offer is a mean of windows, a single one goes up and down.

        An overload is what the last window says it is.
        """
        return self.metrics if self.detection.overloads(self.metrics) else self.view.load().metrics

    @property
    def _is_engaged(self) -> bool:
        return self.giving.is_active or self.taking.is_active

    def _next_detection(self, now: float) -> Wake:
        low = self.parameters.local_detection_minimum_interval_s
        high = self.parameters.local_detection_maximum_interval_s
        return self._wake_between(low, high, now, Tick("detect"))

    handlers: ClassVar[dict[type, Callable[..., list[Effect]]]] = {
        Tick: _on_tick,
        Pie: _on_pie,
        Request: _on_request,
        Reply: _on_reply,
        Profiled: _on_profiled,
        Done: _on_done,
        Arrived: _on_arrived,
        Cancel: _on_cancel,
        WatchCluster: _on_watch,
    }
