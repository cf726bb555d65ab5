"""What would a subscription cost at another broker? PRESS: one bit for each sampled publication ([PADRES] 4.1)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass

Key = Hashable
"""Names a distinct subscription: those who ask for the same share it."""


@dataclass(frozen=True, slots=True)
class LoadProfile:
    """Bit vectors of the subscriptions of the offloading broker and of the CSS of the load-accepting one.

    ``rate``: the input of the offloading broker in publications a second. Bit 0 is the first publication.
    """

    vectors: Mapping[Key, int]
    css: int
    samples: int
    rate: float

    def rate_of(self, vector: int) -> float:
        """s_PR = i_r · n_BS / N. Implements [PADRES] Eq. 6.

        >>> LoadProfile({}, css=0, samples=6, rate=3.0).rate_of(0b110111)
        2.5
        """
        return self.rate * vector.bit_count() / self.samples if self.samples else 0.0

    def added_rate(self, vector: int) -> float:
        """What the load-accepting broker would get on top. Implements [PADRES] Eq. 7.

        Departs from the print, which lost the complement: n_BS = |s AND NOT css|, as its example computes.

        >>> LoadProfile({}, css=0b110001, samples=6, rate=3.0).added_rate(0b110111)
        1.0
        """
        return self.rate_of(vector & ~self.css)


class Press:
    """Samples publications until there are enough of them or the time is over.

    >>> press = Press(["a", "b"], samples=2, timeout_s=30, now=0)
    >>> press.sample({"a"}, reaches_css=False, now=1), press.sample({"a", "b"}, reaches_css=True, now=2)
    (False, True)
    >>> press.profile(now=2)
    LoadProfile(vectors={'a': 3, 'b': 2}, css=2, samples=2, rate=1.0)
    """

    def __init__(self, subscriptions: Iterable[Key], samples: int, timeout_s: float, now: float) -> None:
        self._vectors = dict.fromkeys(subscriptions, 0)
        self._css = 0
        self._taken = 0
        self._samples = samples
        self._begun = now
        self.deadline = now + timeout_s

    def sample(self, matched: Iterable[Key], *, reaches_css: bool, now: float) -> bool:
        """Note one publication of the offloading broker; True says that sampling is over."""
        if not self.is_over(now):
            bit = 1 << self._taken
            for key in matched:
                if key in self._vectors:
                    self._vectors[key] |= bit
            if reaches_css:
                self._css |= bit
            self._taken += 1
        return self.is_over(now)

    def is_over(self, now: float) -> bool:
        return self._taken >= self._samples or now >= self.deadline

    def profile(self, now: float) -> LoadProfile:
        elapsed = now - self._begun
        return LoadProfile(self._vectors, self._css, self._taken, self._taken / elapsed if elapsed > 0 else 0.0)
