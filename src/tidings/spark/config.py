"""What does a ``pipeline.toml`` say? Where publications come from, who asks, and where matches go.

::

    registry = "alerts"            # a folder, see tidings subscribe; paths begin at the folder of this file
    checkpoint = "state"
    keep = "24h"                   # may be left out: how long posts are kept, for subscriptions that begin in the past

    [source]
    format = "files"               # path, files_per_batch, schema
    path = "posts"                 # or "kafka": servers, topic, schema, records_per_batch
                                   # or any other format that Spark streams; the rest are its options
    [sink]
    format = "parquet"             # path; "delta": path; "kafka": servers, topic; "console": shown
    path = "matches"

    [trigger]                      # may be left out
    every_s = 1.0                  # or available_now = true

    [index]                        # may be left out: layout, matchers, replicated_bytes

    [learn]                        # may be left out: when a mapping is learned where matchers share the index
    after_posts = 50_000           # every_s, imbalance, batches, split, keep_posts, and partitioner: "refined",
                                   # "salb", "hash", or by METIS "gc", "gfc", "gfcl", "gnfcl"; words and places:
                                   # "hybrid", "grid", "kd-tree", "r-tree", "frequency", "hypergraph", "metric"
    [placement]                    # may be left out: where a subscription lives that several matchers could have
    placer = "lasp"                # slope, intercept; or "random": seed; or "rarest"

    [balance]                      # may be left out: then nothing is moved from busy matchers to others
    uneven = 1.1                   # hits, pause, select ("gr", "dp", "si", "ra"), heaviest; scope: "local",
                                   # "padres", or "global" with check_s, better, few

    [overload]                     # may be left out: then posts wait, and nothing is lost
    delay_s = 5.0                  # policy, first_limit, delta, top, spared

    [fields]                       # may be left out: how attributes are compared; kept with a new registry
    title = "text"                 # or "folded", "exact"; "*" stands for all others

    [columns]                      # may be left out: id, text, ts, lat, lon, topic, expires
    id = "tweet_id"

    [spark]                        # may be left out: any setting of Spark
    "spark.master" = "local[4]"
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from pyspark.sql import DataFrame, SparkSession

from tidings.analysis import Analyser, Fields
from tidings.cluster.delta import DeltaSink
from tidings.cluster.following import Balance
from tidings.cluster.learning import Learn
from tidings.cluster.overload import Overload, admitted
from tidings.cluster.releases import Plan
from tidings.cluster.sinks import ParquetSink
from tidings.model import DataError
from tidings.model.values import read_span
from tidings.placement import PlacementPolicy
from tidings.registry import Registry
from tidings.spark.columns import Columns
from tidings.spark.kafka import KafkaPosts
from tidings.spark.pipeline import Pipeline, told_in_a_line
from tidings.spark.sinks import ConsoleSink, KafkaSink, Sink
from tidings.spark.sources import check_batch_size

_T = TypeVar("_T")
_CEILING = 2
"""A bound that stays as long as a query runs is so many times what was measured before."""

SETTINGS = {
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",  # the other one writes each file twice
}
"""What a session of ours has unless somebody says otherwise."""


def started(name: str, settings: Mapping[str, str]) -> SparkSession:
    """The session of this process, by that name; it is started if there is none."""
    builder = SparkSession.builder.appName(name)
    for key, value in (SETTINGS | dict(settings)).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


@dataclass(frozen=True, slots=True)
class Trigger:
    """When a batch begins: every so many seconds, or only for what there is now."""

    every_s: float = 0.0
    available_now: bool = False


@dataclass(frozen=True, slots=True)
class Config:
    """A pipeline as a file describes it."""

    registry: Path
    checkpoint: Path
    source: Mapping[str, Any]
    sink: Sink
    trigger: Trigger = field(default_factory=Trigger)
    plan: Plan = field(default_factory=Plan)
    columns: Columns = field(default_factory=Columns)
    spark: dict[str, str] = field(default_factory=dict)
    learn: Learn = field(default_factory=Learn)
    overload: Overload | None = None
    placement: PlacementPolicy = field(default_factory=PlacementPolicy)
    balance: Balance | None = None
    fields: Fields = field(default_factory=Fields)
    keep: timedelta | None = None

    @classmethod
    def read(cls, file: Path) -> Config:
        """The pipeline of a file; whatever is wrong with it is told."""
        try:
            found = tomllib.loads(file.read_text())
        except (OSError, ValueError) as error:
            raise DataError(f"cannot read {str(file)!r}: {error}") from None
        reader = _Reader(file)
        known = {
            "registry",
            "checkpoint",
            "keep",
            "source",
            "sink",
            "trigger",
            "index",
            "learn",
            "placement",
            "balance",
            "overload",
            "columns",
            "fields",
            "spark",
        }
        reader.check("the file", found, known, {"registry", "checkpoint", "source", "sink"})
        for name in known - {"registry", "checkpoint", "keep"}:
            if not isinstance(found.get(name, {}), dict):
                raise reader.error(f"{name} is a section: [{name}]")
        source = reader.source(found["source"])
        return cls(
            reader.path("registry", found["registry"]),
            reader.path("checkpoint", found["checkpoint"]),
            source,
            reader.sink(found["sink"]),
            reader.value("trigger", Trigger, found.get("trigger", {})),
            reader.value("index", Plan, found.get("index", {})),
            reader.value("columns", Columns, found.get("columns", {})),
            {name: str(value) for name, value in found.get("spark", {}).items()},
            reader.value("learn", Learn, found.get("learn", {})),
            reader.value("overload", Overload, found["overload"]) if "overload" in found else None,
            reader.value("placement", PlacementPolicy, found.get("placement", {})),
            reader.value("balance", Balance, found["balance"]) if "balance" in found else None,
            reader.fields(found.get("fields", {})),
            reader.span("keep", found["keep"]) if "keep" in found else None,
        )

    def session(self) -> SparkSession:
        """A session with the settings of the file."""
        from tidings.spark.jars import connector_jars  # noqa: PLC0415

        settings = {"spark.sql.shuffle.partitions": "8"} | self.spark
        is_kafka = isinstance(self.sink, KafkaSink) or self.source["format"] == "kafka"
        if is_kafka and not {"spark.jars", "spark.jars.packages"} & settings.keys() and (jars := connector_jars()):
            settings |= {"spark.jars": ",".join(str(jar) for jar in jars)}
        return started("tidings", settings)

    def pipeline(self, spark: SparkSession) -> Pipeline:
        return Pipeline(
            self._publications(spark),
            Registry(self.registry, Analyser(fields=self.fields)),
            self.sink,
            self.checkpoint,
            columns=self.columns,
            plan=self.plan,
            learn=self.learn,
            overload=self.overload or "block",
            placement=self.placement,
            balance=self.balance,
            keep=self.keep,
        )

    def _publications(self, spark: SparkSession) -> DataFrame | KafkaPosts:
        options = {name: value for name, value in self.source.items() if name != "format"}
        match self.source["format"]:
            case "files":
                from tidings.spark.sources import posts_from_files  # noqa: PLC0415

                return posts_from_files(spark, options.pop("path"), **options)
            case "kafka":
                if self.overload is not None:  # a spike is to become many batches, not a giant one
                    options.setdefault("records_per_batch", _CEILING * admitted(self.checkpoint))
                return KafkaPosts(spark, options.pop("servers"), options.pop("topic"), **options)
            case other:
                schema = options.pop("schema", None)
                problem = f"the source of format {other!r} cannot be read"
                with told_in_a_line(problem, "a format is files, kafka, or one that Spark knows"):
                    reader = spark.readStream.format(other).options(**options)
                    return (reader.schema(schema) if schema else reader).load()


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads sections, and says where something is wrong."""

    file: Path

    def error(self, problem: str) -> DataError:
        return DataError(f"{self.file}: {problem}")

    def check(self, where: str, found: Mapping[str, Any], known: set[str], needed: set[str] = frozenset()) -> None:  # type: ignore[assignment]
        for name in found.keys() - known:
            raise self.error(f"{where} has {name!r}, which is none of {', '.join(sorted(known))}")
        for name in sorted(needed - found.keys()):
            raise self.error(f"{where} lacks {name!r}")

    def path(self, name: str, found: object) -> Path:
        if not isinstance(found, str) or not found:
            raise self.error(f"{name} is the name of a folder, got {found!r}")
        return self.file.parent / found

    def span(self, name: str, found: object) -> timedelta:
        """A length of time: a number and s, m, h or d."""
        read = read_span(found) if isinstance(found, str) else None
        if not read:
            raise self.error(f'{name} is a length of time such as "90s", "30m", "24h" or "7d", got {found!r}')
        return read

    def value(self, where: str, kind: Callable[..., _T], found: Mapping[str, Any]) -> _T:
        """A value of a frozen class, whose fields are the keys."""
        names = {name: type(value) for name, value in _fields(kind())}
        self.check(f"[{where}]", found, set(names))
        for name, value in found.items():
            wanted = names[name]
            if type(value) is not wanted and not (wanted is float and type(value) is int):
                raise self.error(f"[{where}] {name} is expected to be a {wanted.__name__}, got {value!r}")
        return kind(**found)

    def fields(self, found: Mapping[str, Any]) -> Fields:
        try:
            return Fields.of(found)
        except DataError as error:
            raise self.error(f"[fields] {error}") from None

    def source(self, found: Mapping[str, Any]) -> dict[str, Any]:
        self.check("[source]", found, set(found), {"format"})
        known = {
            "files": ({"path", "files_per_batch", "schema"}, {"path"}),
            "kafka": ({"servers", "topic", "schema", "records_per_batch"}, {"servers", "topic"}),
        }
        if found["format"] in known:
            names, needed = known[found["format"]]
            self.check(f"[source] of format {found['format']!r}", found, names | {"format"}, needed)
        elif not isinstance(found["format"], str) or not found["format"]:
            raise self.error(f"[source] format is files, kafka or the name of a Spark source, got {found['format']!r}")
        for name in ("files_per_batch", "records_per_batch"):
            if name in found and found["format"] in known:
                check_batch_size(f"{self.file}: [source] {name}", found[name])
        return {name: self.path(name, value) if name == "path" else value for name, value in found.items()}

    def sink(self, found: Mapping[str, Any]) -> Sink:
        kinds: dict[str, tuple[Callable[..., Sink], set[str], set[str]]] = {
            "parquet": (ParquetSink, {"path"}, {"path"}),
            "delta": (DeltaSink, {"path"}, {"path"}),
            "kafka": (KafkaSink, {"servers", "topic"}, {"servers", "topic"}),
            "console": (ConsoleSink, {"shown"}, set()),
        }
        if found.get("format") not in kinds:
            raise self.error(f"[sink] format is one of {', '.join(kinds)}, got {found.get('format')!r}")
        kind, known, needed = kinds[found["format"]]
        self.check(f"[sink] of format {found['format']!r}", found, known | {"format"}, needed)
        options = {name: value for name, value in found.items() if name != "format"}
        return kind(**{name: self.path(name, value) if name == "path" else value for name, value in options.items()})


def _fields(value: object) -> list[tuple[str, object]]:
    return [(name, getattr(value, name)) for name in value.__dataclass_fields__]  # type: ignore[attr-defined]
