"""Which of several matchers delivers a match that all of them find? The first one, and each knows by itself who it is.

A subscription lives whole at every matcher that owns a term under which it is filed (its *homes*), a publication is
sent whole to an owner of each such term that it carries (its *route*). So every matcher of both finds the match, and
the lowest of them delivers it: nobody has to ask another.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidings.arrays import IntArray
from tidings.arrays.files import ArrayFile, named, open_verified, write_arrays
from tidings.arrays.strings import StringTable
from tidings.model import DataError
from tidings.partitioning import MatcherSets

_KIND = "homes"
_SETS = "sets"


@dataclass(frozen=True, slots=True, eq=False)
class Homes:
    """The homes of those subscriptions that have several: ``sets[n]`` are those of the n-th of ``ids``."""

    ids: StringTable
    sets: MatcherSets

    @classmethod
    def of(cls, ids: pa.Array | pa.ChunkedArray, sets: MatcherSets) -> Homes:
        """Those of some subscriptions; what has one home only is left out."""
        several = np.flatnonzero(sets.sizes() > 1)
        return cls(StringTable.of(ids.take(pa.array(several))), sets.taken(several))

    def __len__(self) -> int:
        return len(self.ids)

    def changed(self, newer: Homes, ids: Iterable[str]) -> Homes:
        """The homes after a change: ``ids`` are all that came, changed or went, ``newer`` has the homes of now."""
        kept = np.ones(len(self), dtype=np.bool_)
        numbers = self.ids.find_many(pa.array(ids, pa.large_string()))
        if not len(newer) and np.all(numbers < 0):
            return self
        kept[numbers[numbers >= 0]] = False
        texts = pa.concat_arrays([self.ids.texts().filter(pa.array(kept)), newer.ids.texts()])
        return Homes(StringTable.of(texts), MatcherSets(np.concatenate([self.sets.words[kept], newer.sets.words])))

    def since(self, before: Homes) -> Homes:
        """What has changed since then: those that are new or other ones, and with an empty set those that are gone."""
        numbers = before.ids.find_many(self.ids.texts())
        same = numbers >= 0
        same[same] = (before.sets.words[numbers[same]] == self.sets.words[same]).all(axis=1)
        gone = np.flatnonzero(self.ids.find_many(before.ids.texts()) < 0)
        texts = [self.ids.texts().filter(pa.array(~same)), before.ids.texts().take(pa.array(gone))]
        words = [self.sets.words[~same], np.zeros_like(before.sets.words[gone])]
        return Homes(StringTable.of(pa.concat_arrays(texts)), MatcherSets(np.concatenate(words)))

    def after(self, change: Homes) -> Homes:
        """The homes after a change that :meth:`since` has told.

        >>> homes = [
        ...     Homes.of(pa.array(["s", "t"]), MatcherSets(np.array([[0b110], [last]], dtype=np.uint64)))
        ...     for last in (0b11, 0b1)
        ... ]
        >>> [one.after(other.since(one)).ids.texts().to_pylist() for one, other in (homes, homes[::-1])]
        [['s'], ['s', 't']]
        """
        texts = change.ids.texts()
        return self.changed(Homes.of(texts, change.sets), texts)

    def save(self, path: Path) -> None:
        """Write them to a file."""
        write_arrays(path, {**self.ids.arrays(), _SETS: self.sets.words}, named(path, {"kind": _KIND}))

    @classmethod
    def open(cls, path: Path, *changes: Path) -> Homes:
        """The homes of a file, mapped, after the changes in others; what cannot be used is a DataError."""
        return cls.of_files(open_verified(path), *(open_verified(change) for change in changes))

    @classmethod
    def of_files(cls, file: ArrayFile, *changes: ArrayFile) -> Homes:
        """Those of files that are open."""
        homes = cls.of_file(file)
        for change in changes:
            homes = homes.after(cls.of_file(change))
        return homes

    @classmethod
    def of_file(cls, file: ArrayFile) -> Homes:
        """Those of a file that is open."""
        sets = file.arrays.get(_SETS)
        if file.meta.get("kind") != _KIND or sets is None or sets.ndim != 2:
            raise DataError(f"{str(file.path)!r} has no homes in it; check the path, or build the file anew")
        return cls(StringTable.from_arrays(file.arrays), MatcherSets(sets))


def once(
    rows: IntArray, ids: pa.Array | pa.ChunkedArray, matcher: int, routes: MatcherSets, homes: Homes
) -> npt.NDArray[np.bool_]:
    """Which of its matches a matcher delivers, bool[matches]: those that no matcher before it finds as well.

    Match i is of the row ``rows[i]``, which went to ``routes[rows[i]]``, and the subscription ``ids[i]``. ``homes`` has
    at least those of this matcher. Cost: some 0.1 µs a match, less where no subscription has several homes.

    >>> routes = MatcherSets(np.array([[0b110], [0b100]], dtype=np.uint64))
    >>> homes = Homes.of(pa.array(["s", "t"]), MatcherSets(np.array([[0b110], [0b100]], dtype=np.uint64)))
    >>> once(np.array([0, 0, 1]), pa.array(["s", "t", "s"]), 2, routes, homes)
    array([False,  True,  True])
    """
    kept = np.ones(len(rows), dtype=np.bool_)
    if len(homes):
        numbers = homes.ids.find_many(ids)
        several = np.flatnonzero(numbers >= 0)
        kept[several] = ~routes.taken(rows[several]).meet_below(homes.sets.taken(numbers[several]), matcher)
    return kept


def found_along(
    rows: IntArray, ids: pa.Array | pa.ChunkedArray, matcher: int, routes: MatcherSets, homes: Homes | None
) -> npt.NDArray[np.bool_]:
    """Which matches of a matcher would be found, there or elsewhere, if the rows went to ``routes``: bool[matches].

    The arguments are those of :func:`once`; ``homes`` is None where all of its subscriptions live there alone.

    >>> routes = MatcherSets(np.array([[0b010], [0b001]], dtype=np.uint64))
    >>> homes = Homes.of(pa.array(["s", "t"]), MatcherSets(np.array([[0b110], [0b100]], dtype=np.uint64)))
    >>> found_along(np.array([0, 0, 1]), pa.array(["s", "t", "s"]), 2, routes, homes)
    array([ True, False, False])
    """
    here = np.zeros(len(routes), dtype=np.bool_)
    here[routes.with_matcher(matcher)] = True
    found = here[rows]
    away = np.flatnonzero(~found)
    if homes is not None and len(homes) and len(away):
        numbers = homes.ids.find_many(ids.take(pa.array(away)))
        several, numbers = away[numbers >= 0], numbers[numbers >= 0]
        found[several] = (routes.words[rows[several]] & homes.sets.words[numbers]).any(axis=1)
    return found
