"""How are queries filed where places are divided? By what they ask for beside places, and by the boxes of the places.

Who divides places files a conjunction in each of the parts that its boxes touch, under the guards that it has here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidings.analysis import Analyser
from tidings.analysis.vocabulary import TermSets
from tidings.arrays import IdArray, IntArray
from tidings.arrays.rows import places_of
from tidings.index.bulk import Plain, file_plain
from tidings.index.entries import Loose, joined, loose
from tidings.index.filing import Filer
from tidings.index.shaped import FiledColumns, FiledGroup, file_shaped
from tidings.language import Conjunction, area_of, parse_normal
from tidings.language.shapes.reading import read_shapes
from tidings.terms.even_grid import BoxSets


@dataclass(frozen=True, slots=True, eq=False)
class FiledBeside:
    """Conjunction c is one of query ``queries[c]`` (int64), and asks for the places of area c, none without a box.

    Its ``entries`` are those whose ``queries`` is c. They verify all that it asks for, places included. Of one that
    nothing can match there are none. Queries never fall, nor do the conjunctions of entries.
    """

    queries: IntArray
    areas: BoxSets
    entries: Loose

    def __len__(self) -> int:
        return len(self.queries)

    @classmethod
    def of_forms(cls, forms: Sequence[Sequence[Conjunction]], filer: Filer) -> FiledBeside:
        """That of some normal forms."""
        found = [conjunction for form in forms for conjunction in form]
        filed = [filer.file(conjunction, by_place=False) for conjunction in found]
        numbers = [number for number, own in enumerate(filed) for _ in own]
        return cls(
            np.repeat(np.arange(len(forms)), [len(form) for form in forms]),
            BoxSets.of([area_of(conjunction) for conjunction in found]),
            loose([entry for own in filed for entry in own], numbers),
        )

    @classmethod
    def of_column(cls, queries: pa.ChunkedArray, analyser: Analyser, filer: Filer) -> FiledBeside:
        """That of a column of valid queries: plain ones and frequent shapes column by column, the others one by one."""
        plain = file_plain(queries, analyser, filer.terms, filer.sample)
        parts, others = [_of_plain(plain)], np.setdiff1d(np.arange(len(queries)), plain.rows)
        shaped = read_shapes(queries.take(pa.array(others)), analyser)
        for group in file_shaped(shaped, filer, by_place=False):
            parts += [_of_columns(others[group.rows], group, filed) for filed in group.conjunctions]
        others = np.setdiff1d(others, others[shaped.rows])
        forms = [parse_normal(text, analyser=analyser)[1] for text in queries.take(pa.array(others)).to_pylist()]
        one_by_one = cls.of_forms(forms, filer)
        return _in_order([*parts, cls(others[one_by_one.queries], one_by_one.areas, one_by_one.entries)])

    def in_regions(self, regions: TermSets) -> tuple[IdArray, IntArray]:
        """Each entry in each region of its conjunction: the regions, and the entries beside them.

        ``regions``: those of the areas. Conjunctions never fall.
        """
        each = np.bincount(self.entries.queries, minlength=len(self))
        counts = np.diff(regions.offsets) * each
        pairs = np.repeat(np.arange(len(self)), counts)
        place = np.arange(len(pairs)) - np.repeat(np.cumsum(counts) - counts, counts)
        begins = np.cumsum(each) - each
        return regions.ids[regions.offsets[pairs] + place // each[pairs]], begins[pairs] + place % each[pairs]


def _of_plain(plain: Plain) -> FiledBeside:
    entries = plain.entries.taken(plain.queries).with_queries(np.arange(len(plain.rows), dtype=np.int32))
    return FiledBeside(plain.rows, BoxSets.nowhere(len(plain.rows)), entries)


def _of_columns(rows: IntArray, group: FiledGroup, filed: FiledColumns) -> FiledBeside:
    """One conjunction of the queries of a group, of which several rows may be the same."""
    order = np.argsort(filed.entries.queries, kind="stable")
    counts = np.bincount(filed.entries.queries, minlength=group.count)
    offsets, places = places_of(np.concatenate([[0], np.cumsum(counts)]), group.queries)
    numbers = np.repeat(np.arange(len(rows), dtype=np.int32), np.diff(offsets))
    return FiledBeside(
        rows, filed.places.taken(group.queries), filed.entries.taken(order[places]).with_queries(numbers)
    )


def _in_order(parts: Sequence[FiledBeside]) -> FiledBeside:
    """All parts as one, in order of the queries."""
    queries = np.concatenate([part.queries for part in parts])
    shifts = np.cumsum([0, *(len(part) for part in parts)])
    entries = joined(
        [
            part.entries.with_queries(part.entries.queries + np.int32(shift))
            for part, shift in zip(parts, shifts.tolist(), strict=False)
        ]
    )
    order = np.argsort(queries, kind="stable")
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order))
    entries = entries.with_queries(place[entries.queries])
    entries = entries.taken(np.argsort(entries.queries, kind="stable"))
    return FiledBeside(queries[order], BoxSets.joined([part.areas for part in parts]).taken(order), entries)
