"""The oracle: every query against every publication, by the reference evaluation."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from tidings.index.matcher import Clock, Counters, Matches
from tidings.language import Content, evaluate_content
from tidings.model import Rejected, Subscription
from tidings.model.values import utc_now
from tidings.tables.rows import publications
from tidings.terms import ENGLISH, Analyser


class BruteForce:
    """Slow and right by definition. A publication without an instant counts as one of now, by ``clock``."""

    def __init__(self, analyser: Analyser = ENGLISH, clock: Clock = utc_now) -> None:
        self._analyser = analyser
        self._clock = clock
        self._subscriptions: dict[str, Subscription] = {}

    def add(self, subscriptions: Iterable[Subscription]) -> None:
        for subscription in subscriptions:
            self._subscriptions[subscription.id] = subscription

    def remove(self, ids: Iterable[str]) -> None:
        for name in ids:
            self._subscriptions.pop(name, None)

    def match(self, table: pa.Table) -> Matches:
        rows, ids = [], []
        for row, publication in enumerate(publications(table)):
            if isinstance(publication, Rejected):
                continue
            content = Content.of(publication, self._analyser)
            at = publication.ts or self._clock()
            for subscription in self._subscriptions.values():
                if subscription.valid_at(at) and evaluate_content(subscription.query, content, self._analyser):
                    rows.append(row)
                    ids.append(subscription.id)
        count = table.num_rows * len(self._subscriptions)
        return Matches(np.array(rows, dtype=np.int64), ids, Counters(count, count, len(ids)))
