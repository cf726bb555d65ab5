"""How long will a batch take? As long as the batches before it took for what they had to do.

The time of a batch is taken as a sum: a fixed time, and some for each post that is read, each that is looked at, each
copy that is matched and each match. The five costs are fitted to the reports of the last batches. Batches are often
alike, so most of the time the reports cannot tell the five apart. So the fit starts from costs that were measured
once, scaled to the speed of this machine, and leaves them only as far as the reports demand (ridge regression). A batch
that took much longer than the others, because something else was at work, counts little (Huber's weights).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from tidings.shedding.coins import FloatArray

REMEMBERED = 32
"""So many batches are fitted."""

FEWEST = 3
"""Before so many batches were measured, nothing is known."""

_USUAL = np.array([0.55, 9e-6, 14e-6, 3e-6, 0.5e-6])
"""Seconds: of a batch, a post read, a post looked at, a copy, a match, as measured on two cores of 2.8 GHz."""

_NEWER = 0.9
"""What a batch counts where the one after it counts 1."""

_RIDGE = 0.03
"""How much the usual costs count: as much as that part of one batch."""

_TINY_S = 1e-9
_LEAST = 0.05
"""A cost is at least that part of the usual one."""

_FAR, _ROUNDS = 0.15, 4
"""A batch whose time differs by more than this part from what is expected counts less."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a batch has to do: posts that come in, those of them that are looked at, copies that are matched, matches.

    A *copy* is a post as it is sent to one matcher.
    """

    posts: float
    looked_at: float
    copies: float
    matches: float

    def mixed(self, other: Work, share: float) -> Work:
        """A share of the other, and of this the rest."""
        mine, theirs = _row(self), _row(other)
        return Work(*((1 - share) * a + share * b for a, b in zip(mine[1:], theirs[1:], strict=True)))


@dataclass(frozen=True, slots=True)
class Timed:
    """A batch that is over: what it had to do, and the seconds that it took."""

    work: Work
    seconds: float


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds: of each batch, and for each unit of its work.

    >>> Costs(0.5, 1e-4, 0.0, 1e-5, 0.0).seconds(Work(posts=1000, looked_at=1000, copies=9000, matches=0))
    0.69
    """

    fixed: float
    post: float
    looked_at: float
    copy: float
    match: float

    @classmethod
    def fit(cls, batches: Sequence[Timed]) -> Costs | None:
        """The costs that explain the batches, the newest last; None if there are too few."""
        known = [batch for batch in batches[-REMEMBERED:] if batch.seconds > 0]
        if len(known) < FEWEST:
            return None
        seconds = np.array([batch.seconds for batch in known])
        age = np.arange(len(known), dtype=np.float64)[::-1]
        found = _fitted(np.array([_row(batch.work) for batch in known]), seconds, np.power(_NEWER, age))
        return cls(*(float(cost) for cost in found))

    def seconds(self, work: Work) -> float:
        """How long a batch with that work takes."""
        return float(np.dot([getattr(self, field.name) for field in fields(self)], _row(work)))


def _row(work: Work) -> list[float]:
    return [1.0, work.posts, work.looked_at, work.copies, work.matches]


def _fitted(rows: FloatArray, seconds: FloatArray, weights: FloatArray) -> FloatArray:
    """The costs, float64[5]; all errors are relative, so that small batches count as much as large ones."""
    usual = _scaled(rows, seconds)
    shares = rows * usual / seconds[:, None]
    factors, trust = np.ones(len(usual)), np.ones(len(seconds))
    for _ in range(_ROUNDS):
        factors = _ridge(shares, weights * trust)
        errors = np.abs(shares @ factors - 1.0)
        trust = np.minimum(1.0, _FAR / np.maximum(errors, _FAR))
    return usual * factors


def _scaled(rows: FloatArray, seconds: FloatArray) -> FloatArray:
    """The usual costs at the speed of this machine, which the larger batches tell; but for the fixed time."""
    fixed_s = min(float(_USUAL[0]), float(seconds.min()) / 2)
    units_s = rows[:, 1:] @ _USUAL[1:]
    is_large = units_s >= np.median(units_s)
    speed = float(np.median((seconds - fixed_s)[is_large] / np.maximum(units_s[is_large], _TINY_S)))
    return np.concatenate([[fixed_s], _USUAL[1:] * max(speed, _TINY_S)])


def _ridge(shares: FloatArray, weights: FloatArray) -> FloatArray:
    """By how much each usual cost is multiplied; none falls below _LEAST."""
    free = np.ones(shares.shape[1], dtype=np.bool_)
    factors = np.full(shares.shape[1], _LEAST)
    while free.any():
        left = 1.0 - shares @ np.where(free, 1.0, factors)
        some = shares[:, free] * weights[:, None]
        factors[free] = 1.0 + np.linalg.solve(some.T @ shares[:, free] + _RIDGE * np.eye(free.sum()), some.T @ left)
        if not (factors[free] < _LEAST).any():
            break
        factors, free = np.maximum(factors, _LEAST), free & (factors >= _LEAST)
    return factors
