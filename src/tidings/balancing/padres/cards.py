"""How many subscribers of a subscription may go, and what is the load afterwards? Report cards ([PADRES] 5.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tidings.balancing.padres.loads import BrokerLoad, Candidate, Offer
from tidings.balancing.padres.metrics import Metric, difference
from tidings.balancing.padres.parameters import Parameters
from tidings.balancing.padres.press import Key, LoadProfile

Covers = Callable[[Key, Key], bool]


@dataclass(frozen=True, slots=True)
class Card:
    """The report card of one subscription. A negative ``difference`` says that the giver would have less.

    ``reduction``: the input that the giver loses if all of the subscribers go, in publications a second.
    """

    candidate: Candidate
    number: int
    difference: float
    covered: bool
    reduction: float
    giver: BrokerLoad
    taker: BrokerLoad

    @property
    def takes_all(self) -> bool:
        return self.number == len(self.candidate.subscribers)


class Bargain:
    """The state of one choice of subscribers: both loads as they would be, what is left, and what was chosen.

    The paper bounds a card twice: no resource of the taker gets overloaded, and the giver stops as soon as both are
    balanced. Departs from the paper by a third bound: the taker never gets more than the giver had at the start. So
    the larger one of both loads never grows, and sessions cannot chase each other. Where one subscriber less leaves
    the loads closer together, one less goes.
    """

    def __init__(
        self,
        metric: Metric,
        giver: BrokerLoad,
        offer: Offer,
        candidates: Iterable[Candidate],
        profile: LoadProfile,
        parameters: Parameters,
        covers: Covers,
    ) -> None:
        self.metric = metric
        self.giver, self.taker = giver, offer.load
        self.parameters = parameters
        self.left = {candidate.key: candidate for candidate in candidates}
        self.chosen: list[str] = []
        self._profile = profile
        self._covers = covers
        self.covered = {key for key in self.left if any(self._is_covered(top, key) for top in offer.css)}
        self._css_vector = profile.css
        self._only_once = 0
        self._count_vectors()
        self.is_overloaded = giver.of(self._measure) > parameters.higher_overload_threshold
        self._most = {each: giver.of(each) for each in {metric, self._measure}}

    @property
    def _measure(self) -> Metric:
        """What tells an overload: a slow matcher is overloaded at its input."""
        return Metric.INPUT if self.metric is Metric.MATCH else self.metric

    @property
    def difference(self) -> float:
        return self._difference(self.giver, self.taker)

    @property
    def done(self) -> bool:
        return self._done(self.giver, self.taker)

    def _done(self, giver: BrokerLoad, taker: BrokerLoad) -> bool:
        if self.metric is Metric.MATCH and self.is_overloaded:
            return giver.of(Metric.INPUT) < self.parameters.lower_overload_threshold
        return self._difference(giver, taker) <= self.parameters.balance_threshold

    def _difference(self, giver: BrokerLoad, taker: BrokerLoad) -> float:
        metric = self._measure if self.is_overloaded else self.metric
        return difference(metric, giver.metrics, taker.metrics, self.parameters.delay_normalization_factor_s)

    def card(self, candidate: Candidate) -> Card:
        """How many may go, and what comes of it; ``number`` is 0 if none may."""
        most = self._largest(len(candidate.subscribers), lambda count: self._bearable(*self._after(candidate, count)))
        enough = self._largest(most, lambda count: not self._done(*self._after(candidate, count))) + 1
        number = min(enough, most)
        if number > 1 and self._distance(candidate, number - 1) < self._distance(candidate, number):
            number -= 1
        giver, taker = self._after(candidate, number)
        gap = self._difference(giver, taker)
        return Card(candidate, number, gap, candidate.key in self.covered, self._reduction(candidate), giver, taker)

    def take(self, card: Card) -> None:
        """Choose the subscribers of a card: both loads and the taker's CSS vector follow ([PADRES] 4.1: by OR)."""
        key = card.candidate.key
        self.chosen += card.candidate.subscribers[: card.number]
        self.giver, self.taker = card.giver, card.taker
        self._css_vector |= card.candidate.vector
        self.covered |= {other for other in self.left if self._is_covered(key, other)}
        rest = card.candidate.subscribers[card.number :]
        if rest:
            self.left[key] = Candidate(key, rest, card.candidate.vector, card.candidate.bytes_s)
        else:
            del self.left[key]
            self._count_vectors()

    def improves(self, card: Card) -> bool:
        """Whether the loads would be closer together than now; in an overload of the matcher: whether any goes."""
        if not card.number:
            return False
        if self.metric is Metric.MATCH and self.is_overloaded:
            return True
        return abs(card.difference) < abs(self.difference)

    def _is_covered(self, wide: Key, narrow: Key) -> bool:
        return wide == narrow or self._covers(wide, narrow)

    def _distance(self, candidate: Candidate, number: int) -> float:
        return abs(self._difference(*self._after(candidate, number)))

    def _after(self, candidate: Candidate, number: int) -> tuple[BrokerLoad, BrokerLoad]:
        if not number:
            return self.giver, self.taker
        less = self._reduction(candidate) if number == len(candidate.subscribers) else 0.0
        more = self._profile.rate_of(candidate.vector & ~self._css_vector)
        size = number * candidate.bytes_s
        return self.giver.plus(-number, -less, -size), self.taker.plus(number, more, size)

    def _bearable(self, giver: BrokerLoad, taker: BrokerLoad) -> bool:
        """Whether the taker is neither overloaded nor more loaded than the giver was."""
        if taker.metrics.highest_ratio > self.parameters.lower_overload_threshold:
            return False
        compared = self._measure if self.is_overloaded else self.metric
        return taker.of(compared) <= self._most[compared] and giver.subscriptions >= 0

    def _reduction(self, candidate: Candidate) -> float:
        """The publications a second that only this subscription brings to the giver."""
        return self._profile.rate_of(candidate.vector & self._only_once)

    def _count_vectors(self) -> None:
        once = twice = 0
        for candidate in self.left.values():
            twice |= once & candidate.vector
            once |= candidate.vector
        self._only_once = once & ~twice

    @staticmethod
    def _largest(limit: int, holds: Callable[[int], bool]) -> int:
        """The largest count up to ``limit`` for which something holds that holds for all smaller ones; or 0."""
        if limit and holds(limit):
            return limit
        low, high = 0, limit
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if holds(middle) else (low, middle)
        return low


def best(bargain: Bargain, cards: Iterable[Card]) -> Card | None:
    """The card that brings the difference closest to zero, if it improves at all; the first one of equals."""
    good = [card for card in cards if bargain.improves(card)]
    return min(good, key=lambda card: abs(card.difference), default=None)
