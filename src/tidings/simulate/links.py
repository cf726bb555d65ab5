"""What happens to a message between two brokers? It takes time, keeps its order, and may meet a fault."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from tidings.model import DataError
from tidings.simulate.clock import Clock
from tidings.simulate.messages import Packet


@dataclass(frozen=True, slots=True)
class Weather:
    """How a link behaves: its latency in seconds, and the probabilities of a fault for each message."""

    latency_s: float = 0.001
    delay: float = 0.0
    drop: float = 0.0
    duplicate: float = 0.0
    longest_delay_s: float = 2.0

    def __post_init__(self) -> None:
        for name in ("delay", "drop", "duplicate"):
            if not 0 <= getattr(self, name) <= 1:
                raise DataError(f"the probability {name} lies between 0 and 1, got {getattr(self, name)}")


class Link:
    """One direction between two brokers. Messages are numbered, so a duplicate is dropped on arrival.

    A delayed message delays those behind it: a connection keeps the order.
    """

    def __init__(
        self, clock: Clock, weather: Weather, random: Random, sender: str, receive: Callable[[Packet, str], None]
    ) -> None:
        self._clock = clock
        self._weather = weather
        self._random = random
        self._sender = sender
        self.receive = receive
        """Takes what arrives, and from whom it is; another one when the receiver was started anew."""
        self._flying: deque[tuple[int, Packet]] = deque()
        self._latest = 0.0
        self._connection = 0
        self._sent = 0
        self._received = 0
        self.is_down = False
        self.dropped = 0

    def send(self, packet: Packet) -> None:
        weather = self._weather
        self._sent += 1
        if self.is_down or (weather.drop and self._random.random() < weather.drop):
            self.dropped += 1
            return
        self._fly(packet)
        if weather.duplicate and self._random.random() < weather.duplicate:
            self._fly(packet)

    def _fly(self, packet: Packet) -> None:
        weather = self._weather
        lands = self._clock.now + weather.latency_s
        if weather.delay and self._random.random() < weather.delay:
            lands += self._random.uniform(0, weather.longest_delay_s)
        self._latest = lands = max(lands, self._latest)
        self._flying.append((self._sent, packet))
        self._clock.at(lands, self._land, self._connection)

    @property
    def flying(self) -> list[Packet]:
        """What is on its way."""
        return [packet for _, packet in self._flying]

    def cut(self) -> None:
        """The connection breaks: what is on its way is lost, and what is sent from now on."""
        self.is_down = True
        self._connection += 1
        self._flying.clear()

    def restore(self) -> None:
        self.is_down = False

    def _land(self, connection: int) -> None:
        if connection != self._connection:
            return
        number, packet = self._flying.popleft()
        if number <= self._received:
            return
        self._received = number
        self.receive(packet, self._sender)
