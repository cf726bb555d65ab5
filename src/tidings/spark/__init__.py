"""How do publications in a Spark DataFrame meet standing queries? DataFrame in, DataFrame out, batch and stream alike.

Nothing here touches the JVM by hand, so all of it works over Spark Connect. What runs in Spark's Python workers is
pickled by reference: tidings has to be importable there, as an installed package, by ``--archives`` or ``--py-files``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidings.cluster.delta import DeltaSink
    from tidings.cluster.learning import Learn
    from tidings.cluster.overload import Overload, admitted
    from tidings.cluster.releases import Plan, Release, Releases
    from tidings.cluster.sinks import ParquetSink
    from tidings.spark.changes import ApplyChanges
    from tidings.spark.columns import Columns
    from tidings.spark.counting import count_terms
    from tidings.spark.generator import register
    from tidings.spark.kafka import KafkaPosts, changes_from_kafka, posts_from_kafka
    from tidings.spark.matching import match
    from tidings.spark.parquet import ParquetFiles
    from tidings.spark.pipeline import Pipeline, Running
    from tidings.spark.progress import Progress
    from tidings.spark.sinks import CallableSink, ConsoleSink, KafkaSink, MemorySink, Sink
    from tidings.spark.sources import posts_from_files
    from tidings.spark.writing import Written, write_matches

__all__ = [
    "ApplyChanges",
    "CallableSink",
    "Columns",
    "ConsoleSink",
    "DeltaSink",
    "KafkaPosts",
    "KafkaSink",
    "Learn",
    "MemorySink",
    "Overload",
    "ParquetFiles",
    "ParquetSink",
    "Pipeline",
    "Plan",
    "Progress",
    "Release",
    "Releases",
    "Running",
    "Sink",
    "Written",
    "admitted",
    "changes_from_kafka",
    "count_terms",
    "match",
    "posts_from_files",
    "posts_from_kafka",
    "register",
    "write_matches",
]

_MODULES = {
    "ApplyChanges": "tidings.spark.changes",
    "CallableSink": "tidings.spark.sinks",
    "Columns": "tidings.spark.columns",
    "ConsoleSink": "tidings.spark.sinks",
    "DeltaSink": "tidings.cluster.delta",
    "KafkaPosts": "tidings.spark.kafka",
    "KafkaSink": "tidings.spark.sinks",
    "Learn": "tidings.cluster.learning",
    "MemorySink": "tidings.spark.sinks",
    "Overload": "tidings.cluster.overload",
    "ParquetFiles": "tidings.spark.parquet",
    "ParquetSink": "tidings.cluster.sinks",
    "Pipeline": "tidings.spark.pipeline",
    "Plan": "tidings.cluster.releases",
    "Progress": "tidings.spark.progress",
    "Release": "tidings.cluster.releases",
    "Releases": "tidings.cluster.releases",
    "Running": "tidings.spark.pipeline",
    "Sink": "tidings.spark.sinks",
    "Written": "tidings.spark.writing",
    "admitted": "tidings.cluster.overload",
    "changes_from_kafka": "tidings.spark.kafka",
    "count_terms": "tidings.spark.counting",
    "match": "tidings.spark.matching",
    "posts_from_files": "tidings.spark.sources",
    "posts_from_kafka": "tidings.spark.kafka",
    "register": "tidings.spark.generator",
    "write_matches": "tidings.spark.writing",
}


def __getattr__(name: str) -> Any:
    """Each name is loaded when it is first asked for: workers need few of them."""
    if name in _MODULES:
        from importlib import import_module  # noqa: PLC0415

        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
