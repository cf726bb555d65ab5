"""How do filed conjunctions lie in memory? Flat arrays, sorted by guard, never changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tidings.index.filing import Filing
from tidings.terms.vocabulary import IdArray, IntArray


@dataclass(frozen=True, slots=True)
class Segment:
    """Entries in order of their guard.

    Those of term t are ``starts[t] … starts[t + 1]`` (int64; terms beyond the end have none). Entry e asks for the term
    ``firsts[e]`` first, then for ``stream[stream_offsets[e] : stream_offsets[e + 1]]``, and belongs to the query
    ``entry_queries[e]`` (-q - 1 if q has other entries too); all int32. What a
    stream is: :mod:`tidings.index.kernels`.
    """

    starts: IntArray
    firsts: IdArray
    stream_offsets: IdArray
    stream: IdArray
    entry_queries: IdArray

    def __len__(self) -> int:
        return len(self.firsts)

    @property
    def size_bytes(self) -> int:
        arrays = (self.starts, self.firsts, self.stream_offsets, self.stream, self.entry_queries)
        return sum(array.nbytes for array in arrays)

    def guards(self) -> IntArray:
        """The guard of each entry."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


def filed(filings: Sequence[tuple[int, Filing]], has_others: Sequence[bool]) -> Segment:
    """The segment of conjunctions with their queries; ``has_others[i]`` if the query of i has further entries."""
    flat = [
        (guard, filing, -query - 1 if others or len(filing.guards) > 1 else query)
        for (query, filing), others in zip(filings, has_others, strict=True)
        for guard in filing.guards
    ]
    lengths = np.array([len(filing.stream) for _, filing, _ in flat], dtype=np.int64)
    return sorted_by_guard(
        np.array([guard for guard, _, _ in flat], dtype=np.int64),
        np.array([filing.first for _, filing, _ in flat], dtype=np.int32),
        lengths,
        np.array([v for _, filing, _ in flat for v in filing.stream], dtype=np.int32),
        np.array([query for _, _, query in flat], dtype=np.int32),
    )


def sorted_by_guard(
    guards: IntArray, firsts: IdArray, lengths: IntArray, stream: IdArray, entry_queries: IdArray
) -> Segment:
    """A segment from entries in any order; ``lengths`` are those of their parts of the stream."""
    order = np.argsort(guards, kind="stable")
    begins = np.cumsum(lengths) - lengths
    ends = np.concatenate([[0], np.cumsum(lengths[order])])
    places = np.repeat(begins[order] - ends[:-1], lengths[order]) + np.arange(ends[-1])
    counts = np.bincount(guards) if len(guards) else np.zeros(0, dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Segment(starts, firsts[order], ends.astype(np.int32), stream[places], entry_queries[order])


def merged(segments: Sequence[Segment]) -> Segment:
    """One segment with the entries of several."""
    return sorted_by_guard(
        np.concatenate([segment.guards() for segment in segments]),
        np.concatenate([segment.firsts for segment in segments]),
        np.concatenate([np.diff(segment.stream_offsets).astype(np.int64) for segment in segments]),
        np.concatenate([segment.stream for segment in segments]),
        np.concatenate([segment.entry_queries for segment in segments]),
    )
