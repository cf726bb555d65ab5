"""Which subscribers go? An algorithm for each metric that is out of balance, and a random one ([PADRES] 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from random import Random

from tidings.balancing.padres.cards import Bargain, Card, best
from tidings.balancing.padres.loads import BrokerLoad
from tidings.balancing.padres.metrics import Metric
from tidings.balancing.padres.press import Key


def offload(bargain: Bargain, css: Callable[[], set[Key]], children: Callable[[Key], bool]) -> list[str]:
    """The subscribers to move for the metric of the bargain.

    ``css()`` is the giver's CSS among what is left; ``children(key)`` says whether a subscription covers others.
    """
    if bargain.metric is Metric.INPUT:
        return offload_input(bargain, css)
    return offload_match(bargain) if bargain.metric is Metric.MATCH else offload_output(bargain, children)


def offload_input(bargain: Bargain, css: Callable[[], set[Key]]) -> list[str]:
    """Subscriptions of the CSS first: only they bring publications. Implements [PADRES] 5.1, Alg. 1.

    Departs from the print: a card for nobody is no candidate (Alg. 1 would look at it for ever).
    """
    while not bargain.done:
        tops = [bargain.left[key] for key in sorted(css() & bargain.left.keys(), key=str)]
        card = best(bargain, (bargain.card(candidate) for candidate in bargain.sorts(tops)))
        if card is None:
            break
        bargain.take(card)
    return bargain.chosen


def offload_match(bargain: Bargain) -> list[str]:
    """Subscriptions with the least traffic first: matching gets faster, little else changes. Implements [PADRES] 5.2.

    In an overload it goes on until the giver is below the lower overload threshold.
    """
    by_traffic = sorted(bargain.left.values(), key=lambda each: (each.bytes_s, each.vector.bit_count(), str(each.key)))
    for candidate in by_traffic:
        if bargain.done:
            break
        card = bargain.card(candidate)
        if bargain.improves(card):
            bargain.take(card)
    return bargain.chosen


def offload_output(bargain: Bargain, children: Callable[[Key], bool]) -> list[str]:
    """Subscriptions that the taker's CSS covers first; then others, with a brake. Implements [PADRES] 5.3, Alg. 2-4.

    Departs from the print: Alg. 3 takes type I from the list of type II; Alg. 2 and 4 go on for ever when no card of
    Phase II is promising, we stop.
    """
    ignored: set[Key] = set()
    while not _phase_one(bargain, ignored) and not _phase_two(bargain, ignored, children):
        pass
    return bargain.chosen


def _phase_one(bargain: Bargain, ignored: set[Key]) -> bool:
    """Covered ones: they add nothing to the taker's input. True if the loads are balanced."""
    while not bargain.done:
        card = _best_by_type(bargain, ignored)
        if card is None:
            return False
        _take(bargain, card, ignored)
    return True


def _best_by_type(bargain: Bargain, ignored: set[Key]) -> Card | None:
    """The best of type I; if there is none, of type II; then of type III."""
    types: tuple[list[Card], list[Card], list[Card]] = ([], [], [])
    for card in _cards(bargain, bargain.covered - ignored):
        types[phase_one_type(card) - 1].append(card)
    return next((found for cards in types if (found := best(bargain, cards)) is not None), None)


def phase_one_type(card: Card) -> int:
    """I: the giver's input falls. II: it would if all subscribers could go. III: it does not in any case."""
    if not card.reduction:
        return 3
    return 1 if card.takes_all else 2


def _phase_two(bargain: Bargain, ignored: set[Key], children: Callable[[Key], bool]) -> bool:
    """Those that are not covered. True if nothing is left to do; False sends what is covered now to Phase I."""
    while not bargain.done:
        if bargain.is_overloaded and bargain.giver.of(Metric.OUTPUT) < bargain.parameters.lower_overload_threshold:
            return True
        uncovered = _cards(bargain, bargain.left.keys() - bargain.covered - ignored)
        card = best(bargain, (each for each in uncovered if bargain.is_overloaded or _keeps_inputs(each, bargain)))
        if card is None:
            return True
        covers_others = children(card.candidate.key)
        _take(bargain, card, ignored)
        if covers_others:
            return False
    return True


def _keeps_inputs(card: Card, bargain: Bargain) -> bool:
    """The brake: whether the taker's input stays so near to the giver's that no session for the inputs follows.

    Departs from the paper, which stops as soon as both inputs are balanced. Two idle inputs are balanced as well: then
    an empty broker would get nothing, and the broker with the busiest input, by however little, would never get any
    output. What the brake is for are sessions that undo each other; they begin at the triggering threshold, less what
    a load may move and still count as steady.
    """
    parameters = bargain.parameters
    leeway = max(0.0, parameters.local_ratio_triggering_threshold - parameters.stabilize_percentage)
    return card.taker.of(Metric.INPUT) <= card.giver.of(Metric.INPUT) + leeway


def _cards(bargain: Bargain, keys: Set[Key]) -> Iterator[Card]:
    """The cards of those among some subscriptions that send anything."""
    sending = (each for key, each in bargain.left.items() if key in keys and each.bytes_s)
    for candidate in bargain.sorts(sending):
        yield bargain.card(candidate)


def _take(bargain: Bargain, card: Card, ignored: set[Key]) -> None:
    ignored.add(card.candidate.key)
    bargain.take(card)


def random_count(metric: Metric, giver: BrokerLoad, taker: BrokerLoad) -> int:
    """How many subscribers the random algorithm moves. Implements [PADRES] Eq. 13 and 14.

    c1 = n_off − L_avg · n_off / L_off, c2 = L_avg · n_acc / L_acc − n_acc; c is their mean, or c1 where c2 is more than
    there are.
    """
    high, low = giver.of(metric), taker.of(metric)
    if high <= low:
        return 0
    target = (high + low) / 2
    first = giver.subscriptions - target * giver.subscriptions / high
    second = target * taker.subscriptions / low - taker.subscriptions if low else float("inf")
    count = first if second > giver.subscriptions else (first + second) / 2
    return min(giver.subscriptions, round(count))


def offload_random(subscribers: Sequence[str], count: int, random: Random) -> list[str]:
    """``count`` subscribers drawn from all. Implements [PADRES] 5.4."""
    return random.sample(sorted(subscribers), min(count, len(subscribers)))
