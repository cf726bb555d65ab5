from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tidings.arrays import NamedArrays
from tidings.arrays.files import named, write_arrays
from tidings.language.atoms import FormPrefix
from tidings.model import DataError
from tidings.model.query import Contains, EndsWith, Equals, Present, StartsWith, Topic
from tidings.partitioning import Mapping, Move, NamedParcels, Owners, diff
from tidings.partitioning.mapping import hash_names
from tidings.terms.dictionary import Dictionary


def every_kind() -> Dictionary:
    terms = Dictionary()
    terms.word("fire")
    terms.word("пожар")
    terms.cell(1 << 63)
    terms.slot(("price", False))
    terms.slot(("ts", True))
    terms.interval(("price", False), 3 << 62)
    terms.interval(("ts", True), 3 << 62)
    for atom in (
        FormPrefix("fi"), Equals("symbol", "YHOO"), Equals("symbol", "3e5"), StartsWith("name", "Mc"),
        EndsWith("name", "son"), Contains("name", "ab"), Present("price"), Topic(("sports", "soccer")),
        Topic(("sports", "*")),
    ):  # fmt: skip
        terms.term(atom)
    return terms


GOLDEN = {
    "": (-1, -1),
    "fire": (6, 157),
    "пожар": (0, 50),
    "cell:8000000000000000": (6, 213),
    "price#c000000000000000": (0, 159),
    "ts@c000000000000000": (0, 226),
    "fi*": (1, 95),
    "symbol=YHOO": (6, 44),
    "symbol=300000|3e5": (5, 223),
    "name=Mc*": (4, 121),
    "name=*son": (4, 85),
    "name=*ab*": (3, 221),
    "has:price": (6, 35),
    "topic:sports/soccer": (3, 69),
    "topic:sports/*": (5, 68),
}
"""The owner among 7 and among 256 matchers. Another one would lose matches between processes of two versions."""


def owners(terms: Dictionary, matchers: int) -> dict[str, int]:
    found = Mapping.hashed(matchers).owners(terms)
    return {name: (found.of(term) or [-1])[0] for term, name in enumerate(terms.term_names().to_pylist())}


def test_names_and_their_owners_are_these_for_ever() -> None:
    terms = every_kind()
    seven, most = owners(terms, 7), owners(terms, 256)
    assert {name: (seven[name], most[name]) for name in seven} == GOLDEN


def test_a_term_keeps_its_owner_when_terms_are_numbered_anew() -> None:
    terms = every_kind()
    part, _ = terms.part(np.arange(len(terms)) % 2 == 0)
    before, after = owners(terms, 256), owners(part, 256)
    assert len(after) == (len(terms) + 1) // 2 and after.items() <= before.items()
    other = Dictionary()
    ids = other.include(part)
    ids_again = other.include(terms)
    assert owners(other, 256) == before
    names, here = terms.term_names().to_pylist(), other.term_names().to_pylist()
    assert [here[i] for i in ids_again] == names and [here[i] for i in ids] == part.term_names().to_pylist()


def test_matchers_get_about_equally_many_words() -> None:
    terms = Dictionary()
    for i in range(20_000):
        terms.word(f"word{i}")
    counts = np.bincount(Mapping.hashed(16).owners(terms).matchers, minlength=16)
    assert counts.min() > 0.9 * counts.mean() and counts.max() < 1.1 * counts.mean()


@pytest.mark.parametrize("matchers", [0, -1, 257])
def test_too_few_or_too_many_matchers_are_refused(matchers: int) -> None:
    with pytest.raises(DataError, match="1 to 256 matchers"):
        Mapping.hashed(matchers)


def learned(own: dict[str, list[int]], matchers: int = 16) -> Mapping:
    flat = np.array([matcher for one in own.values() for matcher in one], dtype=np.int32)
    names = pa.array(list(own), pa.large_string())
    return Mapping.learned(names, Owners.of_counts([len(one) for one in own.values()], flat), matchers)


def test_a_learned_mapping_knows_its_names_and_hashes_all_others() -> None:
    terms = every_kind()
    mapping = learned({"fire": [3], "symbol=YHOO": [9, 2, 5], "nobody asks": [1]})
    found, hashed = mapping.owners(terms), Mapping.hashed(16).owners(terms)
    for term, name in enumerate(terms.term_names().to_pylist()):
        assert found.of(term) == {"fire": [3], "symbol=YHOO": [9, 2, 5]}.get(name, hashed.of(term))
    part, numbers = terms.part(np.arange(len(terms)) % 2 == 0)
    there = mapping.owners(part)
    assert all(there.of(numbers[t]) == found.of(t) for t in range(len(terms)) if numbers[t] >= 0)


def test_a_mapping_is_the_same_when_it_is_opened_again(tmp_path: Path) -> None:
    own = {f"word{i}": [i % 256, (i + 1) % 256][: 1 + i % 2] for i in range(1000)} | {"all": list(range(256))}
    mapping = learned(own, 256)
    mapping.parcels.save(tmp_path / "mapping")
    again = NamedParcels.open(tmp_path / "mapping").mapping()
    assert again == mapping and hash(again) == hash(mapping) and pickle.loads(pickle.dumps(again)) == mapping
    assert (tmp_path / "mapping").stat().st_size < 15_000
    names = pa.array([*own, "unknown"], pa.large_string())
    found, opened = mapping.owners_of(names), again.owners_of(names)
    assert all(found.of(i) == opened.of(i) for i in range(len(names))) and found.of(1000) == own["all"]


def test_a_file_from_before_there_were_parcels_gives_the_same_owners(tmp_path: Path) -> None:
    names = pa.array(["fire", "smoke", "rain"])
    order = np.argsort(hash_names(names))
    owners = [[[3], [9, 2, 5], [0]][n] for n in order]
    arrays: NamedArrays = {
        "hashes": hash_names(names)[order],
        "counts": np.array([len(own) for own in owners], dtype=np.uint16),
        "owners": np.array([matcher for own in owners for matcher in own], dtype=np.uint8),
    }
    write_arrays(tmp_path / "old", arrays, named(tmp_path / "old", {"kind": "mapping", "matchers": 16}))
    found = NamedParcels.open(tmp_path / "old").mapping().owners_of(pa.array(["fire", "smoke", "rain", "unknown"]))
    hashed = Mapping.hashed(16).owners_of(pa.array(["unknown"])).of(0)
    assert [found.of(n) for n in range(4)] == [[3], [9, 2, 5], [0], hashed]


def test_mappings_are_equal_by_what_is_in_them() -> None:
    assert learned({"a": [1], "b": [2, 3]}) == learned({"b": [2, 3], "a": [1]})
    assert learned({"a": [1], "b": [2, 3]}) != learned({"a": [1], "b": [3, 2]})
    assert learned({"a": [1]}) != learned({"a": [1]}, 17) and learned({"a": [1]}) != Mapping.hashed(16)


def test_a_move_changes_the_owners_of_its_parcels_and_no_others() -> None:
    names = pa.array([f"word{i}" for i in range(2_000)])
    mapping = learned({f"word{i}": [i % 16, (i + 3) % 16][: 1 + i % 2] for i in range(1_000)})
    found = mapping.parcels.of(names)
    moved = mapping.moved([Move(int(found.parcels[0]), 5), Move(int(found.parcels[1]), 5)])
    assert diff(mapping, moved).tolist() == sorted(found.parcels[:2].tolist()) and not len(diff(moved, moved))
    before, after = mapping.owners_of(names), moved.owners_of(names)
    is_moved = np.isin(found.parcels, found.parcels[:2])
    assert np.array_equal(before.matchers[~is_moved], after.matchers[~is_moved])
    assert set(after.matchers[is_moved].tolist()) == {5} and 1 < is_moved.sum() < 100
    assert moved.moved([Move(int(p), int(mapping.owner[p])) for p in diff(mapping, moved)]) == mapping != moved
    with pytest.raises(DataError, match="different parcels"):
        diff(mapping, Mapping.hashed(16))


def test_parcels_are_fine_enough_to_move_a_hundredth() -> None:
    names = pa.array([f"word{i}" for i in range(50_000)])
    counts = np.bincount(Mapping.hashed(8).parcels.of(names).parcels, minlength=512)
    assert counts.min() > 0 and counts.max() < 0.005 * len(names)


@pytest.mark.parametrize("own", [{"a": []}, {"a": [16]}, {"a": [-1]}, {"a": [1, 1]}])
def test_owners_that_cannot_be_are_refused(own: dict[str, list[int]]) -> None:
    with pytest.raises(DataError, match="different owners among 16 matchers"):
        learned(own)


def test_another_file_is_no_mapping(tmp_path: Path) -> None:
    write_arrays(tmp_path / "other", {"hashes": np.array([2, 1], dtype=np.uint64)}, {"kind": "mapping", "matchers": 4})
    with pytest.raises(DataError, match="is no mapping"):
        NamedParcels.open(tmp_path / "other")
