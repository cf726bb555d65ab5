"""How long has the oldest post waited that is not matched yet? As long as its offset has been there at the source.

Spark tells, of each batch, how far the source had come when the batch was planned. A thread beside the query
(:mod:`tidings.spark.watching`) writes that down, so that whoever runs the next batch, in whatever process, can look up
when the offset at which it begins was first seen. That is a delay, not a count of posts: it needs no measured
throughput, which small batches would make too low.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Backlog:
    """What is known of a source: after the batch ``batch`` it is read up to ``end``, and at the time ``seen[i][0]``, in
    seconds, it had ``seen[i][1]``, both rising.

    >>> backlog = Backlog(7, 400, ((100.0, 300), (101.0, 500), (102.0, 900)))
    >>> backlog.age_s(400, now_s=103.0), backlog.age_s(500, now_s=103.0), backlog.age_s(1100, now_s=103.0)
    (2.5, 2.0, 0.5)
    """

    batch: int
    end: float
    seen: tuple[tuple[float, float], ...]

    @classmethod
    def read(cls, file: Path) -> Backlog | None:
        """That of a file; None if there is none, or no such one."""
        try:
            found = json.loads(file.read_text())
            return cls(found["batch"], found["end"], tuple((at, latest) for at, latest in found["seen"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    @property
    def latest(self) -> float:
        """How far the source had come when it was last seen."""
        return self.seen[-1][1]

    def age_s(self, begin: float, now_s: float) -> float:
        """How long ago the source first had more than ``begin``; beyond what was seen, at the last pace."""
        at, latest = np.array(self.seen).T
        after = int(np.searchsorted(latest, begin, side="right"))
        if after == 0:
            return now_s - float(at[0])
        if after == len(at):
            if after == 1 or latest[-1] <= latest[-2]:
                return now_s - float(at[-1])
            after -= 1
        pace = (at[after] - at[after - 1]) / (latest[after] - latest[after - 1])
        return max(0.0, now_s - float(at[after - 1] + pace * (begin - latest[after - 1])))


def planned_end(checkpoint: Path, batch: int) -> float | None:
    """Up to where the source is read by a batch that Spark has planned, by Spark's own checkpoint; None if not told."""
    try:
        lines = (checkpoint / "offsets" / str(batch)).read_text().splitlines()
    except OSError:
        return None
    ends = [amount(line) for line in lines[2:]]  # after the version and the metadata
    known = [end for end in ends if end is not None]
    return sum(known) if known and len(known) == len(ends) else None


def amount(offset: str | None) -> float | None:
    """All numbers of an offset of a source, as JSON, summed up; None if there is no offset.

    >>> amount('{"posts": {"0": 40, "1": 7}}'), amount("null")
    (47.0, None)
    """
    try:
        found = json.loads(offset) if offset else None
    except ValueError:
        return None
    return None if found is None else _total(found)


def _total(offset: Any) -> float:
    if isinstance(offset, dict):
        return sum(map(_total, offset.values()), 0.0)
    return float(offset) if isinstance(offset, int | float) else 0.0
