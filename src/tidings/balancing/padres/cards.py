"""How many subscribers of a subscription may go, and what is the load afterwards? Report cards ([PADRES] 5.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from tidings.balancing.padres.loads import BrokerLoad, Candidate, Offer
from tidings.balancing.padres.metrics import Metric
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
        self.covered: set[Key] = set()
        """Those that the taker's CSS covers: only output offloading asks for them, so only there they are known."""
        for top in offer.css:
            self._cover(top)
        self._css_vector = profile.css
        self._counts = Counter(bit for candidate in self.left.values() for bit in _bits(candidate.vector))
        self._only_once = sum(1 << bit for bit, count in self._counts.items() if count == 1)
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
        gap = giver.of(metric) - taker.of(metric)
        return gap / self.parameters.delay_normalization_factor_s if metric is Metric.MATCH else gap

    def card(self, candidate: Candidate) -> Card:
        """How many may go, and what comes of it; ``number`` is 0 if none may."""
        after = _After(self, candidate)
        most = _largest(len(candidate.subscribers), lambda count: self._bearable(*after(count)))
        enough = _largest(most, lambda count: not self._done(*after(count))) + 1
        number = min(enough, most)
        if number > 1 and abs(self._difference(*after(number - 1))) < abs(self._difference(*after(number))):
            number -= 1
        giver, taker = after(number)
        gap = self._difference(giver, taker)
        return Card(candidate, number, gap, candidate.key in self.covered, after.reduction, giver, taker)

    def sorts(self, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
        """The first one of each sort: all of a sort would have the same card."""
        seen = set()
        for candidate in candidates:
            sort = candidate.vector, len(candidate.subscribers), candidate.bytes_s
            if sort not in seen:
                seen.add(sort)
                yield candidate

    def take(self, card: Card) -> None:
        """Choose the subscribers of a card: both loads and the taker's CSS vector follow ([PADRES] 4.1: by OR)."""
        key = card.candidate.key
        self.chosen += card.candidate.subscribers[: card.number]
        self.giver, self.taker = card.giver, card.taker
        self._css_vector |= card.candidate.vector
        self._cover(key)
        rest = card.candidate.subscribers[card.number :]
        if rest:
            self.left[key] = Candidate(key, rest, card.candidate.vector, card.candidate.bytes_s)
        else:
            del self.left[key]
            self._uncount(card.candidate.vector)

    def improves(self, card: Card) -> bool:
        """Whether the loads would be closer together than now; in an overload of the matcher: whether any goes."""
        if not card.number:
            return False
        if self.metric is Metric.MATCH and self.is_overloaded:
            return True
        return abs(card.difference) < abs(self.difference)

    def reduction(self, candidate: Candidate) -> float:
        """The publications a second that only this subscription brings to the giver."""
        return self._profile.rate_of(candidate.vector & self._only_once)

    def addition(self, candidate: Candidate) -> float:
        """The publications a second that the taker gets on top."""
        return self._profile.rate_of(candidate.vector & ~self._css_vector)

    def _cover(self, wide: Key) -> None:
        """The taker will have this subscription."""
        if self.metric is Metric.OUTPUT:
            covers = self._covers
            self.covered |= {key for key in self.left if key not in self.covered and (key == wide or covers(wide, key))}

    def _bearable(self, giver: BrokerLoad, taker: BrokerLoad) -> bool:
        """Whether the taker is neither overloaded nor more loaded than the giver was."""
        if taker.highest_ratio > self.parameters.lower_overload_threshold:
            return False
        compared = self._measure if self.is_overloaded else self.metric
        return taker.of(compared) <= self._most[compared] and giver.subscriptions >= 0

    def _uncount(self, vector: int) -> None:
        for bit in _bits(vector):
            self._counts[bit] -= 1
            if self._counts[bit] == 1:
                self._only_once |= 1 << bit
            elif not self._counts[bit]:
                self._only_once &= ~(1 << bit)


class _After:
    """Both loads after so many subscribers of one candidate have gone; each number is computed once."""

    def __init__(self, bargain: Bargain, candidate: Candidate) -> None:
        self._bargain = bargain
        self._candidate = candidate
        self._all = len(candidate.subscribers)
        self.reduction = bargain.reduction(candidate)
        self._addition = bargain.addition(candidate)
        self._known = {0: (bargain.giver, bargain.taker)}

    def __call__(self, number: int) -> tuple[BrokerLoad, BrokerLoad]:
        known = self._known.get(number)
        if known is None:
            less = self.reduction if number == self._all else 0.0
            size = number * self._candidate.bytes_s
            giver, taker = self._bargain.giver, self._bargain.taker
            known = giver.plus(-number, -less, -size), taker.plus(number, self._addition, size)
            self._known[number] = known
        return known


def _largest(limit: int, holds: Callable[[int], bool]) -> int:
    """The largest count up to ``limit`` for which something holds that holds for all smaller ones; or 0."""
    if limit and holds(limit):
        return limit
    low, high = 0, limit
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _bits(vector: int) -> Iterator[int]:
    while vector:
        low = vector & -vector
        yield low.bit_length() - 1
        vector ^= low


def best(bargain: Bargain, cards: Iterable[Card]) -> Card | None:
    """The card that brings the difference closest to zero, if it improves at all; the first one of equals."""
    good = [card for card in cards if bargain.improves(card)]
    return min(good, key=lambda card: abs(card.difference), default=None)
