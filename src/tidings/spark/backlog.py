"""How long has the oldest post waited that is not matched yet? As long as its offset has been there at the source.

Spark tells, of each batch, how far the source had come when the batch was planned. A thread beside the query writes
that down, so that whoever runs the next batch, in whatever process, can look up when the offset at which it begins was
first seen. That is a delay, not a count of posts: it needs no measured throughput, which small batches would make too
low.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import deque
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql.streaming import StreamingQuery

from tidings.index.store import replace_json
from tidings.spark.progress import amount

LOOK_EVERY_S = 0.2
_REMEMBERED = 256
_log = logging.getLogger(__name__)


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


class Watch(threading.Thread):
    """Writes the backlog of a query to ``file`` until it is stopped. Cost: about a millisecond every 200."""

    def __init__(self, query: StreamingQuery, file: Path) -> None:
        super().__init__(name="tidings watches", daemon=True)
        self._query, self._file = query, file
        self._seen: deque[tuple[float, float]] = deque(maxlen=_REMEMBERED)
        self._done: tuple[int, float] | None = None
        self._last = ""
        self._enough = threading.Event()

    def stop(self) -> None:
        self._enough.set()
        self.join()

    def run(self) -> None:
        is_told = False
        while not self._enough.wait(LOOK_EVERY_S):
            try:
                told = self._query.lastProgress
                if told is not None and told.timestamp != self._last:
                    self._last = told.timestamp
                    self._note(told)
                elif not self._query.isActive:
                    return
            except Exception:  # whatever it is, batches go on
                if not is_told and not self._enough.is_set():
                    _log.exception("it is not seen how much waits at the source")
                is_told = True

    def _note(self, told: Any) -> None:
        begin, end, latest = (_total(told.sources, name) for name in ("startOffset", "endOffset", "latestOffset"))
        if end is None or latest is None:
            return
        if begin is not None and told.numInputRows > 2 * (end - begin):
            return  # offsets that do not count posts, such as those of files
        if not self._seen or latest >= self._seen[-1][1]:
            self._seen.append((datetime.fromisoformat(told.timestamp).timestamp(), latest))
        if told.numInputRows:
            self._done = told.batchId, end
        if self._done is not None:
            replace_json(self._file, asdict(Backlog(*self._done, tuple(self._seen))))


def _total(sources: Any, name: str) -> float | None:
    """The offsets of all sources, summed up; None if one of them is not told."""
    amounts = [amount(getattr(source, name)) for source in sources]
    known = [value for value in amounts if value is not None]
    return sum(known) if len(known) == len(amounts) else None
