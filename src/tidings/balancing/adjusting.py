"""How does a cluster in one process follow its load? It is looked at after each batch, and told what to move."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tidings.balancing.detecting import Detector, Detects
from tidings.balancing.loads import Loads, WorkDone
from tidings.balancing.local import Balancer, Local
from tidings.partitioning import Mapping, Move
from tidings.partitioning.load import COUNTED, FloatArray, LoadCosts

_LONGEST_REST = 64
_LATEST = 3
_WORSE = 1.1


@dataclass(slots=True)
class Adjuster:
    """Remembers the loads of the batches since the last move. Loads are by counters, not by clocks: no noise.

    After a plan that moves nothing it rests for some batches, after the next one for twice as many, up to 64; or until
    the largest load of three batches, by the mean load, is a tenth more than it was before that plan.
    """

    policy: Balancer = field(default_factory=Local)
    detector: Detects = field(default_factory=Detector)
    costs: LoadCosts = COUNTED
    _history: list[FloatArray] = field(default_factory=list, init=False)
    _before: WorkDone | None = field(default=None, init=False)
    _rest: int = field(default=0, init=False)
    _left_at: float = field(default=np.inf, init=False)

    def look(self, loads: Loads, mapping: Mapping) -> list[Move]:
        """After a batch, with all loads since the last move: what is to be moved now, mostly nothing."""
        return self.plan(loads, mapping) if self.is_due(loads.matchers) else []

    def is_due(self, work: WorkDone) -> bool:
        """After a batch, with all work since the last move: whether it is time for a :meth:`plan`."""
        before = self._before
        if before is None or bool((work.posts < before.posts).any()):
            before, self._history, self._rest = WorkDone.none(len(work)), [], 0
        self._history.append(batch_loads(work - before, self.costs))
        self._before = work
        is_over = len(self._history) > self._rest or self._largest() > _WORSE * self._left_at
        return is_over and self.detector.is_due(self._history)

    def plan(self, loads: Loads, mapping: Mapping) -> list[Move]:
        """What is to be moved. After a plan, also one without moves, there is a pause."""
        self._left_at, self._history = self._largest(), []
        moves = self.policy.plan(loads, mapping)
        self._before = None if moves else loads.matchers
        self._rest = 0 if moves else min(max(2 * self._rest, 4), _LONGEST_REST)
        return moves

    def _largest(self) -> float:
        """The largest load of the latest batches by the mean load; 0 while there are too few."""
        if len(self._history) < _LATEST:
            return 0.0
        loads = np.sum(self._history[-_LATEST:], axis=0)
        return float(loads.max() / max(loads.mean(), 1e-300))


def batch_loads(work: WorkDone, costs: LoadCosts) -> FloatArray:
    """The load of each matcher: [PS2] Def. 1, with comparisons as pairs, and matches."""
    loads: FloatArray = costs.of(work.compared, work.posts, work.insertions, work.deletions)
    loads += costs.match * work.found
    return loads
