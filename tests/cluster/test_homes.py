from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.cluster import Homes
from tidings.cluster.homes import found_along
from tidings.partitioning import MatcherSets


def sets(*words: int) -> MatcherSets:
    return MatcherSets(np.array(words, dtype=np.uint64)[:, None])


def test_homes_follow_changes(tmp_path: Path) -> None:
    homes = Homes.of(pa.array(["a", "b", "c", "d"]), sets(0b011, 0b110, 0b100, 0b101))
    newer = Homes.of(pa.array(["a", "e"]), sets(0b101, 0b111))
    homes.changed(newer, ["a", "b", "e", "z"]).save(tmp_path / "homes")
    after = Homes.open(tmp_path / "homes")
    words = dict(zip(after.ids.texts().to_pylist(), after.sets.words[:, 0].tolist(), strict=True))
    assert words == {"d": 0b101, "a": 0b101, "e": 0b111}
    assert len(homes) == 3


def test_no_homes_at_all(tmp_path: Path) -> None:
    nobody = Homes.of(pa.array([], pa.string()), MatcherSets.empty(0, 100))
    nobody.save(tmp_path / "homes")
    assert len(Homes.open(tmp_path / "homes").changed(nobody, [])) == 0


@pytest.mark.parametrize("homes", [None, Homes.of(pa.array([], pa.string()), MatcherSets.empty(0, 3))])
def test_where_nobody_lives_elsewhere_a_match_is_found_where_its_row_goes(homes: Homes | None) -> None:
    routes, ids = sets(0b010, 0b001, 0b110), pa.array(["s", "s", "t"])
    assert found_along(np.array([0, 1, 2]), ids, 1, routes, homes).tolist() == [True, False, True]
    assert found_along(np.array([0, 2]), ids.slice(0, 2), 1, routes, homes).tolist() == [True, True]


@given(st.lists(st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 7), max_size=6), min_size=1, max_size=5))
def test_homes_are_those_of_the_first_file_after_the_changes_in_the_others(
    tmp_path_factory: pytest.TempPathFactory, versions: list[dict[str, int]]
) -> None:
    folder = tmp_path_factory.mktemp("homes")
    own = [Homes.of(pa.array([*words], pa.string()), sets(*words.values())) for words in versions]
    own[0].save(folder / "0")
    for n, (before, now) in enumerate(pairwise(own), 1):
        now.since(before).save(folder / f"{n}")
        assert len(now.since(now)) == 0
    again = Homes.open(*(folder / f"{n}" for n in range(len(own))))
    found = dict(zip(again.ids.texts().to_pylist(), again.sets.words[:, 0].tolist(), strict=True))
    assert found == {name: words for name, words in versions[-1].items() if words.bit_count() > 1}
