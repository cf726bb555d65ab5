"""Does a mapping grow old? Learned from the posts of the first weeks, measured with those of all later ones.

Implements [S3TM] 6.4, Fig. 22-25: subscriptions are made anew from the posts of each period. Departs from the paper: a
period has ten weeks, as ours have fewer posts; tweet-based subscriptions too; and SALB that learns anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.names import Model
from benchmarks.s3tm.corpus import Asking, Corpus
from benchmarks.s3tm.scaling import AT
from benchmarks.s3tm.trials import CONTENDERS, METHODS, Plan, Row, beside_salb, columns, figures
from tidings.arrays import IntArray
from tidings.partitioning.learning import Salb, measure

PERIOD_WEEKS = 10
RELEARNED = "SALB relearned"
_SUBSCRIPTIONS = 20_000
_TOPIC_POSTS = 3_000


def by_weeks(asking: Asking, plan: Plan) -> dict[str, Any]:
    """Means and standard deviations over the weeks of each period; ``relearned`` knows the period before."""
    corpus, rows = asking.corpus, []
    week = _weeks(corpus)
    count = min(plan.subscriptions, _SUBSCRIPTIONS)
    periods = range((int(week.max()) + 1) // PERIOD_WEEKS)
    for model in Model:
        mappings = {}
        for period in periods:
            own = np.flatnonzero(week // PERIOD_WEEKS == period)
            incidence = Asking(corpus.part(own), plan.seed, _TOPIC_POSTS).incidence(model, count)
            if period == 0:
                mappings = {method: METHODS[method]().partition(incidence, AT) for method in CONTENDERS}
                mappings[RELEARNED] = mappings["SALB"]
            for method, mapping in mappings.items():
                each = (incidence.taken(np.flatnonzero(week[own] == one)) for one in np.unique(week[own]))
                labels: Row = {"model": model.value, "partitioner": method, "weeks": period * PERIOD_WEEKS}
                rows.append(labels | figures([measure(mapping, part) for part in each], AT))
            mappings[RELEARNED] = Salb().partition(incidence, AT)
            plan.advance(1)
    shared = {"posts": len(corpus), "weeks_a_period": PERIOD_WEEKS, "subscriptions": count, "matchers": AT}
    return shared | columns(beside_salb(rows, "model", "weeks"))


def _weeks(corpus: Corpus) -> IntArray:
    """How many weeks after the first post each of them came."""
    seconds = corpus.table["ts"].cast(pa.int64()).to_numpy() // 1_000_000
    weeks: IntArray = (seconds - seconds.min()) // (7 * 86_400)
    return weeks
