"""Does a release find what its registry has, when that was restored, recreated or swapped, or when files are damaged?

Without a session: the driver's and the workers' functions, in this process.
"""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.cluster.test_mappings import page
from tests.damages import DAMAGES, IN_PLACE, replace_registry, rewrite
from tests.spark.inprocess import found
from tidings.cluster.mappings import Mappings
from tidings.cluster.releases import Plan, Release, Releases
from tidings.model import DataError
from tidings.partitioning import Mapping, Owners
from tidings.registry import Registry

NOW = datetime(2024, 5, 1, tzinfo=UTC)
PLANS = [Plan("replicated"), Plan("partitioned", 3)]
by_layout = pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.layout)
POST = pa.table({"id": ["p"], "text": ["fire w1 w2 w3 w4 w5"]})


def made(path: Path, *ids: str) -> Registry:
    registry = Registry.create(path, clock=lambda: NOW)  # a clock that stands still: commits are not told apart by it
    for name in ids:
        registry.add(pa.table({"id": [name], "query": ["w1 OR w2 OR w3 OR w4 OR w5"]}))
    return registry


def names(release: Release) -> list[str]:
    return sorted(name for _, name in found(POST, release).pairs)


@by_layout
@pytest.mark.parametrize("ids", [[], ["new"], ["ghost", "new"], ["new", "newer", "newest"]])
@pytest.mark.parametrize("is_live", [True, False])
def test_releases_follow_a_restored_registry(
    plan: Plan, ids: list[str], is_live: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    registry = made(tmp_path / "registry", "first")
    shutil.copytree(registry.path, tmp_path / "backup")
    releases = Releases(tmp_path / "releases", plan=plan)
    for name in ("ghost", "second ghost"):
        made(tmp_path / "registry", name)
        assert name in names(releases.release(registry, registry.version))
    replace_registry(tmp_path / "registry", tmp_path / "backup")
    made(tmp_path / "registry", *ids)
    releases = releases if is_live else Releases(tmp_path / "releases", plan=plan)
    release = releases.release(registry, registry.version)
    assert names(release) == sorted(["first", *ids])
    assert "again" in caplog.text or "removed" in caplog.text
    caplog.clear()
    assert releases.release(registry, registry.version) == release and not caplog.text
    made(tmp_path / "registry", "last")
    assert names(releases.release(registry, registry.version)) == sorted(["first", *ids, "last"])
    assert not caplog.text


@by_layout
def test_releases_of_two_registries_in_one_folder_are_kept_apart(plan: Plan, tmp_path: Path) -> None:
    registries = [made(tmp_path / "a", "x", "y"), made(tmp_path / "b", "z", "x")]
    for _ in range(2):
        for registry, expected in zip(registries, (["x", "y"], ["x", "z"]), strict=True):
            releases = Releases(tmp_path / "releases", plan=plan)
            assert names(releases.release(registry, registry.version)) == expected
            assert names(releases.release(registry, 1)) == expected[:1] if registry is registries[0] else ["z"]


def test_a_table_of_subscriptions_is_not_taken_for_a_registry(tmp_path: Path) -> None:
    table = pa.table(
        {"id": ["t"], "query": ["fire"], "subscriber": [""], "tag": [""], "since": [None], "until": [None]}
    )
    table = table.set_column(4, "since", pa.nulls(1, pa.timestamp("us", "UTC")))
    table = table.set_column(5, "until", pa.nulls(1, pa.timestamp("us", "UTC")))
    assert names(Releases(tmp_path / "releases").compiled(table)) == ["t"]
    registry = made(tmp_path / "registry")
    assert names(Releases(tmp_path / "releases").release(registry, 0)) == []


def test_a_page_of_a_later_version_of_another_history_is_removed(tmp_path: Path) -> None:
    registry = made(tmp_path / "registry", "a", "b", "c")
    Releases(tmp_path / "releases").release(registry, 3)
    other = made(tmp_path / "other", "a")
    releases = Releases(tmp_path / "releases")
    releases.forget_before(releases.release(other, 1).version)
    assert [file.name for file in (tmp_path / "releases").glob("release-*")] == ["release-1-whole.json"]
    assert len(list((tmp_path / "releases").glob("segment-*"))) == 1


# ---------------------------------------------------------------------------------------------------------- damage


def two_versions(tmp_path: Path, plan: Plan) -> tuple[Registry, Releases, Release]:
    registry = made(tmp_path / "registry", "a")
    releases = Releases(tmp_path / "releases", plan=plan)
    releases.release(registry, 1)
    made(tmp_path / "registry", "b")
    return registry, releases, releases.release(registry, 2)


def of_kind(release: Release, kind: str) -> list[Path]:
    return sorted(Path(release.folder, name) for name in release.files if name.startswith(kind))


FILES = [(PLANS[0], "segment-"), (PLANS[1], "segment-"), (PLANS[1], "homes-"), (PLANS[1], "router-")]


@pytest.mark.parametrize(("plan", "kind"), FILES, ids=str)
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("is_live", [True, False])
def test_a_driver_compiles_again_what_is_damaged(
    plan: Plan, kind: str, damage: str, is_live: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    registry, releases, release = two_versions(tmp_path, plan)
    assert names(release) == ["a", "b"]  # a worker has all mapped now
    first, second, *_ = of_kind(release, kind)
    DAMAGES[damage](first, second)
    releases = releases if is_live else Releases(tmp_path / "releases", plan=plan)
    again = releases.release(registry, 2)
    assert names(again) == ["a", "b"] and again.files.isdisjoint({first.name}) and caplog.text
    made(tmp_path / "registry", "c")
    assert names(releases.release(registry, 3)) == ["a", "b", "c"]


SEEN = [(damage, *file) for damage in IN_PLACE for file in FILES if damage != "another" or file[0] is PLANS[0]]
"""The files of two matchers may have the same content."""


@pytest.mark.parametrize(("damage", "plan", "kind"), SEEN, ids=str)
def test_a_worker_refuses_what_was_overwritten_under_it(damage: str, plan: Plan, kind: str, tmp_path: Path) -> None:
    _, releases, release = two_versions(tmp_path, plan)
    assert names(release) == ["a", "b"] and releases.is_sound(release)
    first, second, *_ = files = of_kind(release, kind)
    contents = [file.read_bytes() for file in files]
    for file in files:  # a post does not reach all matchers
        DAMAGES[damage](file, second if file == first else first)
    for _ in range(2):
        with pytest.raises(DataError, match=r"damaged|cut off|not a file of tidings|under another name|should have"):
            found(POST, release)
    assert not releases.is_sound(release)
    for file, content in zip(files, contents, strict=True):
        rewrite(file, content)
    assert names(release) == ["a", "b"] and releases.is_sound(release)


@pytest.mark.parametrize("damage", ["deleted", "swapped"])
def test_a_worker_goes_on_with_a_file_whose_name_is_gone(damage: str, tmp_path: Path) -> None:
    _, _, release = two_versions(tmp_path, PLANS[0])
    assert names(release) == ["a", "b"]
    first, second = of_kind(release, "segment-")
    DAMAGES[damage](first, second)
    assert names(release) == ["a", "b"]  # what it has mapped is what it has opened


def test_what_is_overwritten_while_a_task_runs_fails_the_task(tmp_path: Path) -> None:
    from tidings.cluster.steps import MatchAll  # noqa: PLC0415  # as a worker does

    _, _, release = two_versions(tmp_path, PLANS[0])
    rows = MatchAll(release)(iter(POST.to_batches() * 2))
    next(rows)
    DAMAGES["flipped"](*of_kind(release, "segment-"))
    with pytest.raises(DataError, match="damaged"):
        list(rows)


@pytest.mark.parametrize(
    "change",
    [
        {"parts": []},
        {"parts": 5},
        {"parts": [{"segments": [], "homes": ""}]},
        {"parts": [{"segments": [7], "homes": 7}]},
        {"parts": [{"segments": ["../../x"], "homes": ""}]},
        {"attributes": []},
        {"attributes": [1, None]},
        {"mark": None},
        {"mark": "x"},
        {"routers": ["x"]},
        {"older": ["x"]},
    ],
    ids=str,
)
@pytest.mark.parametrize("has_checksum", [True, False])
def test_a_page_with_foreign_values_is_not_believed(change: dict[str, Any], has_checksum: bool, tmp_path: Path) -> None:
    registry = made(tmp_path / "registry", "a")
    registry.add(pa.table({"id": ["b"], "query": ["fire likes:>3"]}))
    Releases(tmp_path / "releases").release(registry, 2)
    (file,) = (tmp_path / "releases").glob("release-*.json")
    content = json.loads(file.read_text()) | change
    if not has_checksum:
        if "attributes" in change or change.get("parts") == [{"segments": [], "homes": ""}]:
            pytest.skip("it could be true, and only the checksum tells that it is not")
        del content["crc"]
    file.write_text(json.dumps(content))
    release = Releases(tmp_path / "releases").release(registry, 2)
    result = found(POST.append_column("likes", pa.array([4])), release)
    assert sorted(name for _, name in result.pairs) == ["a", "b"]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"\0" * 100, b"[" * 100_000])
def test_a_page_that_is_none_is_not_believed(content: bytes, tmp_path: Path) -> None:
    registry = made(tmp_path / "registry", "a")
    Releases(tmp_path / "releases").release(registry, 1)
    (file,) = (tmp_path / "releases").glob("release-*.json")
    file.write_bytes(content)
    assert names(Releases(tmp_path / "releases").release(registry, 1)) == ["a"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_mapping_is_replaced_by_the_hash(damage: str, tmp_path: Path) -> None:
    registry, mappings = made(tmp_path / "registry", "a"), Mappings(tmp_path / "mappings")
    for owner in (0, 1):
        words = Mapping.learned(pa.array(["fire", "w1"]), Owners.single(np.full(2, owner, dtype=np.int32)), 3)
        mappings.put(words, page(planned=3))
    DAMAGES[damage](tmp_path / "mappings" / "learned-2.tidings", tmp_path / "mappings" / "learned-1.tidings")
    release = Releases(tmp_path / "releases", plan=PLANS[1], mappings=mappings).release(registry, 1)
    assert release.mapping == "hash-3" and names(release) == ["a"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"7",
        b"\xff",
        b"[" * 100_000,
        b'{"number": 1}',
        b'{"planned": 3, "before": {}}',
        "swap",
    ],
)
def test_a_damaged_page_of_a_mapping_is_passed_over(content: bytes | str, tmp_path: Path) -> None:
    registry, mappings = made(tmp_path / "registry", "a"), Mappings(tmp_path / "mappings")
    words = Mapping.learned(pa.array(["fire", "w1"]), Owners.single(np.zeros(2, dtype=np.int32)), 3)
    mappings.put(words, page(planned=3))
    mappings.put(words, page(planned=3))
    newest, older = tmp_path / "mappings" / "learned-2.json", tmp_path / "mappings" / "learned-1.json"
    newest.write_bytes(older.read_bytes() if isinstance(content, str) else content)
    release = Releases(tmp_path / "releases", plan=PLANS[1], mappings=mappings).release(registry, 1)
    assert release.mapping == "learned-1" and names(release) == ["a"]
