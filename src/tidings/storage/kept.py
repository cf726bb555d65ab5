"""Which publications of the past may answer a query? Those that are kept, filed under their terms.

A publication is logged first, under its number. Some thousand together become a *block* later: for each term a list
of those that have it, as a value list of [LSM] 4. Blocks lie in buckets, which are dropped whole when they are older
than ``keep`` or when all together are larger than ``keep_bytes``. What is in no block yet, the *tail*, is read one by
one.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from struct import Struct
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tidings.analysis import Analyser
from tidings.analysis.fast import FastAnalyser
from tidings.arrays import IntArray
from tidings.language import Conjunction
from tidings.storage.guards import Span, is_exact, keys_of, spans_of, word_key
from tidings.storage.kept_rows import KeptRow, times_of
from tidings.storage.keys import LATEST
from tidings.storage.spaces import KeySpace, Put

BLOCK = 4096
"""So many publications become a block."""

MAX_TAIL = 512
"""Of a longer tail a reader makes a block first: each publication there is verified."""

PARTS = 8
"""So many buckets hold all that is kept; one more is being filled."""

_LOG, _BLOCKS, _AFTER_BLOCKS = b"\0", b"\1", b"\2"
_FROM = b"from"
_MAX_WORDS = 2_000_000
_SUMMARY = Struct(">QQqqqq")


@dataclass(frozen=True, slots=True)
class Logged:
    """A publication of the tail."""

    number: int
    bucket: int
    row: KeptRow
    size_bytes: int


class KeptCandidate(NamedTuple):
    """A publication that may answer a query; it does for sure, or has to be verified."""

    number: int
    row: KeptRow
    is_sure: bool


@dataclass(frozen=True, slots=True)
class FiledBlock:
    """Publications with numbers in a row; when the first and the last of them happened, when the last came, its
    size."""

    first: int
    count: int
    happened_first: int
    happened_last: int
    came_last: int
    size_bytes: int

    def packed(self) -> bytes:
        return _SUMMARY.pack(
            self.first, self.count, self.happened_first, self.happened_last, self.came_last, self.size_bytes
        )


@dataclass(slots=True)
class Bucket:
    """What is kept between two instants at which publications came."""

    came_first: int
    came_last: int
    size_bytes: int
    blocks: list[FiledBlock]


class KeptPublications:
    """The publications of the past, at least those that came in the last ``keep`` microseconds, unless they would be
    larger than ``keep_bytes``. Safe to share between threads. All instants are microseconds since 1970."""

    def __init__(self, space: KeySpace, analyser: Analyser, now: int, keep: int, keep_bytes: int | None = None) -> None:
        self._space = space
        self._analyser = analyser
        self._keep = keep
        self._keep_bytes = LATEST if keep_bytes is None else keep_bytes
        self._turn, self._filing = threading.Lock(), threading.Lock()
        self._fast = FastAnalyser(analyser)
        self._tail: list[Logged] = []
        self._buckets: dict[int, Bucket] = {}
        self._next = 0
        for bucket in space.buckets():
            self._recover(bucket)
        if not space.remembered(_FROM):
            space.remember(_FROM, now)

    @property
    def next_number(self) -> int:
        """The number of the next publication: all before it are past."""
        return self._next

    @property
    def whole_since(self) -> int:
        """All that came since this instant is kept."""
        return self._space.remembered(_FROM)

    def missed(self, now: int) -> None:
        """Know that publications up to now may have come and not been kept."""
        self._space.remember(_FROM, max(self.whole_since, now))

    @property
    def is_due(self) -> bool:
        """Whether it is time for :meth:`file`."""
        return len(self._tail) >= BLOCK

    @property
    def size_bytes(self) -> int:
        """How much is kept, about."""
        return sum(bucket.size_bytes for bucket in self._buckets.values())

    def add(self, rows: Sequence[KeptRow]) -> None:
        """Keep publications that come now. When this returns, they outlive the process."""
        if not rows:
            return
        with self._turn:
            bucket = self._bucket_at(rows[0].came)
            packed = [row.packed() for row in rows]
            self._space.write([Put(bucket, _log_key(self._next + n), text) for n, text in enumerate(packed)])
            sizes = [len(text) for text in packed]
            numbered = enumerate(zip(rows, sizes, strict=True), self._next)
            self._tail += [Logged(number, bucket, *each) for number, each in numbered]
            self._next += len(rows)
            held = self._buckets.setdefault(bucket, Bucket(rows[0].came, rows[0].came, 0, []))
            held.came_last = max(held.came_last, rows[-1].came)
            held.size_bytes += sum(sizes)

    def file(self) -> None:
        """Make blocks of the tail."""
        with self._filing:
            with self._turn:
                tail = list(self._tail)
            for bucket, group in groupby(tail, lambda logged: logged.bucket):
                members = list(group)
                for start in range(0, len(members), BLOCK):
                    self._file(bucket, members[start : start + BLOCK])

    def read(self, form: tuple[Conjunction, ...], since: int, until: int, before: int, now: int) -> list[KeptCandidate]:
        """Candidates for a query: publications with numbers under ``before`` that happened in ``[since, until)`` and
        have not ended; the newest first."""
        if len(self._tail) > MAX_TAIL:
            self.file()
        asked = [(spans_of(conjunction), is_exact(conjunction)) for conjunction in form]
        with self._turn:
            found = [KeptCandidate(one.number, one.row, False) for one in self._tail]
            for bucket, held in self._buckets.items():
                blocks = [one for one in held.blocks if one.happened_last >= since and one.happened_first < until]
                found += self._rows(bucket, blocks, asked, lambda times: since <= times[1] < until and now < times[2])
        past = [one for one in found if since <= one.row.happened < until and now < one.row.ends]
        return sorted((one for one in past if one.number < before), key=lambda one: -one.number)

    def close(self) -> None:
        with self._filing, self._turn:
            self._space.close()

    # ------------------------------------------------------------------------------------------------ buckets

    def _bucket_at(self, now: int) -> int:
        """The bucket for what comes now: the newest one, or a new one if that is full; too old ones are dropped."""
        self._drop_old(now)
        newest = next(reversed(self._buckets), None)
        if newest is not None:
            held = self._buckets[newest]
            if now - held.came_first < self._keep // PARTS and held.size_bytes < self._keep_bytes // PARTS:
                return newest
        return self._next

    def _drop_old(self, now: int) -> None:
        while self._buckets:
            oldest, held = next(iter(self._buckets.items()))
            if held.came_last >= now - self._keep and self.size_bytes <= self._keep_bytes:
                return
            self._space.remember(_FROM, max(self.whole_since, held.came_last + 1))
            self._tail = [logged for logged in self._tail if logged.bucket != oldest]
            del self._buckets[oldest]
            self._space.drop(oldest)

    def _recover(self, bucket: int) -> None:
        """Know again what is in a bucket."""
        blocks = [FiledBlock(*_SUMMARY.unpack(value)) for _, value in self._space.scan(bucket, _BLOCKS, _AFTER_BLOCKS)]
        self._next = blocks[-1].first + blocks[-1].count if blocks else bucket
        size = sum(block.size_bytes for block in blocks)
        for _, packed in self._space.scan(bucket, _log_key(self._next), _BLOCKS):
            self._tail.append(Logged(self._next, bucket, KeptRow.unpacked(packed), len(packed)))
            size += len(packed)
            self._next += 1
        came = [times_of(packed)[0] for packed in (self._space.get(bucket, _log_key(bucket)),) if packed]
        came += [block.came_last for block in blocks]
        came += [logged.row.came for logged in self._tail if logged.bucket == bucket]
        if came:
            self._buckets[bucket] = Bucket(came[0], max(came), size, blocks)
        else:
            self._space.drop(bucket)

    # ------------------------------------------------------------------------------------------------ blocks

    def _file(self, bucket: int, members: list[Logged]) -> None:
        first, happened = members[0].number, [logged.row.happened for logged in members]
        lists = self._lists([logged.row for logged in members])
        suffix = first.to_bytes(8, "big")
        puts = [Put(bucket, key + suffix, value) for key, value in lists]
        size = sum(len(put.key) + len(put.value) for put in puts)
        logged_bytes = sum(logged.size_bytes for logged in members)
        came = max(logged.row.came for logged in members)
        block = FiledBlock(first, len(members), min(happened), max(happened), came, size + logged_bytes)
        with self._turn:
            if bucket in self._buckets:
                self._space.write([*puts, Put(bucket, _BLOCKS + suffix, block.packed())])
                self._buckets[bucket].blocks.append(block)
                self._buckets[bucket].size_bytes += size
                self._tail = [logged for logged in self._tail if logged.number >= first + len(members)]

    def _lists(self, rows: list[KeptRow]) -> Iterator[tuple[bytes, bytes]]:
        """For each key the places in the block of those that have it, as big-endian uint16."""
        if len(self._fast.vocabulary) > _MAX_WORDS:
            self._fast = FastAnalyser(self._analyser)
        sets = self._fast.analyse(pa.array([row.publication.text for row in rows], pa.large_string()))
        places = np.repeat(np.arange(len(rows), dtype=np.uint16), np.diff(sets.offsets))
        order = np.argsort(sets.ids, kind="stable")
        words, starts = np.unique(sets.ids[order], return_index=True)
        parts = np.split(places[order].astype(">u2"), starts[1:])
        for word, part in zip(words.tolist(), parts, strict=False):
            yield word_key(self._fast.vocabulary[word]), part.tobytes()
        others: dict[bytes, list[int]] = defaultdict(list)
        for place, row in enumerate(rows):
            for key in set(keys_of(row.publication)):
                others[key].append(place)
        for key, own in others.items():
            yield key, np.array(own, dtype=">u2").tobytes()

    def _rows(
        self,
        bucket: int,
        blocks: list[FiledBlock],
        asked: list[tuple[list[list[Span]], bool]],
        wanted: Callable[[tuple[int, int, int]], bool],
    ) -> Iterator[KeptCandidate]:
        """The rows of some blocks that may answer one of the conjunctions."""
        if not blocks:
            return
        sure: dict[int, bool] = {}
        for spans, exact in sorted(asked, key=lambda each: each[1]):
            sure.update(dict.fromkeys(self._candidates(bucket, blocks, spans).tolist(), exact))
        for number, is_sure in sure.items():
            packed = self._space.get(bucket, _log_key(number))
            if packed is not None and wanted(times_of(packed)):
                yield KeptCandidate(number, KeptRow.unpacked(packed), is_sure)

    def _candidates(self, bucket: int, blocks: list[FiledBlock], asked: list[list[Span]]) -> IntArray:
        """The numbers of those that have a key in some span of each list; of all where nothing is asked by key."""
        if not asked:
            return np.concatenate([np.arange(one.first, one.first + one.count) for one in blocks])
        firsts = {one.first for one in blocks}
        lists = sorted((self._members(bucket, spans, firsts) for spans in asked), key=len)
        left = lists[0]
        for one in lists[1:]:
            left = np.intersect1d(left, one, assume_unique=True)
        return left

    def _members(self, bucket: int, spans: Iterable[Span], firsts: set[int]) -> IntArray:
        parts = [np.zeros(0, dtype=np.int64)]
        for start, end in spans:
            for key, value in self._space.scan(bucket, start, end):
                first = int.from_bytes(key[-8:], "big")
                if first in firsts:
                    parts.append(np.frombuffer(value, dtype=">u2") + np.int64(first))
        return np.unique(np.concatenate(parts))


def _log_key(number: int) -> bytes:
    return _LOG + number.to_bytes(8, "big")
