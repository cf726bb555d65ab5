"""As much of a DataFrame as a batch needs whose matches go to files: without a session, all runs in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType


@dataclass(frozen=True)
class Local:
    """``rows`` gives the batches; the columns are fields of publications, in their order."""

    rows: Callable[[], Iterable[pa.RecordBatch]]
    schema: StructType = field(default_factory=StructType)
    isStreaming = True  # noqa: N815  # as a DataFrame calls it

    @classmethod
    def of(cls, table: pa.Table, before: Callable[[], object] = lambda: None) -> Local:
        """The rows of a table; ``before`` is called when a task has read the first of them."""

        def rows() -> Iterator[pa.RecordBatch]:
            for number, batch in enumerate(table.to_batches(max_chunksize=5)):
                if number == 1:
                    before()
                yield batch

        return cls(rows, from_arrow_schema(table.schema))

    @property
    def columns(self) -> list[str]:
        return list(self.schema.names)

    @property
    def sparkSession(self) -> Any:  # noqa: N802
        return SimpleNamespace(conf=SimpleNamespace(get=lambda _, default: default), range=numbered)

    def __getitem__(self, name: str) -> str:
        return name

    def repartition(self, _: object) -> Local:
        return self

    def repartitionById(self, *_: object) -> Local:  # noqa: N802
        return self

    def mapInArrow(self, work: Callable[[Any], Iterable[pa.RecordBatch]], _: object) -> Local:  # noqa: N802
        return Local(lambda: list(work(iter(self.rows()))))

    def union(self, other: Local) -> Local:
        return Local(lambda: [*self.rows(), *other.rows()])

    def collect(self) -> list[tuple[Any, ...]]:
        return [row for batch in self.rows() for row in zip(*(column.to_pylist() for column in batch), strict=True)]


def numbered(start: int, end: int, step: int, tasks: int) -> Local:
    """Numbers, as a session gives them."""
    assert 0 < tasks <= end - start
    return Local.of(pa.table({"id": pa.array(range(start, end, step), pa.int64())}))
