"""A thread beside a query that writes down how far its source has come: see :mod:`tidings.cluster.backlog`."""

from __future__ import annotations

import logging
import threading
from collections import deque
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.sql.streaming import StreamingQuery

from tidings.arrays.pages import replace_json
from tidings.cluster.backlog import Backlog, amount

LOOK_EVERY_S = 0.2
_REMEMBERED = 256
_log = logging.getLogger(__name__)


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
