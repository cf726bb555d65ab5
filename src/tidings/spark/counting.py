"""Which terms occur together in a DataFrame of posts? Spark counts, and what comes back is compact.

Workers read posts as matchers do, and hand on the set of terms of each, as the bytes of its sorted numbers. Spark
brings equal sets together, and the driver gets each of them once, with a count. The frequencies of terms and of pairs
follow from that (:class:`tidings.partitioning.learning.Incidence`, ``Network``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it

from tidings.analysis import ENGLISH, Analyser
from tidings.analysis.vocabulary import TermSets
from tidings.arrays import IdArray, IntArray, NamedArrays
from tidings.partitioning.kernels import part_of
from tidings.partitioning.learning import Incidence
from tidings.partitioning.mapping import HashArray, hash_names
from tidings.spark.columns import Columns
from tidings.tables.columns import place_columns
from tidings.tables.sifting import Sifter
from tidings.terms.dictionary import Dictionary
from tidings.terms.reader import TermReader

_SETS = "terms binary, part int"
_SCHEMA = pa.schema([("terms", pa.binary()), ("part", pa.int32())])


def count_terms(
    posts: DataFrame,
    terms: Dictionary,
    analyser: Analyser = ENGLISH,
    columns: Columns | None = None,
    parts: int = 1,
) -> Incidence:
    """The incidence of a DataFrame: what :meth:`Incidence.of` gives for its rows, equal sets once with their weight.

    Rows that are no publications, and those whose id came before, are left out. ``terms`` are those that posts are sent
    for. Which version of a split term a post takes, its id decides; with ``parts``, a power of 2, equal sets of posts
    that take different ones of so many versions stay apart; else all take the same. A part of the posts is counted by
    ``posts.sample``.

    Cost: on each core some 10 µs a post, and on the driver some 50 bytes a distinct set.
    """
    found = (columns or Columns()).selected(posts, terms.attributes())
    arrays = {name: np.array(array) for name, array in terms.saved(np.arange(len(terms), dtype=np.int32)).items()}
    sets = found.mapInArrow(_Read(arrays, len(terms), analyser, parts), _SETS)
    table = sets.groupBy("terms", "part").agg(F.count("*").alias("posts")).toArrow()
    table = table.sort_by([("terms", "ascending"), ("part", "ascending")]).combine_chunks()
    lengths = np.array([len(value) // 4 for value in table["terms"].to_pylist()], dtype=np.int64)
    ids = np.frombuffer(b"".join(table["terms"].to_pylist()), dtype=np.int32)
    keys = _keys(table["part"].to_numpy(), parts)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return Incidence(terms.term_names(), TermSets(offsets, ids), keys, table["posts"].to_numpy().astype(np.int64))


@dataclass(frozen=True, slots=True)
class _Read:
    """Reads posts into sets of terms, in a worker."""

    arrays: NamedArrays
    count: int
    analyser: Analyser
    parts: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        terms, sifter = Dictionary(), Sifter()
        terms.load(self.arrays, self.count)
        reader = TermReader(terms, self.analyser)
        for batch in batches:
            good = sifter.sift(pa.Table.from_batches([batch]))[0].table
            if good.num_rows:
                parts = np.zeros(good.num_rows, dtype=np.int32)
                if self.parts > 1:
                    parts[:] = [part_of(key, self.parts) for key in hash_names(good["id"])]
                sets = _packed(reader.terms(good, *place_columns(good)))
                yield pa.RecordBatch.from_arrays([sets, pa.array(parts)], schema=_SCHEMA)


def _packed(sets: TermSets) -> pa.Array:
    """Each set as the bytes of its numbers, int32, rising, without -1."""
    kept = sets.ids >= 0
    offsets: IntArray = np.concatenate([[0], np.cumsum(kept)])[sets.offsets]
    ids: IdArray = sets.ids[kept]
    rows = np.repeat(np.arange(len(sets)), np.diff(offsets))
    data = np.ascontiguousarray(ids[np.lexsort((ids, rows))])
    bounds = (4 * offsets).astype(np.int32)
    return pa.Array.from_buffers(pa.binary(), len(sets), [None, pa.py_buffer(bounds), pa.py_buffer(data)])


def _keys(parts: IdArray, count: int) -> HashArray:
    """For each part a hash that is in the middle of it."""
    return (parts.astype(np.uint64) * np.uint64(2) + np.uint64(1)) * np.uint64((1 << 63) // count)
