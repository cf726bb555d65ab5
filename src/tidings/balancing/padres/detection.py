"""With whom should load be balanced, and how? The local and the global detection algorithm ([PADRES] Fig. 8, 9)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidings.balancing.padres.messages import Action, Pie, Status
from tidings.balancing.padres.metrics import Metric, Metrics, difference
from tidings.balancing.padres.parameters import Parameters
from tidings.balancing.padres.pie import trigger


class Settled:
    """Pairs and metrics for which a session found nobody to move.

    They are left alone until the difference has grown by the stabilize percentage. Departs from the paper, which would
    ask again at every detection.
    """

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._differences: dict[tuple[str, Metric], float] = {}

    def note(self, action: Action) -> None:
        self._differences[action.broker, action.metric] = action.difference

    def forget(self, broker: str) -> None:
        self._differences = {pair: gap for pair, gap in self._differences.items() if pair[0] != broker}

    def excludes(self, action: Action) -> bool:
        known = self._differences.get((action.broker, action.metric))
        return known is not None and action.difference <= known + self._parameters.stabilize_percentage


class Detection:
    """The decisions of one broker or, with the thresholds for clusters, of one cluster head."""

    def __init__(self, parameters: Parameters, *, is_global: bool = False) -> None:
        self._parameters = parameters
        self._limits = {metric: trigger(metric, parameters, is_global=is_global) for metric in Metric}
        self.settled = Settled(parameters)

    def detect(self, ours: Metrics, others: Mapping[str, Pie]) -> list[Action]:
        """Whom to ask, most promising first. Step 1: are we overloaded? Step 2: has somebody much less?"""
        overloads = self.overloads(ours)
        if overloads:
            return self._ordered(ours, others, overloads, at_least=0.0)
        if any(pie.status is Status.NOT_AVAILABLE for pie in others.values()):
            return []
        return self._ordered(ours, others, Metric, at_least=None)

    def is_due(self, action: Action, ours: Metrics, theirs: Metrics) -> bool:
        """Whether the other broker, as it says itself now, is still one to ask: what was heard of it may be old.

        Departs from the paper. With Adaptive PIE nobody hears that a broker has got heavier than itself; sessions with
        such brokers moved a few subscribers to and fro for ever.
        """
        limit = 0.0 if action.metric in self.overloads(ours) else self._limits[action.metric]
        return difference(action.metric, ours, theirs, self._parameters.delay_normalization_factor_s) > limit

    def overloads(self, ours: Metrics) -> list[Metric]:
        """The offload actions against an overload. A CPU that is overloaded is one by its input ratio (Eq. 10)."""
        high = self._parameters.higher_overload_threshold
        input_actions = [Metric.INPUT, Metric.MATCH] if ours.input_ratio > high else []
        return [*input_actions, *([Metric.OUTPUT] if ours.output_ratio > high else [])]

    def balanced_with(self, ours: Metrics, others: Mapping[str, Pie]) -> frozenset[str]:
        """Those from whom no metric differs by more than its threshold, or with whom nothing can be done about it."""
        return frozenset(name for name, pie in others.items() if not self._differing(ours, pie))

    def _differing(self, ours: Metrics, pie: Pie) -> bool:
        for metric in Metric:
            gap = self._gap(metric, ours, pie)
            if abs(gap) > self._limits[metric] and not self.settled.excludes(Action(pie.broker, metric, gap)):
                return True
        return False

    def _ordered(
        self, ours: Metrics, others: Mapping[str, Pie], metrics: Iterable[Metric], at_least: float | None
    ) -> list[Action]:
        found = []
        for name, pie in sorted(others.items()):
            if pie.status is not Status.OK:
                continue
            for metric in metrics:
                limit = self._limits[metric] if at_least is None else at_least
                action = Action(name, metric, self._gap(metric, ours, pie))
                if action.difference > limit and not self.settled.excludes(action):
                    found.append(action)
        return sorted(found, key=lambda action: -action.difference)

    def _gap(self, metric: Metric, ours: Metrics, pie: Pie) -> float:
        return difference(metric, ours, pie.metrics, self._parameters.delay_normalization_factor_s)
