"""Which of these publications may answer a query? A block: publications as columns, and lists of those with a key.

A block never changes. It is in memory, or mapped from a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidings.arrays import IdArray, IntArray, NamedArrays
from tidings.arrays.files import AnyArray, Pieces, named, open_arrays, open_verified, write_arrays
from tidings.arrays.strings import text_bytes
from tidings.model import DataError
from tidings.storage.guards import WORD, KeptGuard, column_name, keys_of, numbers_of
from tidings.storage.kept_lists import NO_VALUES, TEXT, KeptLists, encoded
from tidings.storage.kept_rows import KeptRows, rest_of
from tidings.storage.word_lists import WordLists
from tidings.storage.word_lists import named as named_words
from tidings.tables.columns import number_keys

FORMAT = 1
_TEXTS = ("ids", "texts", "rests")
_LISTS, _NUMBERS = "lists_", "numbers_"
_FIELD_COLUMNS = {column_name("ts", True): "ts", column_name("lat", False): "lat", column_name("lon", False): "lon"}


class Window(NamedTuple):
    """Publications that happened in ``[since, until)``, end after ``now``, have a number under ``before`` and were
    matched with a version under ``version``."""

    since: int
    until: int
    now: int
    before: int
    version: int


@dataclass(frozen=True, slots=True, eq=False)
class KeptBlock:
    """Publications with numbers in a row, ``first`` being the first: ``lists`` by key, ``numbers`` by column.

    ``words``: their words by number, if these have no lists by key yet.
    """

    first: int
    rows: KeptRows
    lists: KeptLists
    numbers: KeptLists
    words: WordLists | None = None

    @classmethod
    def of(cls, first: int, rows: KeptRows, words: WordLists) -> KeptBlock:
        """File them."""
        keys, key_places, columns, column_places, values = _rest_keys(rows)
        lists = KeptLists.of(*encoded(keys), np.array(key_places, dtype=np.int32), NO_VALUES)
        numbers = np.array(column_places, dtype=np.int32), np.array(values, dtype=np.int64)
        return cls(first, rows, lists, KeptLists.of(*encoded(columns), *numbers), words)

    @classmethod
    def joined(cls, blocks: Sequence[KeptBlock]) -> KeptBlock:
        """One of several, each with the numbers that follow those of the one before; their words stay numbers, of one
        vocabulary."""
        if len(blocks) == 1:
            return blocks[0]
        first = blocks[0].first
        bases = [block.first - first for block in blocks]
        rows = KeptRows.joined([block.rows for block in blocks])
        lists = KeptLists.joined([block.lists for block in blocks], bases)
        words = WordLists.joined([block.words for block in blocks if block.words is not None])
        return cls(first, rows, lists, KeptLists.joined([block.numbers for block in blocks], bases), words)

    @classmethod
    def sealed(cls, blocks: Sequence[KeptBlock]) -> KeptBlock:
        """One of several with lists by key of all words, as a file has it."""
        return cls(blocks[0].first, KeptRows.joined([block.rows for block in blocks]), *_sealed_lists(blocks))

    @classmethod
    def filed(cls, blocks: Sequence[KeptBlock], path: Path) -> KeptBlock:
        """The same from a new file, whole or not at all, into which the columns are put together: nowhere else."""
        lists, numbers = _sealed_lists(blocks)
        arrays: dict[str, AnyArray | Pieces] = {}
        for field in fields(KeptRows):
            columns = [getattr(block.rows, field.name) for block in blocks]
            if field.name in _TEXTS:
                arrays[f"{field.name}_offsets"], arrays[f"{field.name}_data"] = _text_pieces(columns)
            else:
                arrays[field.name] = columns
        arrays |= lists.arrays(_LISTS) | numbers.arrays(_NUMBERS)
        write_arrays(path, arrays, named(path, {"format": FORMAT, "first": blocks[0].first}))
        return cls.opened(path, is_new=True)

    @classmethod
    def opened(cls, path: Path, is_new: bool = False) -> KeptBlock:
        """The block of a file, which is read once unless it is new; DataError if it is damaged."""
        file = open_arrays(path) if is_new else open_verified(path)
        try:
            if file.meta["format"] != FORMAT:
                raise DataError(f"{str(path)!r} has the format {file.meta['format']!r}, this tidings reads {FORMAT}")
            lists, numbers = (KeptLists.from_arrays(file.arrays, prefix) for prefix in (_LISTS, _NUMBERS))
            return cls(int(file.meta["first"]), _rows(file.arrays), lists, numbers)
        except (KeyError, TypeError) as error:
            raise DataError(f"{str(path)!r} has no publications that were kept: {error!r} is missing") from error

    def __len__(self) -> int:
        return len(self.rows)

    def candidates(self, asked: Sequence[KeptGuard], window: Window) -> FoundInBlock:
        """Those that may answer one of some conjunctions, the newest first."""
        found = [self._places(each) for each in asked]
        places = np.unique(np.concatenate(found)) if len(found) > 1 else found[0]
        is_sure = np.zeros(len(places), dtype=np.bool_)
        for each, own in zip(asked, found, strict=True):
            if each.is_exact:
                is_sure |= np.isin(places, own, assume_unique=True) if len(found) > 1 else True
        chosen = self._within(places, window)
        if chosen is not None:
            places, is_sure = places[chosen], is_sure[chosen]
        return FoundInBlock(self, places[::-1], is_sure[::-1])

    def _within(self, places: IdArray, window: Window) -> npt.NDArray[np.bool_] | None:
        """Which of some places are in a window; None if all publications of the block are."""
        rows, (since, until, now, before, version) = self.rows, window
        first, last, first_end, newest = rows.limits
        is_whole = since <= first and last < until and now < first_end and newest < version
        if is_whole and self.first + len(self) <= before:
            return None
        happened = rows.happened[places]
        chosen = (since <= happened) & (happened < until) & (now < rows.ends[places])
        if self.first + len(self) > before:
            chosen &= places < before - self.first
        within: npt.NDArray[np.bool_] = chosen & (rows.version[places] < version)
        return within

    def _places(self, asked: KeptGuard) -> IdArray:
        """Those that may answer a conjunction."""
        left: IdArray | None = None
        for own in sorted((self._with_any(keys) for keys in asked.keys), key=len):
            left = own if left is None else np.intersect1d(left, own, assume_unique=True)
        for wanted in asked.ranges if left is None or len(left) else ():
            left = self._in_range(left, wanted.column, wanted.low, wanted.high)
        if left is None:
            left = self._with_ids(asked.ids) if asked.ids else np.arange(len(self), dtype=np.int32)
        for boxes in asked.regions:
            lon, lat = self.rows.lon[left], self.rows.lat[left]
            inside = [(b.west <= lon) & (lon <= b.east) & (b.south <= lat) & (lat <= b.north) for b in boxes]
            left = left[np.any(inside, axis=0)]
        for key in asked.without:
            left = np.setdiff1d(left, self._with_key(key), assume_unique=True)
        return left

    def _with_any(self, keys: Sequence[str]) -> IdArray:
        """The places that have one of some keys."""
        if len(keys) == 1:
            return self._with_key(keys[0])
        return np.unique(np.concatenate([self._with_key(key) for key in keys]))

    def _with_key(self, key: str) -> IdArray:
        if self.words is not None and key.startswith(WORD):
            return self.words.with_word(key.removeprefix(WORD))
        return self.lists.with_key(key)

    def _in_range(self, left: IdArray | None, column: str, low: int, high: int) -> IdArray:
        if column in _FIELD_COLUMNS:
            values = getattr(self.rows, _FIELD_COLUMNS[column])
            keys = values if values.dtype == np.int64 else number_keys(values)
            own = np.flatnonzero((low <= keys) & (keys <= high)).astype(np.int32)
        else:
            own = self.numbers.between(column, low, high)
        return own if left is None else np.intersect1d(left, own, assume_unique=True)

    def _with_ids(self, ids: Sequence[str]) -> IdArray:
        has_one = pc.is_in(self.rows.ids, pa.array(ids, TEXT)).to_numpy(zero_copy_only=False)
        return np.flatnonzero(has_one).astype(np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class FoundInBlock:
    """Places in a block, the newest first, and for each whether it does answer the query, or has to be verified."""

    block: KeptBlock
    places: IdArray
    is_sure: npt.NDArray[np.bool_]

    def ids(self) -> list[str]:
        """The ids of the publications."""
        found: list[str] = self.block.rows.ids.take(pa.array(self.places)).to_pylist()
        return found

    def rows(self, chosen: npt.NDArray[np.bool_] | slice = slice(None)) -> KeptRows:
        """The publications, or some of them."""
        return self.block.rows.taken(self.places[chosen])

    def to_verify(self) -> KeptRows:
        """Those that may answer the query."""
        return self.block.rows.taken(self._doubtful)

    def texts_to_verify(self) -> pa.LargeStringArray:
        """Their texts."""
        return self.block.rows.texts.take(pa.array(self._doubtful))

    @property
    def _doubtful(self) -> IdArray:
        return self.places[~self.is_sure] if self.is_sure.any() else self.places

    def without(self, left_out: npt.NDArray[np.bool_]) -> FoundInBlock:
        """Without some of them."""
        return FoundInBlock(self.block, self.places[~left_out], self.is_sure[~left_out])

    def verified(self, answers: npt.NDArray[np.bool_]) -> FoundInBlock:
        """Those that do answer the query: ``answers`` says it of those that had to be verified."""
        is_sure = self.is_sure.copy()
        is_sure[~self.is_sure] = answers
        return FoundInBlock(self.block, self.places[is_sure], is_sure[is_sure])


def _sealed_lists(blocks: Sequence[KeptBlock]) -> tuple[KeptLists, KeptLists]:
    """Lists by key of all words and values, and by column of all numbers."""
    bases = [block.first - blocks[0].first for block in blocks]
    words = named_words([block.words for block in blocks if block.words is not None])
    lists = KeptLists.joined([block.lists for block in blocks], bases)
    numbers = KeptLists.joined([block.numbers for block in blocks], bases)
    return KeptLists.joined([words, lists], (0, 0)) if len(lists.places) else words, numbers


def _text_pieces(columns: Sequence[pa.LargeStringArray]) -> tuple[Pieces, Pieces]:
    """Where each text begins, and the texts."""
    offsets, texts, end = [np.zeros(1, dtype=np.int64)], [], 0
    for column in columns:
        data, bounds = text_bytes(column)
        offsets.append(bounds[1:] + (end - bounds[0]))
        texts.append(data[bounds[0] : bounds[-1]])
        end += int(bounds[-1] - bounds[0])
    return offsets, texts


def _rest_keys(rows: KeptRows) -> tuple[list[str], list[int], list[str], list[int], list[int]]:
    """Keys of topics and attributes with the places that have them; columns of numbers, their places and values."""
    keys, key_places, columns, column_places, values = list[str](), list[int](), list[str](), list[int](), list[int]()
    some = rows.with_rest
    for place, rest in zip(some, rows.rests.take(pa.array(some, pa.int64())).to_pylist(), strict=True):
        topics, attributes = rest_of(rest)
        own = dict.fromkeys(keys_of(topics, attributes))
        keys += own
        key_places += [place] * len(own)
        for column, value in numbers_of(attributes):
            columns.append(column)
            column_places.append(place)
            values.append(value)
    return keys, key_places, columns, column_places, values


def _rows(arrays: NamedArrays) -> KeptRows:
    return KeptRows(**{
        field.name: _texts(arrays[f"{field.name}_offsets"], arrays[f"{field.name}_data"])
        if field.name in _TEXTS else arrays[field.name]
        for field in fields(KeptRows)
    })  # fmt: skip


def _texts(offsets: IntArray, data: npt.NDArray[np.uint8]) -> pa.LargeStringArray:
    return pa.Array.from_buffers(TEXT, len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)])
