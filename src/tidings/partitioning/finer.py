"""How can a part of a parcel be moved? By having it in several parcels from the start, its words divided by hash."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from tidings.model import DataError
from tidings.partitioning.gridt import Gridt
from tidings.partitioning.mapping import Mapping, TermParcels, hash_names


@dataclass(frozen=True, slots=True)
class FinerParcels:
    """Parcel p of ``gridt`` is the parcels p · ``parts`` … here; which of them a term is in, its hash decides.

    So a region that was not divided by words can be: [PS2] V-A splits cells by text when it moves load.

    >>> import numpy as np
    >>> from tidings.partitioning.gridt import WordShare
    >>> from tidings.terms.even_grid import Grid
    >>> none = np.zeros(0, np.uint64)
    >>> gridt, _ = Gridt.flattened(Grid(0, 0, 2, 2, level=1), [WordShare(None, none)])
    >>> mapping = finer(Mapping(gridt, np.zeros(1, np.int32), 2), 4)
    >>> mapping.parcels.count, mapping.owner.tolist()
    (4, [0, 0, 0, 0])
    """

    gridt: Gridt
    parts: int

    def __post_init__(self) -> None:
        if self.parts < 1:
            raise DataError(f"a parcel has 1 part or more, got {self.parts}; choose another number")

    @property
    def count(self) -> int:
        return self.parts * self.gridt.count

    def of(self, names: pa.Array) -> TermParcels:
        found = self.gridt.of(names)
        parts = ((hash_names(names) >> np.uint64(32)) % np.uint64(self.parts)).astype(np.int32)
        return TermParcels(found.offsets, self.parts * found.parcels + np.repeat(parts, found.counts()))

    def save(self, path: Path) -> None:
        """Write those of the grid: how many parts there are is told by the owners beside it."""
        self.gridt.save(path)


def finer(mapping: Mapping, parts: int) -> Mapping:
    """The mapping in which each parcel of a grid of regions is in so many parts, all with the owner that it has."""
    if mapping.parcels.gridt is None or mapping.parcels.count != mapping.parcels.gridt.count:
        raise DataError("only whole parcels of a grid of regions are divided into parts; learn such a mapping first")
    return Mapping(FinerParcels(mapping.parcels.gridt, parts), np.repeat(mapping.owner, parts), mapping.matchers)
