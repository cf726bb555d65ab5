"""Which parcels does a busy matcher give to which other one? The decisions of [PADRES], on parcels of our matchers.

Symbols: a matcher is a broker, a parcel a subscription, a post of the sample one bit of its vector.

Departs from the paper:

* Metrics are counters of batches, not clocks. Spark gives all matchers the same time for a batch; we take twice the
  mean load as what a matcher can do, so in a balanced cluster every input utilization ratio is 0.5.
* Only input is balanced: matches are written where they are found, and the load has the work of matching in it.
* All matchers are seen by one planner, so nobody is asked. As there, a matcher is in one session at a time.
* Of the idlest matchers that could take load, the one that gains the least load for what the giver is relieved of: by
  posts and by subscriptions that it does not get or have yet. The idlest are those whose loads differ by no more than
  the threshold that triggers a session. (Of all of them before: an idle matcher stayed idle as long as another one
  gained less.)
* After the sessions all their matchers exchange parcels, as after the local adjustment of PS2, and what moves has to be
  worth it (:mod:`tidings.balancing.trial`); also a busy matcher and the idlest one, where nothing could be given. A
  subscription of several parcels is often kept at the giver as well, which no subscription of a broker is, so what is
  chosen by posts alone makes the sum of loads larger.
* The paper has a covering set; here all vectors of the taker's parcels are joined: what it gets already costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from tidings.arrays import IntArray
from tidings.balancing.estimate import Estimate
from tidings.balancing.loads import Loads, Touches
from tidings.balancing.padres.detection import Detection
from tidings.balancing.padres.messages import Action, Pie, Status
from tidings.balancing.padres.metrics import Metrics
from tidings.balancing.padres.parameters import Parameters
from tidings.balancing.padres.press import Key, LoadProfile
from tidings.balancing.padres.status import StatusMachine
from tidings.balancing.trial import TRIES, Trial
from tidings.model import DataError
from tidings.partitioning import Mapping, Move
from tidings.partitioning.load import COUNTED, FloatArray, LoadCosts

SAMPLES = 5_000
"""So many of the latest posts are bits: more than the paper's 50, because there are more parcels than posts."""


def metrics_of(loads: FloatArray) -> list[Metrics]:
    """The input utilization ratio of each matcher, [PADRES] Eq. 1.

    >>> [metrics.input_ratio for metrics in metrics_of(np.array([3.0, 1.0]))]
    [0.75, 0.25]
    """
    capacity = 2 * max(float(loads.mean()), 1e-300)
    return [Metrics(float(load) / capacity) for load in loads]


@dataclass(frozen=True, slots=True)
class Stabilized:
    """Is it time to move something? When loads have been steady for some batches since the last move, and differ.

    Implements [PADRES] Fig. 6 and 8: after a session a matcher is STABILIZING until no ratio has moved by more than the
    stabilize percentage in ``batches`` batches; only an overloaded one does not wait for that.

    >>> steady, rising = [np.array([3.0, 1.0])] * 4, [np.array([1.0 + n, 2.0]) for n in range(4)]
    >>> Stabilized(batches=3).is_due(steady), Stabilized(batches=3).is_due(steady[1:]), Stabilized().is_due(rising)
    (True, False, False)
    """

    parameters: Parameters = field(default_factory=Parameters)
    batches: int = 3

    def __post_init__(self) -> None:
        if self.batches < 1:
            raise DataError(f"loads are steady for one batch or more, got {self.batches}; choose another number")

    def is_due(self, history: Sequence[FloatArray]) -> bool:
        """Whether a session would begin. ``history``: the load of each matcher in each batch since the last move."""
        seen = [metrics_of(loads) for loads in history[-self.batches - 1 :]]
        if not seen:
            return False
        machines = [self._machine([batch[matcher] for batch in seen]) for matcher in range(len(seen[-1]))]
        pies = self._pies(seen[-1])
        detection = Detection(self.parameters)
        return any(
            machine.may_ask and detection.detect(pie.metrics, _others(pies, pie))
            for machine, pie in zip(machines, pies, strict=True)
        )

    def _pies(self, metrics: list[Metrics]) -> list[Pie]:
        """Whoever is not overloaded may take load."""
        high = self.parameters.lower_overload_threshold
        return pies_of(metrics, [Status.OK if own.input_ratio <= high else Status.NOT_AVAILABLE for own in metrics])

    def _machine(self, measured: list[Metrics]) -> StatusMachine:
        """A matcher since the last move; time counts batches."""
        machine = StatusMachine(replace(self.parameters, stabilize_duration_s=self.batches))
        machine.end(0.0, moved=True)
        for number, metrics in enumerate(measured):
            machine.measured(metrics, float(number))
        return machine


@dataclass(frozen=True, slots=True, kw_only=True)
class OnParcels:
    """Sessions between busy matchers and others, the busiest first; ``samples`` posts are looked at. With 0 ``tries``
    there are no exchanges."""

    parameters: Parameters = field(default_factory=Parameters)
    samples: int = SAMPLES
    costs: LoadCosts = COUNTED
    tries: int = TRIES

    def plan(self, loads: Loads, mapping: Mapping) -> list[Move]:
        """The moves of all sessions, and of exchanges after them where loads differ no more then. No plan makes the
        largest load larger, or the difference of loads."""
        estimate = Estimate(loads, mapping, self.costs, "measured")
        trial, before = Trial(estimate), estimate.matchers(mapping.owner)
        profile = profile_of(loads.touches, self.samples)
        pies = pies_of(metrics_of(before), [Status.OK] * len(before))
        engaged: set[str] = set()
        takes = np.zeros(len(before), dtype=np.bool_)
        for pie in sorted(pies, key=lambda each: -each.metrics.input_ratio):
            others = {name: other for name, other in _others(pies, pie).items() if name not in engaged}
            actions = Detection(self.parameters).detect(pie.metrics, others) if pie.broker not in engaged else []
            giver = int(pie.broker)
            deals = [_Deal(trial, profile, giver, action, self) for action in actions]
            good = [deal for deal in deals if deal.parcels and deal.is_better()]
            if good:
                best = self._best(good)
                best.do()
                engaged |= {pie.broker, str(best.taker)}
                takes[[giver, best.taker]] = True
            elif actions:
                takes[[giver, int(actions[0].broker)]] = True
        moves = trial.moves()
        trial.exchange(self.tries, takes)
        return trial.moves() if np.ptp(trial.loads()) <= np.ptp(before) else moves

    def _best(self, deals: list[_Deal]) -> _Deal:
        """Of those with the idlest takers, the one that adds least input for what the giver is relieved of."""
        idlest = max(deal.difference for deal in deals) - self.parameters.local_ratio_triggering_threshold
        return min((deal for deal in deals if deal.difference >= idlest), key=lambda deal: deal.gained / deal.relieved)


class _Deal:
    """What one matcher would give to another one, [PADRES] 5.1: what adds least to the taker's input first."""

    def __init__(self, trial: Trial, profile: LoadProfile, giver: int, action: Action, rule: OnParcels) -> None:
        self.taker = taker = int(action.broker)
        self.difference = action.difference
        self.parcels: list[int] = []
        self.gained = self.relieved = 0.0
        self._trial, self._giver, self._profile, self._costs = trial, giver, profile, rule.costs
        own, loads = np.flatnonzero(trial.owner == giver), trial.loads()
        self._less, self._more = np.zeros((2, len(trial.owner)))
        self._less[own], self._more[own] = trial.pairs(own, giver, taker)
        self._load, self._other = float(loads[giver]), float(loads[taker])
        vectors: dict[int, int] = dict(profile.vectors)  # type: ignore[arg-type]  # keys are parcels
        self._vectors = {parcel: vector for parcel, vector in vectors.items() if trial.owner[parcel] == giver}
        self._taken = _joined(vector for parcel, vector in vectors.items() if trial.owner[parcel] == taker)
        self._choose(rule.parameters.balance_threshold * 2 * float(loads.mean()))

    def do(self) -> None:
        """Let the parcels go."""
        self._trial.give(np.array(self.parcels), self._giver, self.taker)

    def is_better(self) -> bool:
        """By all counted posts, not by the sample: whether no load would be larger than the largest is, nor smaller
        than the smallest."""
        old = self._trial.loads()
        self.do()
        new = self._trial.loads()
        self._trial.give(np.array(self.parcels), self.taker, self._giver)
        return bool(new.max() <= old.max() and new.min() >= old.min())

    def _choose(self, close: float) -> None:
        """Give until the loads are close. The taker never has more than the giver."""
        sent = _Sent(self._vectors.values())
        for parcel in sorted(self._vectors, key=lambda each: self._price(each, sent.once)):
            if self._load - self._other <= close:
                return
            less, more = self._change(parcel, sent.once)
            if self._other + more <= self._load - less:
                sent.drop(self._vectors[parcel])
                self._take(parcel, less, more)

    def _price(self, parcel: int, once: int) -> tuple[float, float]:
        """The taker's new load for what the giver is relieved of; of equal ones the largest first."""
        less, more = self._change(parcel, once)
        return more / less, -less

    def _gain(self, parcel: int) -> float:
        """[PADRES] Eq. 7: posts that the taker would not get without this parcel."""
        return self._profile.rate_of(self._vectors[parcel] & ~self._taken)

    def _change(self, parcel: int, once: int) -> tuple[float, float]:
        """How much less the giver would have, and how much more the taker."""
        alone = self._profile.rate_of(self._vectors[parcel] & once)
        less = self._costs.of(float(self._less[parcel]), alone, 0, 0)
        return float(less), float(self._costs.of(float(self._more[parcel]), self._gain(parcel), 0, 0))

    def _take(self, parcel: int, less: float, more: float) -> None:
        self.gained += more
        self.relieved += less
        self._load -= less
        self._other += more
        self.parcels.append(parcel)
        self._taken |= self._vectors.pop(parcel)


def profile_of(touches: Touches, samples: int) -> LoadProfile:
    """PRESS for parcels: bit i of a vector says whether the i-th post of the sample was sent for the parcel.

    >>> touches = Touches.of(np.array([0, 1, 2, 2]), np.array([7, 7, 7, 9]), np.ones(4))
    >>> profile_of(touches, samples=2).vectors
    {7: 3, 9: 2}
    """
    first = max(touches.posts - samples, 0)
    begin = int(np.searchsorted(touches.rows, first))
    order = np.argsort(touches.parcels[begin:], kind="stable")
    parcels, places = np.unique(touches.parcels[begin:][order], return_index=True)
    rows = np.split((touches.rows[begin:] - first)[order], places[1:])
    vectors: dict[Key, int] = {
        parcel: _bits(own, touches.posts - first) for parcel, own in zip(parcels.tolist(), rows, strict=False)
    }
    return LoadProfile(vectors, 0, touches.posts - first, float(touches.posts))


def _bits(rows: IntArray, count: int) -> int:
    """A number with these bits set."""
    found = np.zeros(count, dtype=np.bool_)
    found[rows] = True
    return int.from_bytes(np.packbits(found, bitorder="little").tobytes(), "little")


def pies_of(metrics: Sequence[Metrics], statuses: Sequence[Status]) -> list[Pie]:
    """What matchers would tell of their load; they are named by their numbers."""
    return [
        Pie(str(number), "", own, status) for number, (own, status) in enumerate(zip(metrics, statuses, strict=True))
    ]


def _others(pies: Sequence[Pie], own: Pie) -> dict[str, Pie]:
    return {pie.broker: pie for pie in pies if pie is not own}


def _joined(vectors: Iterable[int]) -> int:
    found = 0
    for vector in vectors:
        found |= vector
    return found


class _Sent:
    """For how many of some parcels each post of the sample is sent; ``once``: the posts that are sent for one only."""

    def __init__(self, vectors: Iterable[int]) -> None:
        found = list(vectors)
        self._bytes = -(-max((vector.bit_length() for vector in found), default=0) // 8)
        self._counts = np.zeros(8 * self._bytes, dtype=np.int64)
        for vector in found:
            self._counts += self._posts(vector)
        self.once = self._only_once()

    def drop(self, vector: int) -> None:
        """Leave one of the parcels out."""
        self._counts -= self._posts(vector)
        self.once = self._only_once()

    def _posts(self, vector: int) -> npt.NDArray[np.uint8]:
        """1 for each post whose bit is set."""
        return np.unpackbits(np.frombuffer(vector.to_bytes(self._bytes, "little"), np.uint8), bitorder="little")

    def _only_once(self) -> int:
        return int.from_bytes(np.packbits(self._counts == 1, bitorder="little").tobytes(), "little")
