"""When does a pipeline learn of itself? When its rule says so, in the background, while batches go on."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable
from datetime import datetime

from tidings.cluster.journal import MatcherReport
from tidings.cluster.learning import FEWEST_POSTS, HELD_OUT, MappingLearner
from tidings.cluster.seen import Seen
from tidings.model.values import utc_now

_BETTER = 1.01
_REST = 10
_log = logging.getLogger(__name__)


class BackgroundLearner:
    """Looks at a pipeline after each batch, and learns one mapping at a time; it rests for ten times as long as that
    took. What it has learned it puts into the folder of mappings, if it is better than what is there."""

    def __init__(self, mapping_learner: MappingLearner) -> None:
        self._mapping_learner = mapping_learner
        self._began = utc_now()
        self._thread: threading.Thread | None = None
        self._rests_until = 0.0

    def look(self, batch: int) -> None:
        """After a batch: begin to learn if the rule says so."""
        is_busy = self._thread is not None and self._thread.is_alive()
        if is_busy or time.monotonic() < self._rests_until:
            return
        reason = self.reason(batch)
        if reason:
            _log.info("a mapping is learned: %s", reason)
            self._thread = threading.Thread(target=self._learn, name="tidings learns", daemon=True)
            self._thread.start()

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait until what is being learned is there, or so many seconds."""
        if self._thread is not None:
            self._thread.join(timeout_s)

    def reason(self, batch: int) -> str:
        """Why a mapping should be learned now; empty if it should not."""
        home, rule = self._mapping_learner.home, self._mapping_learner.rule
        if not (rule.after_posts or rule.every_s or rule.imbalance):
            return ""
        rows, pin = Seen(home.seen).rows, home.journal.pin(batch)
        if pin is None or rows < FEWEST_POSTS * HELD_OUT / (HELD_OUT - 1):
            return ""
        page = home.mappings.page(pin.mapping)
        if home.mappings.newest(pin.matchers if page is None else page.planned) != pin.mapping:
            return ""  # another one is waiting for its first batch
        is_hashed = home.mappings.page(home.mappings.parcels(pin.mapping)) is None
        if rule.after_posts and is_hashed and rows >= rule.after_posts:
            return f"{rows:,} posts are kept, and terms are still hashed"
        since = self._began if page is None else datetime.fromisoformat(page.at)
        since = max(since, home.mappings.tried or since)
        if rule.every_s and (utc_now() - since).total_seconds() >= rule.every_s:
            return f"the last one is of {since:%Y-%m-%d %H:%M:%S}"
        if rule.imbalance and self._is_uneven(batch, pin.mapping):
            return f"in {rule.batches} batches the imbalance was above {rule.imbalance:g}"
        return ""

    def _is_uneven(self, batch: int, mapping: str) -> bool:
        journal, rule = self._mapping_learner.home.journal, self._mapping_learner.rule
        for number in range(batch, batch - rule.batches, -1):
            pin, report = journal.pin(number), journal.report(number)
            if pin is None or report is None or pin.mapping != mapping:
                return False
            if imbalance(report.loads, pin.matchers) <= rule.imbalance:
                return False
        return True

    def _learn(self) -> None:
        began = time.monotonic()
        try:
            mapping, page = self._mapping_learner.learn()
            self._mapping_learner.home.mappings.note_try(page.at)
            is_better = page.after.throughput > _BETTER * page.before.throughput
            if is_better:
                page = self._mapping_learner.home.mappings.put(mapping, page)
            _log.info("%s: %s", page.name if is_better else "no better than before", page)
        except Exception:  # whatever it is, batches go on
            _log.exception("no mapping was learned")
        self._rests_until = time.monotonic() + _REST * (time.monotonic() - began)


def imbalance(loads: Iterable[MatcherReport], matchers: int) -> float:
    """The largest load of a batch, in posts, where the mean of all matchers is 1; [S3TM] Eq. 4.

    >>> imbalance([MatcherReport(0, 30, 0, 0, 0.0), MatcherReport(3, 10, 0, 0, 0.0)], matchers=4)
    3.0
    """
    posts = [load.posts for load in loads]
    return matchers * max(posts) / sum(posts) if any(posts) else 1.0
