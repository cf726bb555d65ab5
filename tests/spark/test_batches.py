"""Is a batch that is run again matched with what it was pinned to? Without a session."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from tests.cluster.test_mappings import mapping, page
from tidings.cluster.cut import Cut
from tidings.cluster.learning import Learn
from tidings.cluster.notes import Notes
from tidings.cluster.pipeline_folder import PipelineFolder
from tidings.cluster.releases import Plan, Release
from tidings.registry import Registry
from tidings.spark.batches import Handler
from tidings.spark.columns import Columns
from tidings.spark.sinks import MemorySink

PUBLICATIONS: Any = SimpleNamespace(sparkSession=SimpleNamespace(conf={"spark.sql.shuffle.partitions": "4"}))


class Governed:
    """Always in the same overload."""

    def __init__(self, cut: Cut | None) -> None:
        self._cut = cut

    def cut(self, *_: object, **__: object) -> Cut | None:
        return self._cut

    def learn(self, *args: Any, **options: Any) -> None:
        pass


def asked(query: str) -> pa.Table:
    return pa.table({"id": ["s"], "query": [query]})


def handler(folder: Path, cut: Cut | None = None) -> Handler:
    """A new driver."""
    home, registry, governor = PipelineFolder(folder / "home"), Registry(folder / "registry"), Governed(cut)
    options: dict[str, Any] = {"sample": None, "distinct_ids": False, "learn": Learn(), "governor": governor}
    return Handler(home, "one", registry, MemorySink(), Columns(), Plan("partitioned", 4), **options)


def test_a_batch_that_is_run_again_has_its_version_its_mapping_its_instant_and_its_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[tuple[Release, Any, Cut | None]] = []

    def write(_: Handler, find: Callable[..., Any], batch: object) -> Notes:
        assert isinstance(find, partial)
        _, release, _, conditions = find.args
        ran.append((release, conditions.now, conditions.cut))
        if len(ran) == 1:
            raise OSError("the disk is full")
        return Notes.read([])

    monkeypatch.setattr(Handler, "_write", write)
    registry = Registry(tmp_path / "registry")
    registry.add(asked("fire"))
    first, second = Cut(1, "random", 2.0, 0.5, 0.1), Cut(2, "random", 1.0, 0.25, 0.1)
    with pytest.raises(OSError, match="full"):
        handler(tmp_path, first)(PUBLICATIONS, 0)
    registry.add(asked("smoke"))
    PipelineFolder(tmp_path / "home").mappings.put(mapping(1), page(planned=4))
    handler(tmp_path, second)(PUBLICATIONS, 0)
    handler(tmp_path, second)(PUBLICATIONS, 1)
    assert [(release.version, release.mapping) for release, _, _ in ran] == [(1, "hash-4")] * 2 + [(2, "learned-1")]
    assert ran[0][1] == ran[1][1] < ran[2][1]
    assert [cut for _, _, cut in ran] == [first, first, second]


def test_a_home_keeps_everything_in_its_own_folder() -> None:
    home = PipelineFolder(Path("state"))
    names = ("releases", "seen", "rejected", "backlog.json", "overload.json", "spark")
    paths = (home.releases, home.seen, home.rejected, home.backlog, home.overload, home.checkpoint)
    assert [str(path) for path in paths] == [f"state/{name}" for name in names]
