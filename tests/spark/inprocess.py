"""Runs what Spark's workers run, in this process: the same functions on the same batches, shuffled by hand."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import pyarrow as pa

from tidings.cluster.cut import Cut
from tidings.cluster.notes import Notes
from tidings.cluster.releases import Release
from tidings.cluster.steps import MatchAll, MatchShare, Route
from tidings.model.publication import FIELDS
from tidings.spark.tasks import WithNotes


@dataclass(frozen=True, slots=True)
class Found:
    """Matches as (publication, subscription), repeated ones too, all their rows, and the notes."""

    pairs: list[tuple[str, str]]
    rows: list[dict[str, object]]
    notes: Notes


def read(table: pa.Table, release: Release) -> pa.Table:
    """The columns that are read."""
    return table.select([name for name in table.column_names if name in (*FIELDS, *release.attributes)])


def found(
    table: pa.Table, release: Release, now: int | None = None, batch_rows: int = 1000, cut: Cut | None = None
) -> Found:
    batches = read(table, release).to_batches(max_chunksize=batch_rows)
    if release.layout == "replicated":
        out = list(WithNotes(MatchAll(release, now, cut))(iter(batches)))
    else:
        shuffled: defaultdict[int, list[pa.RecordBatch]] = defaultdict(list)
        for batch in Route(release, cut=cut)(iter(batches)):
            for row in range(batch.num_rows):
                one = batch.slice(row, 1)
                shuffled[one.column("matcher")[0].as_py()].append(one)
        out = [batch for own in shuffled.values() for batch in WithNotes(MatchShare(release, now))(iter(own))]
    rows = pa.Table.from_batches(out).to_pylist()
    matches = [row for row in rows if row["note"] is None]
    notes = Notes.read(row["note"] for row in rows if row["note"] is not None)
    return Found([(row["publication_id"], row["subscription_id"]) for row in matches], matches, notes)
