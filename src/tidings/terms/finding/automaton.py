"""Which of many literals stand in a text? An automaton that never changes, made of all of them at once."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tidings.arrays import IdArray, IntArray
from tidings.arrays.growing import read_only
from tidings.arrays.strings import ByteArray
from tidings.terms.finding import kernels

BEGIN, END = bytes([kernels.BEGIN]), bytes([kernels.END])
"""What a literal begins or ends with that stands at the beginning or the end of a text."""

_MAX_STEPS = 1 << 21
"""So many steps of the first states lie in rows: 8 MB."""

_FIRST_ROOM = 64
_MOST_STAMPS = 2**30


class _Scratch(threading.local):
    """What a thread needs to read with an automaton: when each literal was last seen, and room for what is found."""

    def __init__(self, states: int) -> None:
        self.now = 0
        self.stamps: IdArray = np.zeros(states, dtype=np.int32)
        self.end: IntArray = np.zeros(2, dtype=np.int64)
        self.bounds = read_only(self.end)
        self.room(_FIRST_ROOM)

    def room(self, count: int) -> None:
        self.texts: IntArray = np.empty(count, dtype=np.int64)
        self.literals: IdArray = np.empty(count, dtype=np.int32)

    def next_stamp(self, texts: int) -> int:
        """A number after which so many are free."""
        if self.now + texts > _MOST_STAMPS:
            self.stamps[:] = 0
            self.now = 0
        now, self.now = self.now, self.now + texts
        return now


class Automaton:
    """Different literals, none empty, numbered in the order given. To read costs some 10 to 50 ns a byte.

    >>> found = Automaton([b"ab", BEGIN + b"a", b"b" + END, b"c"])
    >>> [numbers.tolist() for numbers in found.find(*text_arrays([b"ab", b"cab!"]))], found.find_one(b"ca")
    ([[0, 0, 0, 1, 1], [1, 0, 2, 3, 0]], [3])
    """

    def __init__(self, literals: Sequence[bytes]) -> None:
        data, bounds = text_arrays(literals)
        seeds = read_only(np.frombuffer(os.urandom(16), dtype=np.uint64))
        classes = np.zeros(256, dtype=np.uint8)
        used = np.unique(data)
        classes[used] = np.arange(1, len(used) + 1)
        room = len(data) + 1
        slots = _slots(room)
        parents, letters, depths = (np.zeros(room, dtype=kind) for kind in (np.int32, np.uint8, np.int32))
        ends = np.zeros(len(literals), dtype=np.int32)
        states = kernels.plant(data, bounds, read_only(classes), seeds, slots, parents, letters, depths, ends)
        order = np.argsort(depths[:states], kind="stable")
        rank = np.empty(states, dtype=np.int32)
        rank[order] = np.arange(states)
        rows = np.empty((min(states, _MAX_STEPS // (len(used) + 1)), len(used) + 1), dtype=np.int32)
        slots, nodes = _slots(states - len(rows)), np.zeros((states, 4), dtype=np.int32)
        kernels.connect(rank[parents[order]], letters[order], rank[ends], seeds, slots, rows, nodes)
        self._arrays = read_only(classes), seeds, *map(read_only, (slots, rows, nodes))
        self._scratch = _Scratch(states)

    def find(self, data: ByteArray, bounds: IntArray) -> tuple[IntArray, IdArray]:
        """Numbers of texts and of the literals that they have, side by side; each pair once, in order of texts."""
        scratch = self._scratch
        parts: list[tuple[IntArray, IdArray]] = []
        first, count = 0, len(bounds) - 1
        while first < count or not parts:
            texts, literals, before = scratch.texts, scratch.literals, first
            now = scratch.next_stamp(count - first)
            found, first = kernels.find(first, data, bounds, *self._arrays, scratch.stamps, now, texts, literals)
            parts.append((texts[:found].copy(), literals[:found].copy()))
            if first < count:
                scratch.room(len(texts) * (2 if first > before else 8))
        if len(parts) == 1:
            return parts[0]
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    def find_one(self, text: bytes) -> list[int]:
        """The literals that one text has, each once."""
        scratch = self._scratch
        scratch.end[1] = len(text)
        return self.find(np.frombuffer(text, dtype=np.uint8), scratch.bounds)[1].tolist()  # type: ignore[no-any-return]


def _slots(steps: int) -> npt.NDArray[np.uint64]:
    return np.zeros((1 << (2 * steps + 1).bit_length(), 2), dtype=np.uint64)


def text_arrays(texts: Sequence[bytes]) -> tuple[ByteArray, IntArray]:
    """Bytes and bounds of texts, as kernels take them."""
    bounds = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in texts], out=bounds[1:])
    return read_only(np.frombuffer(b"".join(texts), dtype=np.uint8)), read_only(bounds)
