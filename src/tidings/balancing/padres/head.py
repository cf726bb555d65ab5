"""How do clusters balance load with each other? The state machine of a cluster head ([PADRES] Fig. 7, 9, 3.4.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import ClassVar

from tidings.balancing.padres.balancer import LoadBalancer, Place
from tidings.balancing.padres.detection import Detection
from tidings.balancing.padres.messages import (
    Action,
    Announce,
    AskGlobal,
    Catchup,
    Effect,
    EndGlobal,
    Pie,
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
from tidings.balancing.padres.metrics import Metric, Metrics, mean
from tidings.balancing.padres.parameters import Parameters
from tidings.balancing.padres.sessions import REPLY_TIMEOUT_S

GLOBAL_LEASE_S = 3600.0
"""After that a global session ends even if the clusters are not balanced: the other head may be gone."""


class HeadBalancer(LoadBalancer):
    """Sums up the load of its edge brokers, finds a lighter cluster, and lets the edge brokers see each other."""

    def __init__(self, place: Place, edges: tuple[str, ...], parameters: Parameters, random: Random) -> None:
        super().__init__(place, parameters, random)
        self.edges: dict[str, Pie | None] = dict.fromkeys(edges)
        self.others: dict[str, Pie] = {}
        self.detection = Detection(parameters, is_global=True)
        self.partner: Pie | None = None
        """The cluster with which there is a session."""
        self._session = ""
        self._is_first = False
        self._partner_edges: dict[str, Pie] = {}
        self._asking: list[Action] = []
        self._count = 0
        self._requests = 0

    @property
    def metrics(self) -> Metrics:
        """The mean load of the edge brokers that have told theirs."""
        return mean([pie.metrics for pie in self.edges.values() if pie is not None])

    def start(self, now: float) -> list[Effect]:
        period = self.parameters.global_pie_publishing_period_s
        first = self._wake_between(0, period, now, Tick("pie"))
        return [Subscribe(self.place.cluster), first, self._next_detection(now)]

    def _on_tick(self, tick: Tick, now: float) -> list[Effect]:
        match tick.what:
            case "pie":
                return self._tell_load(now)
            case "detect":
                return [*self._detect(now), self._next_detection(now)]
            case "linked":
                self._sender.forget()
            case "reply" if self._asking and tick.session == self._session:
                self.others.pop(self._asking[0].broker, None)
                return self._ask(self._asking[1:], now)
            case "lease" if tick.session == self._session and self.partner is not None:
                return self._end(now)
        return []

    def _tell_load(self, now: float) -> list[Effect]:
        overloaded = any(pie is not None and pie.status is Status.NOT_AVAILABLE for pie in self.edges.values())
        self._state.measured(self.metrics, now, overloaded_member=overloaded)
        pie = Pie(self.place.name, self.place.cluster, self.metrics, self.status, is_global=True)
        effects: list[Effect] = [Wake(now + self.parameters.global_pie_publishing_period_s, Tick("pie"))]
        if self.edges and self._sender.is_due(pie):
            effects.append(Announce(pie))
        return effects

    def _detect(self, now: float) -> list[Effect]:
        if not self._is_free or not self._state.may_ask:
            return []
        return self._ask(self.detection.detect(self.metrics, self.others), now)

    def _ask(self, actions: list[Action], now: float) -> list[Effect]:
        self._asking = actions
        if not actions:
            return []
        self._count += 1
        self._session = f"{self.place.name}-{self._count}@{now}"
        return [
            Send(actions[0].broker, Request(self._session, self.place.name, is_global=True)),
            Wake(now + REPLY_TIMEOUT_S, Tick("reply", self._session)),
        ]

    def _on_pie(self, pie: Pie, now: float) -> list[Effect]:
        if pie.is_global:
            if pie.broker != self.place.name:
                self.others[pie.broker] = pie
        elif pie.broker in self.edges:
            self.edges[pie.broker] = pie
        elif self.partner is not None and pie.cluster == self.partner.cluster:
            self._partner_edges[pie.broker] = pie
        return self._end(now) if self._is_first and self._all_balanced() else []

    def _on_ask_global(self, _request: AskGlobal, now: float) -> list[Effect]:
        """After enough requests of overloaded edge brokers, any lighter cluster that is free will do."""
        self._requests += 1
        if self._requests < self.parameters.global_load_balancing_request_limit or not self._is_free:
            return []
        self._requests = 0
        ours = self.metrics.highest_ratio
        free = [pie for pie in self.others.values() if pie.status is Status.OK and pie.metrics.highest_ratio < ours]
        free.sort(key=lambda pie: (pie.metrics.highest_ratio, pie.broker))
        return self._ask([Action(pie.broker, Metric.INPUT, ours - pie.metrics.highest_ratio) for pie in free], now)

    def _on_catchup(self, catchup: Catchup, _now: float) -> list[Effect]:
        known = [*self.edges.values(), *(self._partner_edges.values() if self.partner is not None else ())]
        return [Send(catchup.broker, pie) for pie in known if pie is not None and pie.broker != catchup.broker]

    def _on_request(self, request: Request, now: float) -> list[Effect]:
        status = self.status if self._is_free else Status.BUSY
        partner = self.others.get(request.sender)
        if partner is None and status is Status.OK:
            status = Status.STABILIZING  # its cluster is not known yet
        reply = Send(request.sender, Reply(request.session, self.place.name, status))
        if partner is None or status is not Status.OK:
            return [reply]
        self._session = request.session
        return [reply, *self._begin(partner, now, is_first=False)]

    def _on_reply(self, reply: Reply, now: float) -> list[Effect]:
        if not self._asking or reply.session != self._session:
            return []
        partner = self.others.get(reply.sender)
        if reply.status is not Status.OK or partner is None:
            if partner is not None:
                self.others[reply.sender] = replace(partner, status=reply.status)
            return self._ask(self._asking[1:], now)
        self._asking = []
        return self._begin(partner, now, is_first=True)

    def _begin(self, partner: Pie, now: float, *, is_first: bool) -> list[Effect]:
        self.partner, self._is_first, self._partner_edges = partner, is_first, {}
        self._state.begin()
        watch = WatchCluster(partner.cluster, on=True)
        return [
            *(Send(edge, watch) for edge in self.edges),
            Subscribe(partner.cluster),
            Wake(now + GLOBAL_LEASE_S, Tick("lease", self._session)),
        ]

    def _on_end(self, end: EndGlobal, now: float) -> list[Effect]:
        return self._end(now) if self.partner is not None and end.session == self._session else []

    def _end(self, now: float) -> list[Effect]:
        assert self.partner is not None
        effects: list[Effect] = [Send(edge, WatchCluster(self.partner.cluster, on=False)) for edge in self.edges]
        effects.append(Unsubscribe(self.partner.cluster))
        if self._is_first:
            effects.append(Send(self.partner.broker, EndGlobal(self._session)))
            self.others[self.partner.broker] = replace(self.partner, status=Status.STABILIZING)
        self.partner, self._is_first = None, False
        self._state.end(now, moved=True)
        return effects

    def _all_balanced(self) -> bool:
        """Whether every edge broker of both clusters is free, and balanced with every one of the other cluster."""
        ours = [pie for pie in self.edges.values() if pie is not None]
        theirs = list(self._partner_edges.values())
        if not theirs or len(ours) < len(self.edges) or any(pie.status is not Status.OK for pie in [*ours, *theirs]):
            return False
        local = Detection(self.parameters)
        return all(
            a.broker in b.balanced_with
            or b.broker in a.balanced_with
            or bool(local.balanced_with(a.metrics, {b.broker: b}))
            for a in ours
            for b in theirs
        )

    @property
    def _is_free(self) -> bool:
        return self.partner is None and not self._asking

    def _next_detection(self, now: float) -> Wake:
        low = self.parameters.global_detection_minimum_interval_s
        high = self.parameters.global_detection_maximum_interval_s
        return self._wake_between(low, high, now, Tick("detect"))

    handlers: ClassVar[dict[type, Callable[..., list[Effect]]]] = {
        Tick: _on_tick,
        Pie: _on_pie,
        AskGlobal: _on_ask_global,
        Catchup: _on_catchup,
        Request: _on_request,
        Reply: _on_reply,
        EndGlobal: _on_end,
    }
