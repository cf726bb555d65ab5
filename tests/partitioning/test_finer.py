"""Parcels of parcels: each term keeps its region and gets one of several parts."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from tests.balancing.hand import halves
from tests.cluster.test_places import few, spread, two_halves
from tests.index.strategies import NOW
from tidings.cluster import Cluster
from tidings.index import BruteForce
from tidings.language import parse
from tidings.model import DataError, Subscription
from tidings.partitioning import Mapping, Move
from tidings.partitioning.files import open_mapping, save_mapping
from tidings.partitioning.finer import FinerParcels, finer


def test_a_part_belongs_to_the_parcel_that_it_is_a_part_of() -> None:
    mapping = two_halves()
    fine = finer(mapping, 4)
    cluster = Cluster(mapping)
    cluster.change(few("fire bounding_box:[0 0 1 9]", "rain bounding_box:[0 0 10 9]", "smoke"))
    assert cluster.router is not None
    names = cluster.router.terms.term_names()
    coarse, found = mapping.parcels.of(names), fine.parcels.of(names)
    assert np.array_equal(coarse.offsets, found.offsets) and np.array_equal(coarse.parcels, found.parcels // 4)
    assert len(set((found.parcels % 4).tolist())) > 1


def test_parts_of_a_region_may_live_apart_and_all_is_delivered_once() -> None:
    rng = random.Random(3)
    mapping = finer(two_halves(), 3)
    asked = [f"{word} bounding_box:[0 0 10 9]" for word in ("fire", "smoke", "rain")]
    cluster, oracle = Cluster(mapping, clock=lambda: NOW), BruteForce(clock=lambda: NOW)
    cluster.change(few(*asked))
    oracle.add([Subscription(f"q{n}", parse(query)) for n, query in enumerate(asked)])
    cluster.move([Move(parcel, parcel % 2) for parcel in range(mapping.parcels.count)])
    posts = spread(rng, 80)
    assert cluster.deliver(posts).pairs() == sorted(oracle.match(posts).pairs()) != []


def test_a_mapping_of_parts_comes_back_from_its_file(tmp_path: Path) -> None:
    for mapping in (two_halves(), finer(two_halves(), 3)):
        save_mapping(tmp_path / "mapping", mapping)
        assert open_mapping(tmp_path / "mapping") == mapping


def test_only_a_grid_of_regions_is_divided_and_only_once() -> None:
    for mapping in (Mapping.hashed(2), halves([0] * 6)):
        with pytest.raises(DataError, match="learn such a mapping"):
            finer(mapping, 2)
    with pytest.raises(DataError, match="1 part or more"):
        finer(two_halves(), 0)
    assert isinstance(halves([0] * 6).parcels, FinerParcels)
