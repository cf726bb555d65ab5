"""When is it worth while to make one segment of an index?"""

from __future__ import annotations

from dataclasses import dataclass

from tidings.model import DataError


@dataclass(frozen=True, slots=True)
class Compaction:
    """Says whether an index should be compacted now. An engine and the driver of a pipeline ask the same policy.

    An index is two levels: one large segment, and small ones with what came later. Each publication looks into all of
    them, and removed subscriptions stay as tombstones until the index is compacted.

    - ``max_segments`` = 8: each segment costs a publication some fixed time, so there may not be many. Merging
      them sooner would write each entry more often, so there may be some.
    - ``max_burden`` = 0.3: the *burden* is the part of all entries that compacting would move or drop: those outside
      the largest segment, and tombstones. Compacting at three tenths writes each entry about three times over the life
      of an index; waiting longer would make most publications look at what is dead.
    - ``small`` = 65,536: the burden of a smaller index does not count. It is searched in no time as it is, and a few
      changes would be a large part of it.

    >>> Compaction().is_due(segments=3, size=1_000_000, burden=0.31)
    True
    >>> Compaction().is_due(segments=3, size=1_000, burden=0.9)
    False
    """

    max_segments: int = 8
    max_burden: float = 0.3
    small: int = 1 << 16

    def __post_init__(self) -> None:
        for name in ("max_segments", "max_burden", "small"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
                raise DataError(f"a compaction's {name} is a number of 0 or more, got {value!r}")

    def is_due(self, segments: int, size: int, burden: float) -> bool:
        """Whether an index of so many segments and subscriptions, with that burden, should be compacted."""
        return segments > self.max_segments or (size > self.small and burden > self.max_burden)


COMPACTION = Compaction()
"""The policy unless somebody says otherwise."""
