"""Is it worth to divide everything anew, and when is the older division to be given up?

Implements the two decisions of [PS2] V-B, the global load adjustment. The paper gives no numbers for them.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidings.model import DataError
from tidings.partitioning.load import FloatArray


@dataclass(frozen=True, slots=True)
class Global:
    """A new mapping is clearly better if the largest load with the mapping in use is ``better`` times that with the new
    one. Few are left of the older mapping if they are at most a share ``few`` of all subscriptions.

    >>> import numpy as np
    >>> policy = Global(better=1.2)
    >>> policy.is_better(np.array([9.0, 13]), np.full(2, 10.0)), policy.is_better(np.full(2, 11.0), np.full(2, 10.0))
    (True, False)
    >>> policy.is_few(10, of=100), policy.is_few(11, of=100)
    (True, False)
    """

    better: float = 1.1
    few: float = 0.1

    def __post_init__(self) -> None:
        if not (self.better >= 1 and 0 <= self.few <= 1):
            raise DataError(f"better is 1 or more and few a share of all, got {self}; choose others")

    def is_better(self, before: FloatArray, after: FloatArray) -> bool:
        """By the loads of all matchers with the mapping in use, and with another one."""
        return bool(before.max(initial=0.0) > self.better * after.max(initial=0.0))

    def is_few(self, left: int, *, of: int) -> bool:
        """Whether so many that are left are few of all."""
        return left <= self.few * of
