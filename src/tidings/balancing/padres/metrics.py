"""How loaded is a broker? By three figures, measured over a window of time ([PADRES] 3.3.1)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Metric(StrEnum):
    """What is balanced; the value is the name of the offload action."""

    INPUT = "input"
    MATCH = "match"
    OUTPUT = "output"


@dataclass(frozen=True, slots=True)
class Metrics:
    """The load of one broker, or the mean load of a cluster."""

    input_ratio: float = 0.0
    matching_delay_s: float = 0.0
    output_ratio: float = 0.0

    def of(self, metric: Metric) -> float:
        if metric is Metric.INPUT:
            return self.input_ratio
        return self.matching_delay_s if metric is Metric.MATCH else self.output_ratio

    @property
    def highest_ratio(self) -> float:
        """The larger one of the two ratios: over 1.0 the broker is overloaded."""
        return max(self.input_ratio, self.output_ratio)


def input_utilization(rate: float, matching_delay_s: float) -> float:
    """I_r = i_r / m_r with m_r = 1 / matching delay. Implements [PADRES] Eq. 1.

    >>> input_utilization(rate=20, matching_delay_s=0.05)
    1.0
    """
    return rate * matching_delay_s


@dataclass(frozen=True, slots=True)
class OutputWindow:
    """What an output queue did in a window. Symbols: t_window, t_busy, b_rx (queued), b_tx (sent)."""

    window_s: float
    busy_s: float
    queued_bytes: float
    sent_bytes: float


def output_utilization(sending: OutputWindow) -> float:
    """O_r = (t_busy / t_window) · (b_rx / b_tx), and 0 if nothing was sent. Implements [PADRES] Eq. 3.

    >>> output_utilization(OutputWindow(window_s=30, busy_s=15, queued_bytes=1000, sent_bytes=1000))
    0.5
    >>> output_utilization(OutputWindow(window_s=30, busy_s=30, queued_bytes=3000, sent_bytes=1000))
    3.0
    """
    if not sending.sent_bytes:
        return 0.0
    return sending.busy_s / sending.window_s * (sending.queued_bytes / sending.sent_bytes)


def difference(metric: Metric, ours: Metrics, theirs: Metrics, normalization_s: float) -> float:
    """How much more loaded we are: a difference of ratios; of delays, divided by N_f. Implements [PADRES] Eq. 4.

    The sign is kept: a negative value says that the other one has more.

    >>> difference(Metric.MATCH, Metrics(matching_delay_s=0.05), Metrics(matching_delay_s=0.025), 0.1)
    0.25
    """
    gap = ours.of(metric) - theirs.of(metric)
    return gap / normalization_s if metric is Metric.MATCH else gap


def mean(all_metrics: list[Metrics]) -> Metrics:
    """The mean load of a cluster's edge brokers."""
    count = len(all_metrics) or 1
    return Metrics(
        sum(metrics.input_ratio for metrics in all_metrics) / count,
        sum(metrics.matching_delay_s for metrics in all_metrics) / count,
        sum(metrics.output_ratio for metrics in all_metrics) / count,
    )


class Meter:
    """Counts what a broker does and tells its load once a window."""

    def __init__(self) -> None:
        self._begun = 0.0
        self._arrived = 0
        self._matched = 0
        self._matching_s = 0.0
        self._queued_bytes = 0.0
        self._sent_bytes = 0.0
        self._busy_s = 0.0
        self._delay_s = 0.0
        self.rate = 0.0
        """Publications a second that arrived in the last closed window."""
        self.output_bytes_s = 0.0
        """Bytes a second that were queued for sending in the last closed window."""

    def arrived(self) -> None:
        self._arrived += 1

    def matched(self, delay_s: float) -> None:
        self._matched += 1
        self._matching_s += delay_s

    def queued(self, size_bytes: float) -> None:
        self._queued_bytes += size_bytes

    def sent(self, size_bytes: float, busy_s: float) -> None:
        self._sent_bytes += size_bytes
        self._busy_s += busy_s

    def close(self, now: float) -> Metrics:
        """The load since the last call. Without a publication the matching delay stays as it was."""
        window_s = now - self._begun
        if window_s <= 0:
            return Metrics(0.0, self._delay_s, 0.0)
        if self._matched:
            self._delay_s = self._matching_s / self._matched
        self.rate = self._arrived / window_s
        self.output_bytes_s = self._queued_bytes / window_s
        sending = OutputWindow(window_s, min(self._busy_s, window_s), self._queued_bytes, self._sent_bytes)
        measured = Metrics(input_utilization(self.rate, self._delay_s), self._delay_s, output_utilization(sending))
        self._begun = now
        self._arrived = self._matched = 0
        self._matching_s = self._queued_bytes = self._sent_bytes = self._busy_s = 0.0
        return measured
