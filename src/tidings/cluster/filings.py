"""Under which terms is each subscription filed? Whoever takes one away has to know, so that a router counts right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidings.analysis.vocabulary import TermSets
from tidings.arrays import IdArray, NamedArrays
from tidings.arrays.files import open_arrays
from tidings.arrays.strings import StringTable
from tidings.model import DataError

_ID, _OFFSETS, _TERMS = "subscription_", "filed_offsets", "filed_terms"


@dataclass(frozen=True, slots=True, eq=False)
class Filings:
    """Subscription n of ``ids`` is filed under the terms ``terms.row(n)`` of a router; under none if it is gone."""

    ids: StringTable
    terms: TermSets

    @classmethod
    def of(cls, ids: pa.Array | pa.ChunkedArray, terms: TermSets, gone: Sequence[str] = ()) -> Filings:
        """Those of some subscriptions, and of some that are gone."""
        texts = pa.concat_arrays([_texts(ids), pa.array(gone, pa.large_string())])
        offsets = np.concatenate([terms.offsets, np.full(len(gone), terms.offsets[-1])])
        return cls(StringTable.of(texts), TermSets(offsets, terms.ids))

    @classmethod
    def none(cls) -> Filings:
        """Those of nobody."""
        return cls(StringTable.empty(), TermSets(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32)))

    def renumbered(self, numbers: IdArray) -> Filings:
        """The same where term t has the number ``numbers[t]``."""
        return Filings(self.ids, TermSets(self.terms.offsets, numbers[self.terms.ids]))

    def arrays(self) -> NamedArrays:
        """As arrays of a file, beside those of a router."""
        named = {f"{_ID}{name}": array for name, array in self.ids.arrays().items()}
        return {**named, _OFFSETS: self.terms.offsets, _TERMS: self.terms.ids}

    @classmethod
    def open(cls, path: Path) -> Filings:
        """Those in the file of a router; a DataError if there are none."""
        file = open_arrays(path)
        file.verify()  # kernels trust what they read
        own = {name.removeprefix(_ID): array for name, array in file.arrays.items() if name.startswith(_ID)}
        try:
            ids = StringTable.from_arrays(own)
            return cls(ids, TermSets(file.arrays[_OFFSETS], file.arrays[_TERMS]))
        except KeyError as error:
            raise DataError(f"{str(path)!r} has no filings in it ({error}); compile the index again") from None


def terms_of(parts: Sequence[Filings], ids: pa.Array) -> IdArray:
    """All terms under which these subscriptions are filed, int32, as often as they are; a later part counts."""
    left, found = _texts(ids), [np.zeros(0, dtype=np.int32)]
    for part in reversed(parts):
        numbers = part.ids.find_many(left)
        found.append(part.terms.taken(numbers[numbers >= 0]).ids)
        left = left.filter(pa.array(numbers < 0))
    return np.concatenate(found)


def filed_under(parts: Sequence[Filings], terms: npt.NDArray[np.bool_]) -> tuple[pa.Array, TermSets]:
    """The subscriptions that are filed under one of the terms t with ``terms[t]``, and all their terms.

    A later part counts. Cost: a pass over all filings, and some 0.5 µs for each subscription that is found.
    """
    texts, sets = [pa.array([], pa.large_string())], [Filings.none().terms]
    for n, part in enumerate(parts):
        hits = np.flatnonzero(terms[part.terms.ids])
        rows = np.unique(np.searchsorted(part.terms.offsets, hits, side="right") - 1)
        names = part.ids.texts().take(pa.array(rows))
        is_last = np.ones(len(rows), dtype=np.bool_)
        for later in parts[n + 1 :]:
            is_last &= later.ids.find_many(names) < 0
        texts.append(names.filter(pa.array(is_last)))
        sets.append(part.terms.taken(rows[is_last]))
    offsets = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(own.offsets) for own in sets]))])
    return pa.concat_arrays(texts), TermSets(offsets, np.concatenate([own.ids for own in sets]))


def merged(parts: Sequence[Filings], *, keep_gone: bool = False) -> Filings:
    """What the parts say together: a later one counts, and what is gone is left out, or kept as gone."""
    texts, counts = [pa.array([], pa.large_string())], [np.zeros(1, dtype=np.int64)]
    terms = [np.zeros(0, dtype=np.int32)]
    for n, part in enumerate(parts):
        own = part.ids.texts()
        is_last = (np.diff(part.terms.offsets) > 0) | keep_gone
        for later in parts[n + 1 :]:
            is_last &= later.ids.find_many(own) < 0
        sets = part.terms.taken(np.flatnonzero(is_last))
        texts.append(own.filter(pa.array(is_last)))
        counts.append(np.diff(sets.offsets))
        terms.append(sets.ids)
    offsets = np.cumsum(np.concatenate(counts))
    return Filings(StringTable.of(pa.concat_arrays(texts)), TermSets(offsets, np.concatenate(terms)))


def _texts(ids: pa.Array | pa.ChunkedArray) -> pa.LargeStringArray:
    column = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
    return column.cast(pa.large_string())


def some_terms(parts: Sequence[Filings], most: int) -> tuple[TermSets, float]:
    """Under which terms some subscriptions are filed, about ``most`` of them and evenly chosen, and for how many each
    of these stands. A later part counts. Cost: some 0.5 µs for each of them in each part."""
    there = [np.flatnonzero(np.diff(part.terms.offsets)) for part in parts]
    share = min(1.0, most / max(sum(len(rows) for rows in there), 1))
    sets = [Filings.none().terms]
    for n, (part, rows) in enumerate(zip(parts, there, strict=True)):
        chosen = rows[np.linspace(0, len(rows) - 1, round(share * len(rows))).astype(np.int64)]
        names, is_last = part.ids.texts().take(pa.array(chosen)), np.ones(len(chosen), dtype=np.bool_)
        for later in parts[n + 1 :]:
            is_last &= later.ids.find_many(names) < 0
        sets.append(part.terms.taken(chosen[is_last]))
    return TermSets.joined(sets), 1 / share
