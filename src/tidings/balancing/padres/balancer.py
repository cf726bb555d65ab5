"""What do the balancers of edge brokers and of heads have in common? A status, and a handler for each message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar

from tidings.balancing.padres.messages import Effect, Message, Status, Tick, Wake
from tidings.balancing.padres.parameters import Parameters
from tidings.balancing.padres.pie import PieSender
from tidings.balancing.padres.status import StatusMachine


@dataclass(frozen=True, slots=True)
class Place:
    """Where a broker stands: its name, its cluster, and the head of that."""

    name: str
    cluster: str
    head: str


class LoadBalancer:
    """A state machine without I/O: ``on(message, now) -> effects``. What it has no handler for is ignored."""

    handlers: ClassVar[dict[type, Callable[..., list[Effect]]]] = {}

    def __init__(self, place: Place, parameters: Parameters, random: Random) -> None:
        self.place = place
        self.parameters = parameters
        self._random = random
        self._state = StatusMachine(parameters)
        self._sender = PieSender(parameters)

    @property
    def status(self) -> Status:
        return self._state.status

    def on(self, message: Message, now: float) -> list[Effect]:
        handler: Any = self.handlers.get(type(message))
        return handler(self, message, now) if handler else []

    def _wake_between(self, low_s: float, high_s: float, now: float, tick: Tick) -> Wake:
        """Ask to be woken after a random time: brokers take turns by that ([PADRES] 3.3.3)."""
        return Wake(now + self._random.uniform(low_s, high_s), tick)
