"""How do the matches of a batch become one commit of a Delta table, without a Delta jar?

The workers write files of Parquet into the folder of the table, where nobody reads what no commit names; then the
driver commits their names. So the matches never pass through the driver, however many they are. The commit carries
(pipeline, batch) as its application transaction, by which whoever runs the batch again finds it done.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.exceptions import DeltaError, TableNotFoundError
from deltalake.transaction import AddAction

from tidings.cluster.sinks import NEW_PLACE, Batch, check_columns, check_path
from tidings.model import DataError

_ASIDE = re.compile(r".+-\d+-[0-9a-f]{32}")
_UNKEPT = re.compile(r"delta\.(constraints\..*|columnMapping\.mode)")


@dataclass(frozen=True, slots=True)
class DeltaSink:
    """Appends to the Delta table in the folder ``path``, which driver and executors see; made if it is not there.

    A table that is there has exactly the columns of matches, in any order, and neither partitions nor constraints.
    """

    path: str | Path

    def __post_init__(self) -> None:
        check_path("the folder of a sink", self.path)

    def check(self) -> None:
        """Refuse a table of something else, and a folder that holds other files."""
        path = Path(self.path)
        if path.exists() and not path.is_dir():
            raise DataError(f"{str(path)!r} is a file, and a Delta table is a folder; name a new or an empty one")
        try:
            table = DeltaTable(path)
        except TableNotFoundError:
            names = sorted(entry.name for entry in path.iterdir()) if path.exists() else []
            if other := [name for name in names if not name.startswith(("_", ".")) and not _ASIDE.fullmatch(name)]:
                raise DataError(f"{str(path)!r} is no Delta table and holds {other[0]!r}; {NEW_PLACE}") from None
            return
        except (DeltaError, OSError) as error:
            raise DataError(
                f"the Delta table {str(path)!r} cannot be read: {_first_line(error)}; {NEW_PLACE}"
            ) from None
        found, metadata = pa.schema(table.schema().to_arrow()), table.metadata()
        check_columns(path, found)
        if metadata.partition_columns:
            by = ", ".join(metadata.partition_columns)
            raise DataError(f"the Delta table {str(path)!r} is partitioned by {by}, as matches are not; {NEW_PLACE}")
        rules = [name for name in metadata.configuration if _UNKEPT.fullmatch(name)]
        rules += [f"{field.name} NOT NULL" for field in found if not field.nullable]
        if rules:
            raise DataError(f"the Delta table {str(path)!r} has the rule {rules[0]}, not kept here; {NEW_PLACE}")

    def has(self, batch: Batch) -> bool:
        try:
            done = DeltaTable(self.path).transaction_version(batch.pipeline)
        except TableNotFoundError:
            return False
        return done is not None and done >= batch.number

    def aside(self, batch: Batch) -> Path:
        table = Path(self.path).absolute()
        for left in table.glob(f"{batch.pipeline}-{batch.number}-*"):  # of attempts that died: not committed, see has
            shutil.rmtree(left)
        folder = table / f"{batch.pipeline}-{batch.number}-{uuid4().hex}"
        folder.mkdir(parents=True)
        return folder

    def take(self, files: Sequence[Path], batch: Batch) -> None:
        table, schema = files[0].parent.parent, pq.read_schema(files[0])
        target = DeltaTable.create(table, schema, mode="ignore")
        check_columns(table, pa.schema(target.schema().to_arrow()), schema)
        target.create_write_transaction(
            [_added(file, table) for file in files],
            "append",
            schema,
            commit_properties=CommitProperties(app_transactions=[Transaction(batch.pipeline, batch.number)]),
        )


def _added(file: Path, table: Path) -> AddAction:
    found = file.stat()
    stats = json.dumps({"numRecords": pq.read_metadata(file).num_rows})
    return AddAction(str(file.relative_to(table)), found.st_size, {}, found.st_mtime_ns // 10**6, True, stats)


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0]
