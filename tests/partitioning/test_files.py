from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.partitioning.hybrid.test_ps2_partitioners import PARTITIONERS, two_regions
from tests.partitioning.hybrid.toys import workload
from tidings.arrays.files import JSON, write_arrays
from tidings.model import DataError
from tidings.partitioning import Mapping, Move
from tidings.partitioning.files import open_mapping, save_mapping


def test_mappings_of_words_and_of_places_come_back_with_their_owners(tmp_path: Path) -> None:
    places = PARTITIONERS["hybrid"](workload(*two_regions()), 4).mapping()
    for n, mapping in enumerate([Mapping.hashed(4), places, places.moved([Move(0, 3)])]):
        save_mapping(tmp_path / str(n), mapping)
        assert open_mapping(tmp_path / str(n)) == mapping


def test_a_file_that_is_no_mapping_is_told_by_name(tmp_path: Path) -> None:
    places = PARTITIONERS["kd-tree"](workload(*two_regions()), 4).mapping()
    assert places.parcels.gridt is not None
    owner = np.full(places.parcels.count, 9, dtype=np.int32)
    meta: dict[str, JSON] = {"kind": "mapping of places", "matchers": 4}
    write_arrays(tmp_path / "odd", {**places.parcels.gridt.arrays(), "owner": owner}, meta)
    with pytest.raises(DataError, match=r"odd' is no mapping .*needs an owner among 4"):
        open_mapping(tmp_path / "odd")
    write_arrays(tmp_path / "empty", {"owner": owner}, meta)
    with pytest.raises(DataError, match="no grid of regions"):
        open_mapping(tmp_path / "empty")
