"""Does a pipeline go on with the mapping that it has until the release of another one is ready?

Without a session: batches run in this process (:mod:`tests.spark.local`).
"""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.cluster.test_mappings import page
from tests.spark.test_handler import POSTS, Place, expected
from tidings.cluster import Router
from tidings.cluster.preparing import Preparer
from tidings.cluster.releases import Plan, Release, Releases
from tidings.model import DataError
from tidings.partitioning import Mapping, Move, Owners
from tidings.registry import Registry

WORDS = pa.array(["fire", *(f"w{n}" for n in range(7))])
TURNED = Mapping.learned(WORDS, Owners.single(np.arange(8, dtype=np.int32) % 3), 3)


class Held(Place):
    """A pipeline that prepares all releases, however small, and only when it is let."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(path, Plan("partitioned", 3), "parquet", "first", "s2")
        self.gate = threading.Event()
        prepare = Releases.prepare

        def held(releases: Releases, registry: Registry, *key: object) -> Release:
            if threading.current_thread() is not threading.main_thread():
                assert self.gate.wait(60)
            return prepare(releases, registry, *key)  # type: ignore[arg-type]

        monkeypatch.setattr(Releases, "prepare", held)
        self.preparer = Preparer(self.registry, self.handler._made, small_bytes=0)
        self.handler._preparer = self.preparer

    def mapping(self, number: int) -> str:
        """That of a batch that is run now, and finds what it should."""
        assert self.run(number) == expected(self.registry) != []
        pin = self.home.journal.pin(number)
        assert pin is not None
        return pin.mapping


def test_batches_go_on_until_the_release_of_a_new_mapping_is_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Held(tmp_path, monkeypatch)
    assert place.mapping(0) == "hash-3"
    place.home.mappings.put(TURNED, page(3, 3))
    assert place.mapping(1) == "hash-3"
    place.registry.add(pa.table({"id": ["third"], "query": ["fire (w1 OR w2 OR w3)"]}))
    assert place.mapping(2) == "hash-3" and place.preparer.is_busy
    place.gate.set()
    place.preparer.wait()
    place.registry.add(pa.table({"id": ["fourth"], "query": ["fire (w1 OR w2 OR w5)"]}))
    assert place.mapping(3) == "learned-1" and not place.preparer.is_busy
    assert {key.name for key in place.home.releases.glob("release-*")} == {"release-4-learned-1.json"}
    files = {path.name for path in place.home.releases.glob("*.tidings")}
    assert files == place.handler._opened().release(place.registry, 4).files


def test_a_move_is_taken_when_it_is_ready_and_a_replay_takes_what_its_pin_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Held(tmp_path, monkeypatch)
    assert place.mapping(0) == "hash-3"
    parcels = Mapping.hashed(3).parcels.of(WORDS).parcels.tolist()
    assert place.home.move(Move(parcel, to=1) for parcel in set(parcels)) == "moved-1"
    assert place.home.move(Move(parcel, to=2) for parcel in set(parcels)) == "moved-2"
    assert place.mapping(1) == "hash-3"
    place.gate.set()
    place.preparer.wait()
    place.begin(2)  # and dies
    found, pin = place.run(2), place.home.journal.pin(2)
    assert pin is not None and (pin.mapping, found) == ("moved-2", expected(place.registry))
    release = place.handler._opened().release(place.registry, pin.version, pin.mapping)
    router = Router.open(*(place.home.releases / name for name in release.routers))
    assert set(router.route(POSTS).pairs()[1].tolist()) == {2}


def test_a_mapping_that_cannot_be_prepared_is_told_by_the_next_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    place = Held(tmp_path, monkeypatch)
    assert place.mapping(0) == "hash-3"
    place.home.mappings.put(TURNED, page(3, 3))
    prepare = Releases.prepare

    def full(releases: Releases, registry: Registry, *key: object) -> Release:
        if threading.current_thread() is not threading.main_thread():
            raise OSError("no space left on device")
        return prepare(releases, registry, *key)  # type: ignore[arg-type]

    monkeypatch.setattr(Releases, "prepare", full)
    assert place.mapping(1) == "hash-3"
    place.preparer.wait()
    assert "could not be prepared" in caplog.text
    assert place.mapping(2) == "learned-1"


def test_moves_are_refused_before_a_batch_and_where_other_parcels_are_about_to_be_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Held(tmp_path, monkeypatch)
    with pytest.raises(DataError, match="no batch yet"):
        place.home.move([Move(0, 1)])
    assert place.mapping(0) == "hash-3"
    place.home.mappings.put(TURNED, page(3, 3))
    with pytest.raises(DataError, match="'learned-1' with other parcels"):
        place.home.move([Move(0, 1)])
    whole = Place(tmp_path / "whole", Plan("replicated"))
    whole.run(0)
    with pytest.raises(DataError, match="has no parcels"):
        whole.home.move([Move(0, 1)])
