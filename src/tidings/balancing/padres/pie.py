"""When does a broker tell its load, and whose does it want to hear? PIE and Adaptive PIE ([PADRES] 3.3.2, 3.3.4)."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from math import sqrt

from tidings.balancing.padres.messages import Pie
from tidings.balancing.padres.metrics import Metric, Metrics
from tidings.balancing.padres.parameters import Parameters


class PieSender:
    """Publishes a load message if the load moved by a threshold since the last one.

    Departs from the paper: also if the status or the set of balanced brokers has changed. Others decide by them, and a
    global session ends by them.
    """

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._last: Pie | None = None

    def is_due(self, pie: Pie) -> bool:
        """Whether this message has to be published; then it counts as published."""
        if self._last is not None and not self._differs(self._last, pie):
            return False
        self._last = pie
        return True

    def forget(self) -> None:
        """Publish at the next occasion in any case: somebody listens who has not heard the last message."""
        self._last = None

    def _differs(self, last: Pie, pie: Pie) -> bool:
        if (last.status, last.balanced_with) != (pie.status, pie.balanced_with):
            return True
        return any(
            abs(pie.metrics.of(metric) - last.metrics.of(metric)) > threshold
            for metric, threshold in (
                (Metric.INPUT, self._parameters.pie_ratio_threshold),
                (Metric.MATCH, self._parameters.pie_delay_threshold),
                (Metric.OUTPUT, self._parameters.pie_ratio_threshold),
            )
        )


def trigger(metric: Metric, parameters: Parameters, *, is_global: bool = False) -> float:
    """By how much a metric may differ before load is balanced, in the units of :func:`metrics.difference`."""
    if is_global:
        ratio, delay = parameters.global_ratio_triggering_threshold, parameters.global_delay_triggering_threshold
    else:
        ratio, delay = parameters.local_ratio_triggering_threshold, parameters.local_delay_triggering_threshold
    return delay if metric is Metric.MATCH else ratio


FOLLOW = 0.5
"""A bound is raised when it is off by more than this share of the threshold."""


class AdaptivePie:
    """The bounds under which a broker subscribes to the load of others, one for each metric.

    Implements [PADRES] Eq. 5: S_new = L_current − T_L + L_stddev, within [0, 1]; the deviation is that of the last N
    published values. Departs from the paper: a delay is compared in seconds, its threshold is that of Eq. 4 times N_f.
    A bound rises when it is off by half of the threshold; the paper waits for the whole of it, and whoever is lighter
    by up to two thresholds may go unheard.
    """

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._history: dict[Metric, deque[float]] = {
            metric: deque(maxlen=parameters.adaptive_pie_history) for metric in Metric
        }
        self.bounds = dict.fromkeys(Metric, 0.0)

    def published(self, metrics: Metrics) -> None:
        for metric, values in self._history.items():
            values.append(metrics.of(metric))

    def wanted(self, metric: Metric, current: float) -> float:
        """S_new."""
        values = self._history[metric]
        leeway = _deviation(values) if values else 0.0
        return min(1.0, max(0.0, current - self._threshold(metric) + leeway))

    def revise(self, metrics: Metrics, others: Iterable[Metrics]) -> list[Metric]:
        """The validity check, once a PIE period: which bounds have changed and need a new subscription."""
        known = list(others)
        changed = []
        for metric in Metric:
            new, old = self.wanted(metric, metrics.of(metric)), self.bounds[metric]
            filters = any(new <= other.of(metric) < old for other in known)
            if new > old + self._threshold(metric) * FOLLOW or (new < old and filters):
                self.bounds[metric] = new
                changed.append(metric)
        return changed

    def _threshold(self, metric: Metric) -> float:
        threshold = trigger(metric, self._parameters)
        return threshold * self._parameters.delay_normalization_factor_s if metric is Metric.MATCH else threshold


def _deviation(values: Collection[float]) -> float:
    """The standard deviation of all values. ``statistics.pstdev`` is exact, and a hundred times as slow."""
    mean = sum(values) / len(values)
    return sqrt(sum((value - mean) ** 2 for value in values) / len(values))
