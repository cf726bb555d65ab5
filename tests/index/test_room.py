"""Where there is no room for the matches of a row, nothing is touched that does not belong to it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from tidings.index import GuardIndex, scanning
from tidings.index.kernels import ALWAYS, match_chained, match_side_by_side
from tidings.index.predicates import Predicates
from tidings.language import parse
from tidings.model import Subscription

ENTRIES = 2_000
TERM = 40
BEYOND = 64


ROOMS = [0, 10, 32, 1_000, 1_024, 1_500, 1_504, ENTRIES]
"""Some end where a word of bits does, so that the query without room is alone in the next one."""


@pytest.mark.parametrize("is_chained", [False, True])
@pytest.mark.parametrize("room", ROOMS)
def test_a_row_that_has_no_room_leaves_all_bits_clear(room: int, is_chained: bool) -> None:
    """Queries with several entries, more than are sifted at a time, and whatever lay in the room before."""
    starts = np.full(TERM + 1, -1, dtype=np.int32) if is_chained else np.zeros(TERM + 2, dtype=np.int32)
    starts[-1] = 0 if is_chained else ENTRIES
    link = np.append(np.arange(1, ENTRIES), -1).astype(np.int32)
    queries = -np.arange(ENTRIES, dtype=np.int32) - 1
    no_tests, no_stream, stream_offsets = (np.zeros(n, dtype=np.int32) for n in (0, 0, ENTRIES + 1))
    firsts = np.full(ENTRIES, ALWAYS, dtype=np.int32)
    bits = np.zeros(TERM // 32 + 1, dtype=np.uint32)
    memory = np.zeros(ENTRIES // 32 + 2 + BEYOND, dtype=np.uint32)
    memory[-BEYOND:] = 7
    out = np.full(room, 32 * (len(memory) - BEYOND + 5), dtype=np.int32)
    ends, counters = np.zeros(1, dtype=np.int64), np.zeros(4, dtype=np.int64)
    publications = _one_row(np.array([TERM], dtype=np.int32))
    entries = firsts, no_tests, stream_offsets, no_stream, queries
    scratch = bits, memory[:-BEYOND], out, ends, counters
    if is_chained:
        done = match_chained(0, *publications, starts, link, ENTRIES, *entries, *Predicates().arrays(), *scratch)
    else:
        done = match_side_by_side(0, *publications, starts, *entries, *Predicates().arrays(), *scratch)
    assert done == (room >= ENTRIES) and not bits.any() and not memory[:-BEYOND].any()
    assert (memory[-BEYOND:] == 7).all()
    if done:
        assert sorted(out.tolist()) == list(range(ENTRIES))


@pytest.mark.parametrize("seed", range(20))
def test_guards_of_all_sizes_are_sifted_together(seed: int) -> None:
    """Some have no entries, many have few, and some more than are sifted at a time."""
    random = np.random.default_rng(seed)
    sizes = np.append(0, np.where(random.random(1_500) < 0.98, random.integers(0, 12, 1_500), 1_100)).astype(np.int32)
    starts = np.append(0, np.cumsum(sizes)).astype(np.int32)
    has = random.random(len(sizes)) < 0.8
    has[ALWAYS] = True
    firsts = random.integers(0, len(sizes), starts[-1]).astype(np.int32)
    terms = np.append(random.permutation(np.flatnonzero(has)), [-1, len(sizes), len(sizes) + 7]).astype(np.int32)
    bits = np.zeros(len(sizes) // 32 + 2, dtype=np.uint32)
    out, ends = np.zeros(starts[-1], dtype=np.int32), np.zeros(1, dtype=np.int64)
    counters = np.zeros(4, dtype=np.int64)
    entries = (
        starts,
        firsts,
        *(np.zeros(n, dtype=np.int32) for n in (0, starts[-1] + 1, 0)),
        np.arange(starts[-1], dtype=np.int32),
    )
    scratch = bits, np.zeros(starts[-1] // 32 + 2, dtype=np.uint32), out, ends, counters
    assert match_side_by_side(0, *_one_row(terms), *entries, *Predicates().arrays(), *scratch) == 1
    guards = np.repeat(np.arange(len(sizes)), sizes)
    matched = np.flatnonzero(has[guards] & has[firsts])
    assert sorted(out[: ends[0]].tolist()) == matched.tolist() and not bits.any()
    assert counters.tolist() == [sizes[has].sum(), len(matched), len(matched), 0]


@pytest.mark.parametrize("is_recent", [True, False])
@pytest.mark.parametrize("room", [1, 31, 32, 33, 64, 96])
def test_alternatives_are_found_in_any_room(room: int, is_recent: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each query has two entries that match; where the room ends, the row is matched again, in more."""
    monkeypatch.setattr(scanning, "_FIRST_ROOM", room)
    index = GuardIndex()
    index.add(Subscription(f"s{i}", parse(f"fire OR smoke OR never{i}")) for i in range(100))
    if not is_recent:
        index.compact()
    table = pa.table({"id": ["a", "b", "c"], "text": ["fire and smoke", "smoke", "rain"]})
    for _ in range(2):
        found = index.match(table).pairs()
        assert sorted(found) == sorted((row, f"s{i}") for row in (0, 1) for i in range(100))


def _one_row(terms: npt.NDArray[np.int32]) -> tuple[np.ndarray, ...]:
    """A publication with these terms, and nothing else."""
    nowhere = np.full((1, 5), np.nan)
    tokens = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32)
    return terms, np.array([0, len(terms)]), np.zeros((1, 2), dtype=np.int64), nowhere, *tokens
