"""The weights that METIS gets."""

from __future__ import annotations

import numpy as np

from tidings.partitioning.learning.network import _scaled


def test_counts_stay_as_they_are_and_fractions_become_as_fine_as_can_be_added_up() -> None:
    assert _scaled(np.array([3, 0, 5])).tolist() == [3, 1, 5]
    fine = _scaled(np.array([0.25, 0.5, 0.0]))
    assert abs(int(fine[1]) - 2 * int(fine[0])) <= 1 and fine[0] > 1000 and fine[2] == 1
