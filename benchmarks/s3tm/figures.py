"""Which function makes which figure?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.names import S3tmFigure
from benchmarks.s3tm import on_spark, placing, scaling, weeks
from benchmarks.s3tm.corpus import Asking
from benchmarks.s3tm.trials import Plan

FIGURES: dict[S3tmFigure, Callable[[Asking, Plan], dict[str, Any]]] = {
    S3tmFigure.words: scaling.words,
    S3tmFigure.matchers: scaling.by_matchers,
    S3tmFigure.subscriptions: scaling.by_subscriptions,
    S3tmFigure.weeks: weeks.by_weeks,
    S3tmFigure.learning: scaling.by_learning,
    S3tmFigure.cost: placing.by_words,
    S3tmFigure.placement: placing.by_placement,
    S3tmFigure.headline: scaling.headline,
    S3tmFigure.readings: scaling.readings,
    S3tmFigure.spark: on_spark.by_spark,
}
