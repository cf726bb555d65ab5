"""How do changes of subscriptions that come as a stream get into the registry, each once, whatever crashes?

A batch is at most a few commits. Before the first of them, a page beside the checkpoint says which batch begins and at
which version of the registry; after the last, that it is done. Whoever runs the batch again after a crash finds the
page, and in the log after that version the commits that were made already.
"""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.streaming import StreamingQuery

from tidings.arrays.pages import checked, read_page, replace_json
from tidings.cluster.belonging import query_id
from tidings.model import DataError, HistoryError, Rejected
from tidings.registry import Registry
from tidings.registry.schemas import SUBSCRIPTION
from tidings.registry.validation import check_ids, check_subscriptions
from tidings.spark.sinks import spark_path

HOW_TO_CHANGE = 'write {"op": "add", "id": "s1", "query": "fire"} or {"op": "remove", "id": "s1"}'

_PAGE = "changes.json"
_ORDER = ("partition", "offset")
_log = logging.getLogger(__name__)
Op = Literal["add", "remove"]


@dataclass(frozen=True, slots=True)
class ChangesPage:
    """``batch`` began when the newest version of the registry was ``after``, with that ``mark``.

    ``query`` is the id of Spark's query. Both are empty in pages from before there were any.
    """

    batch: int
    after: int
    done: bool = False
    mark: str = ""
    query: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """Changes of one kind, to be one commit: a table of subscriptions, or of ids alone."""

    op: Op
    rows: pa.Table


@dataclass(frozen=True, slots=True)
class ApplyChanges:
    """Takes the changes of a micro-batch, as ``foreachBatch`` calls it.

    A row has ``op``, ``id`` and, to add, ``query``; it may have ``subscriber``, ``tag``, ``since`` and ``until``. The
    columns ``partition`` and ``offset``, if there are any, are the order of the rows. What is no change is kept, with
    the reason and the column ``source`` if there is one, among what the registry rejected. ``checkpoint`` is the local
    folder of the query's own checkpoint, since the numbers of batches mean nothing without it.
    """

    registry: Registry
    checkpoint: str | Path

    def start(self, changes: DataFrame, *, available_now: bool = False) -> StreamingQuery:
        """Follow a stream in the background; ``available_now`` takes what there is, and ends."""
        folder = Path(self.checkpoint).absolute()
        when = {"availableNow": True} if available_now else {"processingTime": "0 seconds"}
        writer = changes.writeStream.foreachBatch(self).option("checkpointLocation", spark_path(folder))
        return writer.trigger(**when).start()

    def __call__(self, changes: DataFrame, batch: int) -> None:
        page, query = self._page(), query_id(Path(self.checkpoint))
        if page is not None and (batch < page.batch or (page.query and query not in ("", page.query))):
            raise DataError(
                f"batch {batch} of changes comes after batch {page.batch}, so {str(self.checkpoint)!r} is not the "
                "checkpoint of this stream; put it back, or begin with a new folder"
            )
        if page is None or batch > page.batch:
            made: set[object] = set()
            version = self.registry.version
            page = ChangesPage(batch, version, mark=self.registry.mark(version), query=query)
            self._write(page)
        elif page.done:
            return
        else:
            made = self._made(page)
        self._apply(changes.toArrow(), made)
        self._write(replace(page, done=True))

    def _made(self, page: ChangesPage) -> set[object]:
        """The commits since a batch began, as far as the registry remembers them; none if it was replaced, for then
        all of the batch is applied anew."""
        is_same = self.registry.has(page.after, page.mark) if page.mark else page.after <= self.registry.version
        if not is_same:
            _log.warning("the registry was restored or replaced; batch %d of changes is applied anew", page.batch)
            return set()
        try:
            return _commits(self.registry.changes(page.after))
        except HistoryError as error:
            _log.warning("%s; changes of batch %d that were made already may be made again", error, page.batch)
            return _commits(self.registry.changes(self.registry.horizon))

    def _apply(self, table: pa.Table, made: set[object]) -> None:
        order = [name for name in _ORDER if name in table.column_names]
        rows = table.sort_by([(name, "ascending") for name in order]).to_pylist() if order else table.to_pylist()
        if bad := [_rejected(row) for row in rows if row["op"] not in ("add", "remove")]:
            self.registry.reject(bad)
        for step in steps(rows):
            if made and _commit(step, self.registry) in made:
                continue
            if step.op == "add":
                self.registry.add(step.rows)
            else:
                self.registry.remove(step.rows["id"])

    def _page(self) -> ChangesPage | None:
        file = Path(self.checkpoint) / _PAGE
        try:
            page = ChangesPage(**read_page(file))
            if {type(page.batch), type(page.after)} != {int}:
                raise ValueError("it has values that no page has")
            return page
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError) as error:
            raise DataError(f"{file}: cannot be read: {error}; restore it, or begin with a new checkpoint") from None

    def _write(self, page: ChangesPage) -> None:
        Path(self.checkpoint).mkdir(parents=True, exist_ok=True)
        replace_json(Path(self.checkpoint) / _PAGE, checked(asdict(page)))


def steps(rows: list[dict[str, object]]) -> list[Step]:
    """The changes as few commits: those of one id keep their order, others need none.

    >>> def change(op: str, name: str) -> dict[str, object]:
    ...     return {"op": op, "id": name, "query": name}
    >>> rows = [change("add", "a"), change("remove", "b"), change("add", "b"), change("add", "c"), change("add", "a")]
    >>> [(step.op, step.rows["id"].to_pylist()) for step in steps(rows)]
    [('add', ['a', 'c', 'a']), ('remove', ['b']), ('add', ['b'])]
    """
    turns: dict[object, int] = {}
    found: dict[int, list[dict[str, object]]] = {}
    for row in rows:
        if row["op"] in ("add", "remove"):
            turn = turns.get(row["id"], 0)
            turn += turn % 2 != (row["op"] == "remove")
            turns[row["id"]] = turn
            found.setdefault(turn, []).append(row)
    return [_step("remove" if turn % 2 else "add", found[turn]) for turn in sorted(found)]


def _step(op: Op, rows: list[dict[str, object]]) -> Step:
    names = ["id"] if op == "remove" else [name for name in SUBSCRIPTION.names if name in rows[0]]
    return Step(op, pa.table({name: pa.array([row[name] for row in rows]) for name in names}))


def _rejected(row: dict[str, object]) -> Rejected:
    reason = f"its op is {row['op']!r}, neither add nor remove; {HOW_TO_CHANGE}"
    return Rejected(
        "subscription", str(row["id"] or ""), reason, source=str(row.get("source") or row.get("query") or "")
    )


def _commits(changes: pa.Table) -> set[object]:
    """The commits of the log, each as what was in it."""
    found: dict[int, list[tuple[object, ...]]] = {}
    names = ["op", *SUBSCRIPTION.names]
    for row in changes.select(["version", *names]).to_pylist():
        found.setdefault(row["version"], []).append(tuple(row[name] for name in names))
    return {tuple(rows) for rows in found.values()}


def _commit(step: Step, registry: Registry) -> object:
    """What the log would have of a step."""
    if step.op == "add":
        accepted = check_subscriptions(step.rows, registry.analyser).accepted
    else:
        accepted = check_ids(step.rows["id"]).accepted
    rows = accepted.to_pylist()
    return tuple((step.op, *(row.get(name) for name in SUBSCRIPTION.names)) for row in rows)
