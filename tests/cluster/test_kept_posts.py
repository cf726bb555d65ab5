"""Does a pipeline keep the posts of its past, all of them and each once, and drop what is too old?"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tidings.cluster import kept_posts, post_files
from tidings.cluster.kept_posts import PARTS, KeptPosts
from tidings.cluster.post_files import FiledPosts, PastSpan, PostFiling, PostWriter, TaskPosts, happened_keys, pieces_of
from tidings.model import DataError
from tidings.tables.checked import Publications

KEEP = 800
EPOCH = datetime.fromtimestamp(0, UTC)
LONG_AGO, FOREVER = -(10**15), 10**15


def instant(key: int | None) -> datetime | None:
    return None if key is None else EPOCH + timedelta(microseconds=key)


def canonical(rows: list[dict[str, Any]]) -> pa.Table:
    """Posts as workers have them: columns that nobody uses are not there."""
    names = [name for name in ("id", "ts", "ends", "topic", "a.b") if any(row.get(name) is not None for row in rows)]
    return Publications.of(pa.table({name: [row.get(name) for row in rows] for name in names})).table


def keep(kept: KeptPosts, tables: list[pa.Table], batch: int, came: int, span: int = KEEP) -> None:
    """As workers and the driver do: each table is a task."""
    folder = kept.aside()
    files: list[FiledPosts] = []
    for task, table in enumerate(tables):
        writer = TaskPosts(PostFiling(folder, came, "ends"), task)
        for part in table.to_batches(max_chunksize=3):
            writer.add(pa.Table.from_batches([part]))
        files += writer.close()
    (folder / "_left by a task that died").touch()
    kept.take(folder, files, batch, came, span)


def read(kept: KeptPosts, span: PastSpan, before: int | None = None) -> list[tuple[Any, int]]:
    """(id, when it happened) of all past posts, in order; repeated ones too."""
    found = []
    for section in kept.sections(before):
        for piece in pieces_of(section.path, section.files):
            for now, table in span.read(piece, {"id", "ts"}.__contains__):
                instants = table["ts"].to_pylist() if "ts" in table.column_names else [None] * len(table)
                keys = [now if ts is None else (ts - EPOCH) // timedelta(microseconds=1) for ts in instants]
                found += list(zip(table["id"].to_pylist(), keys, strict=True))
    return sorted(found)


@dataclass
class Model:
    """What was kept, plainly: (batch, came, id, happened, ends)."""

    rows: list[tuple[int, int, str, int, int]] = field(default_factory=list)
    came: dict[int, int] = field(default_factory=dict)

    def past(self, oldest: int, now: int, before: int) -> list[tuple[str, int]]:
        return sorted(
            (name, happened)
            for batch, came, name, happened, ends in self.rows
            if came >= oldest and now < ends and batch < before
        )

    def whole_since(self, batch: int) -> int | None:
        since = None
        while (batch := batch - 1) in self.came:
            since = self.came[batch]
        return since


POSTS = st.lists(
    st.fixed_dictionaries(
        {"ts": st.none() | st.integers(-500, 2_000), "ends": st.none() | st.integers(0, 4_000)},
        optional={"topic": st.sampled_from([["sports"], ["sports", "arts"]]), "a.b": st.integers(0, 3)},
    ),
    max_size=5,
)


@examples(60)
@given(data=st.data(), jumps=st.booleans())
def test_what_is_kept_is_what_came_lately_each_post_once(data: st.DataObject, jumps: bool) -> None:
    model, came = Model(), 1_000
    with (
        TemporaryDirectory() as folder,
        patch.multiple(kept_posts, MANY_SECTIONS=3, SMALL_POSTS=8),
        patch.object(post_files, "GROUP_ROWS", 4),
        patch.object(os, "fsync"),
    ):
        kept = KeptPosts(Path(folder))
        for batch in range(data.draw(st.integers(1, 14))):
            came += data.draw(st.integers(-300 if jumps else 1, 300))
            if data.draw(st.integers(0, 9)) == 0:
                continue  # while nothing was kept
            drawn = data.draw(st.lists(POSTS, max_size=2))
            tasks: list[list[dict[str, Any]]] = [
                [row | {"id": f"{batch}-{task}-{n}"} for n, row in enumerate(o)] for task, o in enumerate(drawn)
            ]
            tables = [canonical([_timed(row) for row in rows]) for rows in tasks if rows]
            for _ in range(data.draw(st.integers(1, 2))):  # a batch may be run again
                keep(kept, tables, batch, came)
            kept.merge(batch)
            model.came[batch] = came
            for row in (row for rows in tasks for row in rows):
                happened = came if row["ts"] is None else row["ts"]
                ends = FOREVER if row["ends"] is None else row["ends"]
                model.rows.append((batch, came, row["id"], happened, ends))
            newest, before = max(model.came.values()), batch + data.draw(st.integers(0, 1))
            found = read(kept, PastSpan(came - KEEP, came, LONG_AGO), before)
            assert len(set(found)) == len(found) and set(found) <= set(model.past(came - KEEP, came, before))
            assert set(found) >= set(model.past(newest - KEEP, came, before))  # a clock that jumps back finds less
            if not jumps:
                sections = kept.sections()
                assert len(list(Path(folder).glob("[0-9]*"))) <= PARTS + 2
                assert min(section.came_last for section in sections) >= came - KEEP - 2 * KEEP // PARTS
                whole = model.whole_since(batch + 1)
                assert whole is not None and kept.whole_since(batch + 1) == max(whole, sections[0].came_first)


def _timed(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"ts": instant(row["ts"]), "ends": instant(row["ends"])}


@given(st.lists(st.none() | st.integers(0, 50), min_size=1, max_size=40), st.integers(0, 50))
def test_row_groups_of_before_are_not_read_and_the_others_are_in_order(instants: list[int | None], since: int) -> None:
    rows = [{"id": str(n), "ts": instant(ts)} for n, ts in enumerate(instants)]
    with TemporaryDirectory() as folder, patch.object(post_files, "GROUP_ROWS", 4):
        writer = TaskPosts(PostFiling(Path(folder), 25), 3)
        writer.add(canonical(rows))
        (file,) = writer.close()
        table = pq.read_table(Path(folder, file.name))
        happened = happened_keys(table).tolist()
        groups = [happened[start : start + 4] for start in range(0, len(happened), 4)]
        assert (file.posts, file.groups) == (len(rows), len(groups)) and all(group == sorted(group) for group in groups)
        assert (file.first, file.last) == (min(happened), max(happened)) and file.name == "000003-0.parquet"
        found = [
            name
            for piece in pieces_of(Path(folder), [file])
            for _, part in PastSpan(LONG_AGO, 0, since).read(piece, {"id"}.__contains__)
            for name in part["id"].to_pylist()
        ]
        assert {str(n) for n, ts in enumerate(instants) if ts is None or ts >= since} <= set(found)
        assert len(found) == len(set(found))
        needed = [g for g in groups if max(g) >= since]
        if None not in instants:
            assert len(found) == sum(map(len, needed))


def test_columns_that_change_within_a_task_make_a_new_file(tmp_path: Path) -> None:
    writer = PostWriter(tmp_path, "task")
    for topic in (["sports"], ["arts"], [["a", "b"]], ["sports"]):
        writer.add(pa.table({"id": ["p"], "topic": topic, post_files.CAME: [1]}))
    assert [file.posts for file in writer.close()] == [2, 1, 1]
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"task-{n}.parquet" for n in range(3)]


def test_a_batch_that_was_begun_anew_has_its_new_posts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    kept = KeptPosts(tmp_path)
    keep(kept, [canonical([{"id": "old"}])], 0, 1_000)
    keep(kept, [canonical([{"id": "new"}])], 0, 1_001)
    assert read(kept, PastSpan(0, 0, LONG_AGO)) == [("new", 1_001)] and "begun anew" in caplog.text


def test_whoever_dies_while_sections_are_merged_or_dropped_has_each_post_once(tmp_path: Path) -> None:
    kept = KeptPosts(tmp_path)
    with patch.multiple(kept_posts, MANY_SECTIONS=3):
        for batch in range(4):
            keep(kept, [canonical([{"id": str(batch)}])], batch, 1_000 + batch)
        remove = shutil.rmtree

        def die(path: Path, **how: Any) -> None:
            if "_aside" not in str(path):
                raise KeyboardInterrupt
            remove(path, **how)

        with patch.object(shutil, "rmtree", die), pytest.raises(KeyboardInterrupt):
            kept.merge(4)
    assert [(one.first, one.last) for one in kept.sections()] == [(0, 3)]
    assert read(kept, PastSpan(0, 0, LONG_AGO)) == [(str(batch), 1_000 + batch) for batch in range(4)]
    keep(kept, [], 4, 5_000)
    keep(kept, [], 5, 9_000)
    assert [(one.first, one.last) for one in kept.sections()] == [(5, 5)] and not list(tmp_path.glob("_dropped*"))


def test_damage_is_told_and_what_is_left_is_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    kept = KeptPosts(tmp_path)
    for batch in range(3):
        keep(kept, [canonical([{"id": str(batch)}])], batch, 1_000 + batch)
    pages = sorted(tmp_path.rglob("page.json"))
    pages[0].write_text(pages[0].read_text().replace("1000", "1001"))
    assert [name for name, _ in read(kept, PastSpan(0, 0, LONG_AGO))] == ["1", "2"]
    assert "past is not complete" in caplog.text and kept.whole_since(3) == 1_001
    next(pages[2].parent.glob("*.parquet")).write_bytes(b"")
    with pytest.raises(DataError, match=r"kept posts cannot be read: .* remove its folder"):
        read(kept, PastSpan(0, 0, LONG_AGO))
    shutil.rmtree(pages[2].parent)
    assert kept.whole_since(3) is None and kept.whole_since(2) == 1_001


def test_small_sections_that_cannot_be_merged_stay(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    kept = KeptPosts(tmp_path)
    with patch.multiple(kept_posts, MANY_SECTIONS=2):
        for batch in range(3):
            keep(kept, [canonical([{"id": str(batch)}])], batch, 1_000)
        next(tmp_path.rglob("*.parquet")).write_bytes(b"")
        kept.merge(3)
    assert len(kept.sections()) == 3 and "were not merged" in caplog.text


def test_a_shorter_keep_drops_more_and_a_longer_one_loses_nothing(tmp_path: Path) -> None:
    kept = KeptPosts(tmp_path)
    for batch in range(20):
        keep(kept, [canonical([{"id": str(batch)}])], batch, 1_000 + 100 * batch, 1_600)
    assert len(kept.sections()) >= 16
    keep(kept, [], 20, 3_000, 10_000)
    assert len(kept.sections()) >= 17
    keep(kept, [], 21, 3_100, 400)
    assert len(kept.sections()) <= 8 and [one.last for one in kept.sections()][-5:] == [17, 18, 19, 20, 21]
