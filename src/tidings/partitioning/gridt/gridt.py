"""Which parcel has a word at a place? A grid of cells in regions, some of which are divided by words.

Implements the map H1 of [PS2] IV-C. A leaf of the kdt-tree is a *share*: some cells, and some or all of their words.
The leaves of the same cells are a *group*. A group is cut into *regions*: what is asked for is known for each of them,
so a post is sent only for what is asked for near it. Each share of a region is a parcel.

Departs from the paper: an area that touches regions of several groups may be filed for one of them alone, that of its
centre: its *home*. For each group whose queries reach into a region there is a *border* of that region, which has the
cells of the one and the words of the other, and posts in these cells are sent for both. So near a border posts are sent
to both sides, and no query is kept at both. With no borders queries are kept wherever they reach, as in the paper.

Also, region 0, *everywhere*, is divided by words and has no cells. What asks for no place, or for one
that touches more than ``widest`` regions, is filed there once, and each post looks for its words there as well. So a
post without a place, which only meets what asks for no place, looks nowhere else. With no other region this is
partitioning by text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidings.analysis.vocabulary import TermSets
from tidings.arrays import IdArray, IntArray, NamedArrays
from tidings.arrays.files import named, open_verified, write_arrays
from tidings.model import DataError
from tidings.partitioning.gridt import kernels
from tidings.partitioning.load import FloatArray
from tidings.partitioning.mapping import TermParcels, hash_names
from tidings.terms.even_grid import Grid, of_areas, touched
from tidings.terms.local_terms import local_parts

WIDEST = 256
_KIND = "gridt"

Block = tuple[int, int, int, int]
"""Cells of a grid: the columns and rows of west, south, east and north, all included."""


@dataclass(frozen=True, slots=True, eq=False)
class WordShare:
    """A leaf: the cells of ``block``, None for everywhere, and of their words those of these ``hashes`` (uint64).

    Where several shares have the same block, a word in none of them goes with a word in one of them, or with a share,
    as its hash says: so what is new is divided as the words that are known are.
    """

    block: Block | None
    hashes: npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class Gridt:
    """Cell c is in region ``region[c]`` (int32). Region r has the parcels ``first[r]`` … ``first[r + 1] - 1`` (int64).
    Its borders are the regions ``borders[r]`` … ``borders[r + 1] - 1`` (int64), which are numbered after all others.

    Region r is of group g = ``group[r]`` (int32). There a word whose hash is ``known[k]`` (uint64) for a k of
    ``starts[g]`` … ``starts[g + 1] - 1`` (int64) has the parcel ``first[r] + shares[k]`` (int32). Any other word has
    that of one of these words or, as one more in each, of one of the parcels, as its hash says.
    """

    grid: Grid
    region: IdArray
    first: IntArray
    group: IdArray
    starts: IntArray
    known: npt.NDArray[np.uint64]
    shares: IdArray
    borders: IntArray
    widest: int = WIDEST

    def __post_init__(self) -> None:
        complaint = self._complaint()
        if complaint:
            raise DataError(f"this is no grid of regions: {complaint}; learn it anew")

    def _complaint(self) -> str:
        regions, groups = len(self.first) - 1, len(self.starts) - 1
        counts, words = np.diff(self.first), np.diff(self.starts)
        if len(self.region) != self.grid.side**2 or regions < 1 or len(self.group) != regions:
            return "its arrays do not fit together"
        own = len(self.borders) - 1
        if own < 1 or self.borders[0] != own or self.borders[-1] != regions or np.any(np.diff(self.borders) < 0):
            return "its borders do not fit together"
        if np.any((self.region < 0) | (self.region >= own)):
            return "a cell is in a region that is not there"
        if np.any((self.group < 0) | (self.group >= groups)):
            return "a region is in a group that is not there"
        if self.first[0] != 0 or np.any(counts < 1) or self.widest < 1:
            return "a region has no parcel"
        if self.starts[0] != 0 or np.any(words < 0) or not self.starts[-1] == len(self.known) == len(self.shares):
            return "its words do not fit together"
        most = np.full(groups, np.iinfo(np.int64).max)
        np.minimum.at(most, self.group, counts)
        owner = np.repeat(np.arange(groups), words)
        if np.any((self.shares < 0) | (self.shares >= most[owner])):
            return "a word has a share that is not there"
        if np.any((owner[1:] == owner[:-1]) & (self.known[1:] <= self.known[:-1])):
            return "the words of a group are not in order"
        return ""

    @classmethod
    def flattened(
        cls,
        grid: Grid,
        shares: Sequence[WordShare],
        fine: int = 0,
        widest: int = WIDEST,
        homed: FloatArray | None = None,
    ) -> tuple[Gridt, IntArray]:
        """The grid of some shares, and the share that each parcel is of.

        ``homed``: boxes float64[boxes, 4]; there are borders where one of them reaches beyond its home.

        Some shares are everywhere. The blocks of the others are equal or apart, and have all cells, or there are none.
        Blocks are cut into regions at the lines of 2^fine columns and rows.

        >>> none, fire = np.zeros(0, np.uint64), np.array([7], np.uint64)
        >>> leaves = [WordShare((0, 0, 0, 1), none), WordShare((1, 0, 1, 1), fire), WordShare((1, 0, 1, 1), none)]
        >>> gridt, share = Gridt.flattened(Grid(0, 0, 2, 2, level=1), [*leaves, WordShare(None, none)])
        >>> gridt.region.tolist(), share.tolist()
        ([1, 2, 1, 2], [3, 0, 1, 2])
        >>> gridt.parcels_of(np.array([1, 2, 2], np.int32), np.array([7, 7, 5], np.uint64)).tolist()
        [1, 2, 3]
        """
        members: dict[Block | None, list[int]] = {None: []}
        for n, share in enumerate(shares):
            members.setdefault(share.block, []).append(n)
        region = np.zeros((grid.side, grid.side), dtype=np.int32)
        group, of_share = [0], [members[None]]
        for number, (block, own) in enumerate(members.items()):
            for west, south, east, north in () if block is None else _pieces(block, grid.side >> min(fine, grid.level)):
                cells = region[south : north + 1, west : east + 1]
                if cells.any():
                    raise DataError(f"two regions have the same cells, one of them in {block}")
                cells[:] = len(group)
                group.append(number)
                of_share.append(own)
        if len(group) > 1 and not region.all():
            raise DataError("some cells are in no region")
        cells, borders = region.ravel(), np.full(len(group) + 1, len(group), dtype=np.int64)
        if homed is not None:
            at, homes = _reached(grid, cells, np.array(group, dtype=np.int32), homed, widest)
            borders += np.searchsorted(at, np.arange(len(borders)))
            of_group = list(members.values())
            group += homes.tolist()
            of_share += [of_group[home] for home in homes.tolist()]
        words = [_words([shares[n] for n in own]) for own in members.values()]
        gridt = cls(
            grid,
            cells,
            np.concatenate([[0], np.cumsum([len(own) for own in of_share], dtype=np.int64)]),
            np.array(group, dtype=np.int32),
            np.concatenate([[0], np.cumsum([len(own) for own, _ in words], dtype=np.int64)]),
            np.concatenate([own for own, _ in words]),
            np.concatenate([own for _, own in words]),
            borders,
            widest,
        )
        return gridt, np.array([n for own in of_share for n in own], dtype=np.int64)

    @property
    def count(self) -> int:
        """How many parcels there are."""
        return int(self.first[-1])

    @property
    def regions(self) -> int:
        """How many regions there are, everywhere among them."""
        return len(self.first) - 1

    def regions_of(self, boxes: FloatArray, offsets: IntArray) -> TermSets:
        """The regions under which each area is filed, each once: area i is the boxes ``offsets[i]`` … (degrees).

        One without a box is everywhere, and so is what touches too many regions. Where a region has a border of the
        home of a box, it is filed there.
        """
        blocks = self.grid.blocks(boxes)
        found = touched(blocks, self.grid.side, self.region, self.widest)
        kernels.at_home(blocks, self.grid.side, self.region, self.group, self.borders, found.offsets, found.ids)
        return of_areas(offsets, found, self.regions)

    @property
    def gridt(self) -> Gridt:
        """How posts are sent by place, as :class:`tidings.partitioning.Parcels` has it."""
        return self

    def of(self, names: pa.Array) -> TermParcels:
        """The parcels of terms of these names: of a word in a region one, of any other term none."""
        is_local, regions, words = local_parts(names)
        return TermParcels(
            np.concatenate([[0], np.cumsum(is_local, dtype=np.int64)]), self.parcels_of(regions, hash_names(words))
        )

    def parcels_of(self, regions: IdArray, hashes: npt.NDArray[np.uint64]) -> IdArray:
        """The parcel of the word of each hash in each region."""
        parcels = np.empty(len(regions), dtype=np.int32)
        kernels.parcels_of(regions, hashes, self.first, self.group, self.starts, self.known, self.shares, parcels)
        return parcels

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Gridt)
            and (self.grid, self.widest) == (other.grid, other.widest)
            and all(np.array_equal(getattr(self, name), getattr(other, name)) for name in _ARRAYS)
        )

    def __hash__(self) -> int:
        return hash((self.grid, self.widest, self.first.tobytes()))

    def arrays(self) -> NamedArrays:
        """As arrays of a file: 4 bytes a cell, 12 a word of a divided region."""
        numbers = np.array([*astuple(self.grid), self.widest], dtype=np.float64)
        return {_NUMBERS: numbers, **{f"{_KIND}_{name}": getattr(self, name) for name in _ARRAYS}}

    @classmethod
    def of_arrays(cls, arrays: NamedArrays) -> Gridt | None:
        """That of :meth:`arrays`; None if there is none. What makes no sense is a DataError or a KeyError."""
        if _NUMBERS not in arrays:
            return None
        west, south, east, north, level, widest = arrays[_NUMBERS].tolist()
        own = {name: arrays[f"{_KIND}_{name}"] for name in _ARRAYS if name != _BORDERS}
        regions = len(own["group"])
        own[_BORDERS] = arrays.get(f"{_KIND}_{_BORDERS}", np.full(regions + 1, regions))  # older files have none
        return cls(Grid(west, south, east, north, int(level)), **own, widest=int(widest))

    def save(self, path: Path) -> None:
        """Write it to a file."""
        write_arrays(path, self.arrays(), named(path, {"kind": _KIND}))

    @classmethod
    def open(cls, path: Path) -> Gridt:
        """That of a file; what cannot be used is a DataError."""
        try:
            found = cls.of_arrays(open_verified(path).arrays)
        except (KeyError, TypeError, ValueError, DataError) as error:
            raise DataError(f"{str(path)!r} has no grid of regions ({error!r}); learn it anew") from None
        if found is None:
            raise DataError(f"{str(path)!r} has no grid of regions; check the path, or learn it anew")
        return found


_NUMBERS = "gridt"
_BORDERS = "borders"
_ARRAYS = ("region", "first", "group", "starts", "known", "shares", _BORDERS)


def _reached(grid: Grid, region: IdArray, group: IdArray, boxes: FloatArray, widest: int) -> tuple[IntArray, IntArray]:
    """Which regions boxes reach beyond their homes, and these homes, groups: each pair once, rising."""
    blocks = grid.blocks(boxes)
    found = touched(blocks, grid.side, region, widest)
    centres = ((blocks[:, 1] + blocks[:, 3]) >> 1) * grid.side + ((blocks[:, 0] + blocks[:, 2]) >> 1)
    homes = np.repeat(group[region[centres]], np.diff(found.offsets))
    beyond = (found.ids > 0) & (group[found.ids] != homes)
    keys = np.unique(found.ids[beyond] * np.int64(len(group)) + homes[beyond])
    return keys // len(group), keys % len(group)


def _pieces(block: Block, step: int) -> list[Block]:
    """A block cut at every ``step``-th line of the grid.

    >>> _pieces((1, 0, 4, 1), 4)
    [(1, 0, 3, 1), (4, 0, 4, 1)]
    """
    west, south, east, north = block
    columns = [(max(x, west), min(x + step - 1, east)) for x in range(west - west % step, east + 1, step)]
    rows = [(max(y, south), min(y + step - 1, north)) for y in range(south - south % step, north + 1, step)]
    return [(x, y, to_x, to_y) for y, to_y in rows for x, to_x in columns]


def _words(shares: list[WordShare]) -> tuple[npt.NDArray[np.uint64], IdArray]:
    """The hashes of the words of a region, rising, and their shares; none where it is not divided."""
    if len(shares) < 2:
        return np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int32)
    hashes = np.concatenate([share.hashes for share in shares])
    numbers = np.repeat(np.arange(len(shares), dtype=np.int32), [len(share.hashes) for share in shares])
    hashes, places = np.unique(hashes, return_index=True)
    return hashes, numbers[places]
