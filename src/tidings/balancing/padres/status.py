"""Is a broker free for a session? The states of [PADRES] Fig. 6 and 7 and what leads from one to another."""

from __future__ import annotations

from tidings.balancing.padres.messages import Status
from tidings.balancing.padres.metrics import Metric, Metrics
from tidings.balancing.padres.parameters import Parameters


class StatusMachine:
    """OK, N/A (overloaded), BUSY (in a session) and STABILIZING (after one).

    ::

        OK           -> N/A           a ratio exceeds the lower overload threshold
        N/A          -> OK            none does any more
        OK, N/A      -> BUSY          a session begins
        STABILIZING  -> BUSY          a session begins, because the broker is overloaded
        BUSY         -> STABILIZING   the session has moved load
        BUSY         -> OK, N/A       the session has moved nothing
        STABILIZING  -> OK, N/A       no metric has moved by more than the stabilize percentage for the duration
    """

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self.status = Status.OK
        self._metrics = Metrics()
        self._since = 0.0
        self._reference: Metrics | None = None
        self._overloaded_member = False

    @property
    def may_ask(self) -> bool:
        """Whether a session may be asked for: not in one, and while stabilizing only in an overload."""
        overloaded = self._metrics.highest_ratio > self._parameters.higher_overload_threshold
        return self.status is not Status.BUSY and (self.status is not Status.STABILIZING or overloaded)

    def measured(self, metrics: Metrics, now: float, *, overloaded_member: bool = False) -> None:
        """Take in new figures. A cluster is N/A as soon as one member is, whatever its mean says."""
        self._metrics = metrics
        self._overloaded_member = overloaded_member
        if self.status is Status.STABILIZING:
            self._stabilize(now)
        elif self.status is not Status.BUSY:
            self.status = self._by_load()

    def begin(self) -> None:
        """A session begins."""
        self.status = Status.BUSY

    def end(self, now: float, *, moved: bool) -> None:
        """The session is over."""
        if moved:
            self.status, self._since, self._reference = Status.STABILIZING, now, None
        else:
            self.status = self._by_load()

    def _stabilize(self, now: float) -> None:
        """Compare the figures at the end of each period with those at its start."""
        if self._reference is None:
            self._reference, self._since = self._metrics, now
        elif now - self._since >= self._parameters.stabilize_duration_s:
            if self._is_steady(self._reference):
                self.status = self._by_load()
            self._reference, self._since = self._metrics, now

    def _is_steady(self, before: Metrics) -> bool:
        limit = self._parameters.stabilize_percentage
        scale = {Metric.MATCH: self._parameters.delay_normalization_factor_s}
        return all(
            abs(self._metrics.of(metric) - before.of(metric)) / scale.get(metric, 1.0) <= limit for metric in Metric
        )

    def _by_load(self) -> Status:
        overloaded = self._metrics.highest_ratio > self._parameters.lower_overload_threshold
        return Status.NOT_AVAILABLE if overloaded or self._overloaded_member else Status.OK
