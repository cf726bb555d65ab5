"""What is dropped at once of the publications that are kept? A part: those that came within some time.

A publication joins the tail of the newest part. The tail becomes blocks, small ones become larger ones, and those of a
part that is full become one, in a file.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

from tidings.analysis import Analyser
from tidings.analysis.fast import FastAnalyser
from tidings.storage.guards import KeptGuard
from tidings.storage.kept_block import FoundInBlock, KeptBlock, Window
from tidings.storage.kept_rows import KeptRow, KeptRows, KeptTable
from tidings.storage.keys import EARLIEST, LATEST
from tidings.storage.record_log import RecordLog
from tidings.storage.word_lists import WordLists, WordNumbers

BLOCK = 4096
"""Blocks in memory are joined until they have so many publications."""

_MAX_WORDS = 2_000_000


@dataclass(slots=True)
class KeptPart:
    """Publications with numbers in a row: ``posts`` of them, of which the ``waiting`` last are in no block yet."""

    first: int
    came_first: int = LATEST
    came_last: int = EARLIEST
    size_bytes: int = 0
    posts: int = 0
    waiting: int = 0
    tail: list[KeptRow | KeptTable] = field(default_factory=list)
    blocks: list[KeptBlock] = field(default_factory=list)
    log: RecordLog | None = None
    position: int = 0
    is_filed: bool = False

    @property
    def end(self) -> int:
        """The number after its last one."""
        return self.first + self.posts

    def take(self, kept: KeptRow | KeptTable, size_bytes: int) -> None:
        """Add what comes now."""
        self.tail.append(kept)
        self.posts += kept.posts
        self.waiting += kept.posts
        self.size_bytes += size_bytes
        self.came_first, self.came_last = min(self.came_first, kept.came), max(self.came_last, kept.came)

    def fill(self, block: KeptBlock, size_bytes: int) -> None:
        """Have what a file has."""
        self.tail, self.blocks, self.is_filed = [], [block], True
        self.posts, self.waiting, self.size_bytes = len(block), 0, size_bytes
        self.came_first, self.came_last = int(block.rows.came.min()), int(block.rows.came.max())


class KeptParts:
    """Parts by their first number, and how to read them. Safe to share between threads."""

    def __init__(self, analyser: Analyser) -> None:
        self._analyser = analyser
        self._forget()
        self._turn, self._filing = threading.Lock(), threading.Lock()
        self._parts: dict[int, KeptPart] = {}

    @property
    def size_bytes(self) -> int:
        """How much is kept, about."""
        return sum(part.size_bytes for part in self._parts.values())

    def read(self, asked: Sequence[KeptGuard], window: Window) -> list[FoundInBlock]:
        """Candidates for some conjunctions, the newest block first."""
        with self._filing:
            for part in self._all():
                self._absorb(part)
            blocks = [block for part in self._all() for block in part.blocks]
        found = (block.candidates(asked, window) for block in reversed(blocks))
        return [each for each in found if len(each.places)]

    def _all(self) -> list[KeptPart]:
        with self._turn:
            return list(self._parts.values())

    def _absorb(self, part: KeptPart) -> None:
        """Make a block of the tail of a part; who calls it has the turn to file."""
        with self._turn:
            tail, first = list(part.tail), part.end - part.waiting
        if not tail:
            return
        if len(self._fast.vocabulary) > _MAX_WORDS:
            self._forget()
        blocks = [*part.blocks, KeptBlock.of(first, *self._read(tail))]
        while len(blocks) > 1 and _fit(*blocks[-2:]):
            blocks[-2:] = [KeptBlock.joined(blocks[-2:])]
        with self._turn:
            del part.tail[: len(tail)]
            part.waiting -= sum(kept.posts for kept in tail)
            part.blocks = blocks

    def _read(self, tail: Sequence[KeptRow | KeptTable]) -> tuple[KeptRows, WordLists]:
        """A tail as columns, and its words; those that matching has read are not read again."""
        rows, words = list[KeptRows](), list[WordLists]()
        with_words = [(kept, kept.words) for kept in tail]
        for is_read, group in groupby(with_words, key=lambda pair: pair[1] is not None):
            some = list(group)
            rows.append(KeptRows.gathered([kept for kept, _ in some]))
            if is_read:
                words += [self._numbers.of(sets) for _, own in some for sets in own or ()]
            else:
                words.append(WordLists(self._fast.vocabulary, self._fast.analyse(rows[-1].texts)))
        return KeptRows.joined(rows), WordLists.joined(words)

    def _forget(self) -> None:
        """Begin with no words; blocks have the vocabulary that they were made with."""
        self._fast = FastAnalyser(self._analyser)
        self._numbers = WordNumbers(self._fast.vocabulary)


def _fit(one: KeptBlock, next_one: KeptBlock) -> bool:
    """Whether two blocks become one."""
    if len(one) > len(next_one) or len(one) + len(next_one) > BLOCK or one.words is None or next_one.words is None:
        return False
    return one.words.vocabulary is next_one.words.vocabulary
