"""How much does each subscription get? Counted over the last windows, beside the sample of PRESS ([PADRES] 4.1)."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tidings.balancing.padres.press import Key

WINDOWS = 4
"""So many windows are remembered."""
STEADY = 0.2
"""A window in which subscriptions got more or less by this share than in the latest one tells of another time."""


@dataclass(slots=True)
class _Window:
    """What matched: ``hits`` name sets of subscriptions, with the number of their publications."""

    begun: float
    span_s: float = 0.0
    hits: Counter[Hashable] = field(default_factory=Counter)
    passed_on_bytes: float = 0.0


class Traffic:
    """Publications of each subscription over up to four windows.

    Departs from [PADRES] 4.1, which has the sample only (Eq. 6). 50 publications are 2.5 s of a broker with 20 a
    second: enough to see which subscriptions overlap, too few to see what one gets. An algorithm that looks for those
    with little traffic finds those of which the sample happened to have nothing. A broker matches every publication in
    any case; to count them takes a number for each subscription and window.

    >>> traffic = Traffic(keys=lambda hits: hits, now=0)
    >>> traffic.begin("a", now=0), traffic.begin("b", now=15)
    (None, None)
    >>> for _ in range(60): traffic.matched(("a", "b"))
    >>> traffic.close(now=30)
    >>> traffic.rates()
    {'a': 2.0}
    """

    def __init__(self, keys: Callable[[Hashable], Iterable[Key]], now: float) -> None:
        self._keys = keys
        self._since: dict[Key, float] = {}
        self._closed: deque[_Window] = deque(maxlen=WINDOWS)
        self._open = _Window(now)

    def begin(self, key: Key, now: float) -> None:
        """Somebody asks for this from now on."""
        self._since[key] = now

    def end(self, key: Key) -> None:
        """Nobody asks for it any more."""
        del self._since[key]

    def matched(self, hits: Hashable) -> None:
        """A publication was for these subscriptions."""
        self._open.hits[hits] += 1

    def passed_on(self, size_bytes: float) -> None:
        """A publication goes to a neighbour."""
        self._open.passed_on_bytes += size_bytes

    def close(self, now: float) -> None:
        """A window is over."""
        self._open.span_s = now - self._open.begun
        if self._open.span_s > 0:
            self._closed.append(self._open)
            self._open = _Window(now)

    @property
    def passed_on_bytes_s(self) -> float:
        """What went to neighbours in the last window."""
        return self._closed[-1].passed_on_bytes / self._closed[-1].span_s if self._closed else 0.0

    def rates(self) -> dict[Key, float]:
        """Publications a second, of those that have been here for a whole window."""
        counted: dict[Key, float] = {}
        span_s: dict[Key, float] = {}
        for window, counts in self._steady():
            for key in self._present(window):
                counted[key] = counted.get(key, 0) + counts.get(key, 0)
                span_s[key] = span_s.get(key, 0.0) + window.span_s
        return {key: count / span_s[key] for key, count in counted.items()}

    def _present(self, window: _Window) -> Iterator[Key]:
        return (key for key, since in self._since.items() if since <= window.begun)

    def _steady(self) -> Iterator[tuple[_Window, Mapping[Key, int]]]:
        """The windows, the latest one first, back to where those that were there already got clearly more or less."""
        latest: tuple[_Window, Mapping[Key, int]] | None = None
        for window in reversed(self._closed):
            counts = self._counts(window)
            latest = latest or (window, counts)
            both = list(self._present(window))
            now = sum(latest[1].get(key, 0) for key in both) / latest[0].span_s
            then = sum(counts.get(key, 0) for key in both) / window.span_s
            if abs(now - then) > STEADY * now:
                return
            yield window, counts

    def _counts(self, window: _Window) -> Mapping[Key, int]:
        counts: Counter[Key] = Counter()
        for hits, times in window.hits.items():
            for key in self._keys(hits):
                counts[key] += times
        return counts
