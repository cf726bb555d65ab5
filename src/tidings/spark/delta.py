"""How do the matches of a batch become one commit of a Delta table, without a Delta jar?

The workers write files of Parquet into the folder of the table, where nobody reads what no commit names; then the
driver commits their names. So the matches never pass through the driver, however many they are. The commit carries
(pipeline, batch) as its application transaction, by which whoever runs the batch again finds it done.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.exceptions import TableNotFoundError
from deltalake.transaction import AddAction

from tidings.spark.sinks import Batch, check_path


@dataclass(frozen=True, slots=True)
class DeltaSink:
    """Appends to the Delta table in the folder ``path``, which driver and executors see; made if it is not there."""

    path: str | Path

    def __post_init__(self) -> None:
        check_path("the folder of a sink", self.path)

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
        DeltaTable.create(table, schema, mode="ignore").create_write_transaction(
            [_added(file, table) for file in files],
            "append",
            schema,
            commit_properties=CommitProperties(app_transactions=[Transaction(batch.pipeline, batch.number)]),
        )


def _added(file: Path, table: Path) -> AddAction:
    found = file.stat()
    stats = json.dumps({"numRecords": pq.read_metadata(file).num_rows})
    return AddAction(str(file.relative_to(table)), found.st_size, {}, found.st_mtime_ns // 10**6, True, stats)
