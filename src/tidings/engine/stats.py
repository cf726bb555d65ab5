"""What does an engine hold, and how much has it done?"""

from __future__ import annotations

import threading
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stats:
    """What an engine holds and has done: ``version`` is that of the registry, ``size_bytes`` without ids and texts."""

    version: int
    subscriptions: int
    segments: int
    size_bytes: int
    publications: int
    matches: int


class PublishCounts:
    """PublishCounts publications and matches. Each thread counts for itself, so that none waits."""

    def __init__(self) -> None:
        self._counts: dict[int, list[int]] = {}

    def count(self, publications: int, matches: int) -> None:
        own = self._counts.setdefault(threading.get_ident(), [0, 0])
        own[0] += publications
        own[1] += matches

    def totals(self) -> tuple[int, int]:
        """All publications, and all matches."""
        counts = list(self._counts.values())
        return sum(published for published, _ in counts), sum(matched for _, matched in counts)
