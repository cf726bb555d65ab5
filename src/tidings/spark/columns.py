"""Which columns of a DataFrame are the fields of a publication, which of the others are read, and which come out?"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    NullType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)

from tidings.analysis import ALL
from tidings.model import DataError
from tidings.model.publication import FIELDS
from tidings.spark.parquet import FilePieces, ParquetFiles, Work
from tidings.tables.matches import WITH_INSTANT
from tidings.tables.nesting import Leaf, Leaves, Shape, arrow_shape, leaves, warn_of

_PLAIN = (
    StringType,
    CharType,
    VarcharType,
    NumericType,
    BooleanType,
    DateType,
    TimestampType,
    TimestampNTZType,
    NullType,
)
MATCH_COLUMNS = tuple(WITH_INSTANT.names)


@dataclass(frozen=True, slots=True)
class Columns:
    """The names that the fields of a publication have; a column of another name is an attribute.

    A field may be in a struct, as in ``Columns(text="post.body")``. One whose column is not there is absent; only
    ``id`` has to be. Attributes may be in structs and lists too, by dotted names (:mod:`tidings.tables.nesting`).

    ``output``: the columns of a match that are made, all without; what nobody wants costs nothing if it is left out.
    ``expires``: the attribute that says when a publication ends, if there is one: after that it is nobody's past.

    >>> Columns(id="tweet_id", text="body", output=("publication_id", "subscription_id")).text
    'body'
    """

    id: str = "id"
    text: str = "text"
    ts: str = "ts"
    lat: str = "lat"
    lon: str = "lon"
    topic: str = "topic"
    output: tuple[str, ...] = MATCH_COLUMNS
    expires: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.output, str) or not self.output or not set(self.output) <= set(MATCH_COLUMNS):
            raise DataError(f"output names some of {', '.join(MATCH_COLUMNS)}, got {self.output!r}")
        object.__setattr__(self, "output", tuple(name for name in MATCH_COLUMNS if name in self.output))
        names = [getattr(self, name) for name in FIELDS]
        if any(not isinstance(name, str) or not name for name in names) or len(set(names)) < len(names):
            raise DataError(f"each field has a column of its own, got {self}; name six different columns")

    def check(self, publications: DataFrame | ParquetFiles) -> None:
        """Refuse publications that have no id; warn of columns that are no attributes, once, by name."""
        found, met = self._found(publications)
        if self.expires and (self.expires not in found or self.expires in FIELDS):
            raise DataError(f"publications have no attribute {self.expires!r} that could say when they end (expires)")
        warn_of(met.left_out, set())

    def attributes(self, publications: DataFrame | ParquetFiles) -> list[str]:
        """All attributes that publications have."""
        return [name for name in self._found(publications)[0] if name not in FIELDS]

    def id_of(self, publications: DataFrame) -> Column:
        """The column of the ids."""
        return _at(self._found(publications)[0]["id"].path)

    def selected(
        self, publications: DataFrame | ParquetFiles, asked: Collection[str]
    ) -> DataFrame | FilePieces | Aliased:
        """The fields, and the attributes that somebody asks about: whatever else there is stays where it is."""
        found, _ = self._found(publications)
        names = dict.fromkeys([*FIELDS, *sorted(found if ALL in asked else asked)])
        wanted = {name: found[name].path for name in names if name in found}
        if isinstance(publications, ParquetFiles):
            return publications.selected(wanted)
        is_plain = all(path == (name,) and name.isidentifier() and name.isascii() for name, path in wanted.items())
        if is_plain and list(wanted) == publications.columns:
            return publications  # a selection costs a small batch ten milliseconds and more
        reached = _reached(publications.schema, wanted)
        aliases = [_at(path).alias(f"c{number}") for number, path in enumerate(reached.values())]
        return Aliased(publications.select(aliases), tuple(reached))

    def _found(self, publications: DataFrame | ParquetFiles) -> tuple[dict[str, Leaf], Leaves]:
        """Where the fields and the attributes are, by their names in a publication, and all that was met."""
        columns: list[tuple[str, Any]]
        if isinstance(publications, ParquetFiles):
            columns = [(field.name, field.type) for field in publications.schema]
            met = leaves(_distinct(columns), arrow_shape)
        else:
            columns = [(field.name, field.dataType) for field in publications.schema.fields]
            met = leaves(_distinct(columns), spark_shape)
        top = [name for name, _ in columns]
        own = {name: getattr(self, name) for name in FIELDS}
        for name in top:
            if name in own and name not in own.values():
                raise DataError(f"the column {name!r} would be read as the field of that name; rename or drop it")
        found = {field: Leaf((name,)) for field, name in own.items() if name in top}
        found |= {field: met.found[name] for field, name in own.items() if name not in top and name in met.found}
        if "id" not in found:
            raise DataError(
                f"publications have a column {self.id!r}, got {', '.join(top) or 'none'}; say which one is the id, "
                f"as in Columns(id={next(iter(top), 'name')!r})"
            )
        used = set(own.values())
        left_out = {name: reason for name, reason in met.left_out.items() if name not in used}
        return found | {name: leaf for name, leaf in met.found.items() if name not in used}, Leaves(found, left_out)


@dataclass(frozen=True, slots=True)
class Aliased:
    """A DataFrame whose columns have plain names, and the names that workers give them.

    ``mapInArrow`` looks its columns up by name, and takes a dot for a step into a struct.
    """

    frame: DataFrame
    names: tuple[str, ...]

    def mapInArrow(self, work: Work, schema: str | StructType) -> DataFrame:  # noqa: N802  # as a DataFrame calls it
        return self.frame.mapInArrow(Renamed(work, self.names), schema)


@dataclass(frozen=True, slots=True)
class Renamed:
    """Does some work with rows whose columns get these names."""

    work: Work
    names: tuple[str, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.work(batch.rename_columns(list(self.names)) for batch in batches)


def spark_shape(kind: DataType) -> Shape:
    """What a type of Spark is made of, for :func:`tidings.tables.nesting.leaves`."""
    if isinstance(kind, StructType):
        return tuple((field.name, field.dataType) for field in kind.fields)
    if isinstance(kind, ArrayType):
        return [kind.elementType]
    return None if isinstance(kind, _PLAIN) else kind.simpleString()


def _distinct(columns: Sequence[tuple[str, Any]]) -> Sequence[tuple[str, Any]]:
    names = [name for name, _ in columns]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"publications have two columns named {twice!r}; rename one")
    return columns


def _reached(schema: StructType, wanted: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """The same as far as Spark goes into nested columns: into structs and lists of them, not into lists of lists.

    What is selected instead has the name of its own path, and workers take it apart.
    """
    found: dict[str, tuple[str, ...]] = {}
    for name, path in wanted.items():
        kind: DataType = schema[path[0]].dataType
        steps = 1
        for step in path[1:]:
            of = kind.elementType if isinstance(kind, ArrayType) else kind
            if not isinstance(of, StructType):
                break
            inner = of[step].dataType
            kind = ArrayType(inner) if isinstance(kind, ArrayType) else inner
            steps += 1
        found[name if steps == len(path) else ".".join(path[:steps])] = path[:steps]
    return found


def _at(path: tuple[str, ...]) -> Column:
    """A column, or a field in it; names may have dots and backticks in them."""
    return cast("Column", F.col(".".join(f"`{step.replace('`', '``')}`" for step in path)))
