"""How do two brokers agree to balance, and when is it over? Both sides of a local session ([PADRES] 3.4)."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidings.balancing.padres.loads import Offer
from tidings.balancing.padres.messages import (
    Action,
    Arrived,
    BeginSampling,
    Cancel,
    Done,
    Effect,
    Leave,
    MoveTo,
    Request,
    Send,
    Tell,
    Tick,
    Wake,
)
from tidings.balancing.padres.parameters import Parameters

REPLY_TIMEOUT_S = 10.0
"""After that a broker that was asked counts as gone, and the next one is asked."""
PATIENCE_S = 600.0
"""How long a giver waits for DONE beyond the time that the taker may wait for subscribers."""


@dataclass(slots=True)
class Giving:
    """The side of the offloading broker: ask down the list, profile, move, wait for DONE, let the subscribers leave."""

    name: str
    parameters: Parameters
    actions: list[Action] = field(default_factory=list)
    offer: Offer | None = None
    moving: tuple[str, ...] = ()
    session: str = ""
    """Named by the broker, a count and the time: a broker that was started again uses no name twice."""
    _count: int = 0

    @property
    def is_active(self) -> bool:
        return bool(self.actions)

    @property
    def action(self) -> Action:
        """With whom and for what."""
        return self.actions[0]

    def ask(self, actions: list[Action], now: float) -> list[Effect]:
        """Ask the first one of the list."""
        self.actions, self.offer, self.moving = actions, None, ()
        return self._ask(now) if actions else []

    def next(self, now: float) -> list[Effect]:
        """The one that was asked is not available: ask the next broker."""
        refused = self.action.broker
        return self.ask([action for action in self.actions if action.broker != refused], now)

    def _ask(self, now: float) -> list[Effect]:
        self._count += 1
        self.session = f"{self.name}-{self._count}@{now}"
        return [
            Send(self.action.broker, Request(self.session, self.name)),
            Wake(now + REPLY_TIMEOUT_S, Tick("reply", self.session)),
        ]

    def accepted(self, offer: Offer) -> list[Effect]:
        self.offer = offer
        return [BeginSampling(self.session, offer)]

    def move(self, subscribers: list[str], now: float) -> list[Effect]:
        """Tell the chosen ones to subscribe at the taker as well; without any, the session is over."""
        if not subscribers:
            cancel = Send(self.action.broker, Cancel(self.session))
            self.actions = []
            return [cancel]
        self.moving = tuple(subscribers)
        total = len(subscribers)
        deadline = now + total * self.parameters.migration_timeout_s + PATIENCE_S
        move = MoveTo(self.session, self.action.broker, total)
        return [*(Tell(name, move) for name in subscribers), Wake(deadline, Tick("moved", self.session))]

    def finish(self, arrived: frozenset[str]) -> list[Effect]:
        """DONE: those who arrived leave, behind all that is queued for them; the others stay."""
        told: list[Effect] = [Tell(name, Leave(self.session, name in arrived), in_order=True) for name in self.moving]
        self.actions, self.moving = [], ()
        return told


@dataclass(slots=True)
class Taking:
    """The side of the load-accepting broker: wait for the subscribers, at most N times the migration timeout."""

    parameters: Parameters
    session: str = ""
    giver: str = ""
    arrived: set[str] = field(default_factory=set)

    @property
    def is_active(self) -> bool:
        return bool(self.session)

    def begin(self, request: Request, now: float) -> list[Effect]:
        self.session, self.giver, self.arrived = request.session, request.sender, set()
        lease = self.parameters.press_timeout_s + 2 * self.parameters.migration_timeout_s + REPLY_TIMEOUT_S
        return [Wake(now + lease, Tick("lease", self.session))]

    def arrive(self, arrival: Arrived, now: float) -> list[Effect]:
        """One more is here; the first one says how many come."""
        effects: list[Effect] = []
        if not self.arrived:
            deadline = now + arrival.total * self.parameters.migration_timeout_s
            effects.append(Wake(deadline, Tick("expect", self.session)))
        self.arrived.add(arrival.subscriber)
        if len(self.arrived) == arrival.total:
            effects += self.finish()
        return effects

    def finish(self) -> list[Effect]:
        """DONE goes behind the publications on its way: the giver has then got all that came before the new paths."""
        done = Send(self.giver, Done(self.session, frozenset(self.arrived)), in_order=True)
        self.end()
        return [done]

    def end(self) -> None:
        self.session = self.giver = ""
        self.arrived = set()
