"""Does a pipeline find the newest mapping, and only that of its plan?"""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tidings.cluster.mappings import WHOLE, Figures, MappingPage, Mappings
from tidings.model import DataError
from tidings.partitioning import Mapping, Move, Owners


def mapping(owner: int, matchers: int = 4) -> Mapping:
    return Mapping.learned(pa.array(["fire"]), Owners.single(np.array([owner], dtype=np.int32)), matchers)


def page(planned: int, matchers: int = 4) -> MappingPage:
    figures = Figures(2.0, 1.5, 3.0)
    return MappingPage(planned, matchers, "salb", 500, figures, figures, "2026-01-01T00:00:00+00:00")


def test_the_newest_mapping_of_the_plan_is_used_and_the_hash_where_none_was_learned(tmp_path: Path) -> None:
    mappings = Mappings(tmp_path / "mappings")
    assert mappings.newest(4) == "hash-4" and mappings.mapping("hash-4") == Mapping.hashed(4)
    assert mappings.put(mapping(1), page(4)).name == "learned-1"
    assert mappings.put(mapping(2), page(4)).name == "learned-2"
    assert mappings.put(mapping(3), page(9)).name == "learned-3"
    assert [mappings.newest(planned) for planned in (4, 9, 5)] == ["learned-2", "learned-3", "hash-5"]
    assert mappings.mapping("learned-2") == mapping(2) and mappings.mapping(WHOLE) is None
    assert mappings.page("learned-3") == replace(page(9), number=3) and mappings.page("hash-4") is None


def test_what_was_learned_before_the_one_in_use_is_removed_and_nothing_newer(tmp_path: Path) -> None:
    mappings = Mappings(tmp_path)
    for owner in range(4):
        mappings.put(mapping(owner), page(4))
    mappings.forget_before("hash-4")
    mappings.forget_before("learned-3")
    assert sorted(file.name for file in tmp_path.glob("learned-*")) == [
        *("learned-3.json", "learned-3.tidings", "learned-4.json", "learned-4.tidings")
    ]
    assert mappings.newest(4) == "learned-4" and mappings.put(mapping(0), page(4)).name == "learned-5"


AT = "2026-01-01T00:00:00+00:00"


def test_moves_add_up_and_what_they_moved_from_is_kept(tmp_path: Path) -> None:
    mappings = Mappings(tmp_path)
    for owner in range(2):
        mappings.put(mapping(owner), page(9))
    first = mappings.move("learned-2", [Move(0, 3), Move(70, 2)], AT)
    second = mappings.move(first.name, [Move(0, 1)], AT)
    assert (first.name, second.name, second.parent) == ("moved-3", "moved-4", "learned-2")
    assert mappings.newest(9) == "moved-4" and mappings.page("moved-4") == second
    assert mappings.mapping("moved-4") == mapping(1).moved([Move(0, 1), Move(70, 2)])
    assert [mappings.parcels(name) for name in ("moved-4", "learned-2", "hash-4")] == [
        "learned-2",
        "learned-2",
        "hash-4",
    ]
    mappings.forget_before("moved-4")
    kept = ["learned-2.json", "learned-2.tidings", "moved-4.json"]
    assert sorted(file.name for file in tmp_path.glob("*-*")) == kept
    mappings.put(mapping(3), page(9))
    mappings.forget_before("learned-5")
    assert sorted(file.name for file in tmp_path.glob("*-*")) == ["learned-5.json", "learned-5.tidings"]


def test_what_cannot_move_is_refused(tmp_path: Path) -> None:
    mappings = Mappings(tmp_path)
    for moves in ([Move(256, 0)], [Move(0, 4)], [Move(-1, 0)], [Move(0, -1)]):
        with pytest.raises(DataError, match="cannot move"):
            mappings.move("hash-4", moves, AT)
    with pytest.raises(DataError, match="has no parcels"):
        mappings.move(WHOLE, [Move(0, 0)], AT)
    assert mappings.newest(4) == "hash-4" and mappings.move("hash-4", [Move(0, 1)], AT).planned == 4
    (tmp_path / "moved-1.json").unlink()
    with pytest.raises(DataError, match="'moved-1' is gone"):
        mappings.mapping("moved-1")


def test_two_who_put_at_once_get_different_numbers(tmp_path: Path) -> None:
    mappings, names = Mappings(tmp_path), list[str]()
    threads = [threading.Thread(target=lambda: names.append(mappings.put(mapping(1), page(4)).name)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(names) == [f"learned-{number}" for number in range(1, 9)]


def test_a_damaged_page_is_passed_over_and_a_damaged_mapping_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mappings = Mappings(tmp_path)
    for owner in (1, 2):
        mappings.put(mapping(owner), page(4))
    (tmp_path / "learned-2.json").write_text("{")
    assert mappings.newest(4) == "learned-1" and "no page of a mapping" in caplog.text
    (tmp_path / "learned-1.tidings").write_bytes(b"nothing")
    with pytest.raises(DataError, match="learned-1"):
        mappings.mapping("learned-1")
    with pytest.raises(DataError, match="learned-7"):
        mappings.mapping("learned-7")
