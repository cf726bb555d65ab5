"""Where there is no room for the matches of a row, nothing is touched that does not belong to it."""

from __future__ import annotations

import numpy as np
import pytest

from tidings.index.kernels import ALWAYS, match_side_by_side
from tidings.index.predicates import Predicates

ENTRIES = 2_000
TERM = 40
BEYOND = 64


@pytest.mark.parametrize("room", [10, 1_000, 1_500, ENTRIES])
def test_a_row_that_has_no_room_leaves_all_bits_clear(room: int) -> None:
    """Queries with several entries, more than are sifted at a time, and whatever lay in the room before."""
    starts = np.zeros(TERM + 2, dtype=np.int32)
    starts[-1] = ENTRIES
    queries = -np.arange(ENTRIES, dtype=np.int32) - 1
    no_tests, no_stream, stream_offsets = (np.zeros(n, dtype=np.int32) for n in (0, 0, ENTRIES + 1))
    firsts = np.full(ENTRIES, ALWAYS, dtype=np.int32)
    bits = np.zeros(TERM // 32 + 1, dtype=np.uint32)
    memory = np.zeros(ENTRIES // 32 + 2 + BEYOND, dtype=np.uint32)
    memory[-BEYOND:] = 7
    out = np.full(room, 32 * (len(memory) - BEYOND + 5), dtype=np.int32)
    ends, counters = np.zeros(1, dtype=np.int64), np.zeros(3, dtype=np.int64)
    publications = (
        np.array([TERM], dtype=np.int32),
        np.array([0, 1]),
        np.zeros((1, 2), dtype=np.int64),
        np.full(1, np.nan),
        np.full(1, np.nan),
        np.zeros(1, dtype=np.int64),
        np.zeros(0, dtype=np.int32),
    )
    entries = starts, firsts, no_tests, stream_offsets, no_stream, queries
    scratch = bits, memory[:-BEYOND], out, ends, counters
    done = match_side_by_side(0, *publications, *entries, *Predicates().arrays(), *scratch)
    assert done == (room >= ENTRIES) and not bits.any() and not memory[:-BEYOND].any()
    assert (memory[-BEYOND:] == 7).all()
    if done:
        assert sorted(out.tolist()) == list(range(ENTRIES))
