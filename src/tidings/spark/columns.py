"""Which columns of a DataFrame are the fields of a publication, and which of the others have to be read?"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it

from tidings.model import DataError
from tidings.spark.parquet import ParquetFiles, Pieces


@dataclass(frozen=True, slots=True)
class Columns:
    """The names that the fields of a publication have; a column of another name is an attribute.

    A field whose column is not there is absent; only ``id`` has to be.

    >>> Columns(id="tweet_id", text="body").named(["tweet_id", "body", "likes"])
    {'id': 'tweet_id', 'text': 'body', 'likes': 'likes'}
    """

    id: str = "id"
    text: str = "text"
    ts: str = "ts"
    lat: str = "lat"
    lon: str = "lon"
    topic: str = "topic"

    def __post_init__(self) -> None:
        names = [getattr(self, field.name) for field in fields(self)]
        if any(not isinstance(name, str) or not name for name in names) or len(set(names)) < len(names):
            raise DataError(f"each field has a column of its own, got {self}; name six different columns")

    def named(self, columns: Collection[str]) -> dict[str, str]:
        """Name in a publication → name in the DataFrame, fields first."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        if self.id not in columns:
            raise DataError(
                f"publications have a column {self.id!r}, got {', '.join(columns) or 'none'}; say which one is the id, "
                f"as in Columns(id={next(iter(columns), 'name')!r})"
            )
        found = {field: name for field, name in own.items() if name in columns}
        for name in columns:
            if name in own and name not in own.values():
                raise DataError(f"the column {name!r} would be read as the field of that name; rename or drop it")
        return found | {name: name for name in columns if name not in own.values()}

    def selected(self, publications: DataFrame | ParquetFiles, asked: Collection[str]) -> DataFrame | Pieces:
        """The fields, and the attributes that somebody asks about: whatever else there is stays where it is."""
        columns = publications.columns
        named = self.named(columns)
        names = dict.fromkeys([*(field.name for field in fields(self)), *sorted(asked)])
        wanted = {name: named[name] for name in names if name in named}
        if isinstance(publications, ParquetFiles):
            return publications.selected(wanted)
        if list(wanted) == columns and list(wanted.values()) == columns:
            return publications  # a selection costs a small batch ten milliseconds and more
        return publications.select([F.col(_quoted(column)).alias(name) for name, column in wanted.items()])


def _quoted(name: str) -> str:
    """A name that may have dots and backticks in it."""
    return f"`{name.replace('`', '``')}`"
