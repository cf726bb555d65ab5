"""What is known of a broker when subscribers shall move, and what would it be afterwards ([PADRES] 4.2)?"""

from __future__ import annotations

from dataclasses import dataclass

from tidings.balancing.padres.delay_model import DelayLine
from tidings.balancing.padres.metrics import Metric, Metrics, input_utilization
from tidings.balancing.padres.press import Key


@dataclass(slots=True)
class BrokerLoad:
    """The load information of [PADRES] 3.4.1, from which every metric can be estimated.

    Nobody changes one. It is not frozen because offloading makes millions of them, and frozen ones take longer to make.

    ``subscriptions``: how many subscribers; ``output_bytes_s`` and ``bandwidth_bytes_s``: o_u and o_t of Eq. 2.
    """

    input_rate: float
    delay: DelayLine
    subscriptions: int
    output_bytes_s: float
    bandwidth_bytes_s: float

    @property
    def metrics(self) -> Metrics:
        """Implements [PADRES] Eq. 9 to 12."""
        delay_s = self.delay.at(self.subscriptions)
        output = self.output_bytes_s / self.bandwidth_bytes_s
        return Metrics(input_utilization(self.input_rate, delay_s), delay_s, output)

    def of(self, metric: Metric) -> float:
        """One of the metrics, without the others."""
        if metric is Metric.OUTPUT:
            return self.output_bytes_s / self.bandwidth_bytes_s
        delay_s = self.delay.at(self.subscriptions)
        return delay_s if metric is Metric.MATCH else input_utilization(self.input_rate, delay_s)

    @property
    def highest_ratio(self) -> float:
        return max(self.of(Metric.INPUT), self.of(Metric.OUTPUT))

    def plus(self, subscribers: int, rate: float, bytes_s: float) -> BrokerLoad:
        """The load with so many subscribers, publications a second and bytes a second more; never below 0."""
        return BrokerLoad(
            max(0.0, self.input_rate + rate),
            self.delay,
            self.subscriptions + subscribers,
            max(0.0, self.output_bytes_s + bytes_s),
            self.bandwidth_bytes_s,
        )


@dataclass(frozen=True, slots=True)
class Offer:
    """What a load-accepting broker says of itself in its OK reply: its load and its covering subscription set."""

    load: BrokerLoad
    css: tuple[Key, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A distinct subscription, who asks for it, and the bytes a second that each of them gets."""

    key: Key
    subscribers: tuple[str, ...]
    vector: int
    bytes_s: float
