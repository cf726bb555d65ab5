from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.analysis.vocabulary import TermSets
from tidings.arrays.files import write_arrays
from tidings.model import DataError
from tidings.partitioning import Mapping
from tidings.partitioning.gridt import Gridt, WordShare
from tidings.partitioning.mapping import hash_names
from tidings.terms.even_grid import Grid, touched
from tidings.terms.local_terms import LocalTerms, local_names

NONE = np.zeros(0, dtype=np.uint64)
lon, lat = st.floats(-180, 180), st.floats(-90, 90)


def hashes(*words: str) -> npt.NDArray[np.uint64]:
    return hash_names(pa.array(words, pa.large_string()))


def quarters(widest: int = 256) -> Gridt:
    """South-west, south-east by words, the north in two rows; everywhere in two."""
    shares = [
        WordShare((0, 0, 1, 1), NONE),
        WordShare((2, 0, 3, 1), hashes("fire", "smoke")),
        WordShare((2, 0, 3, 1), hashes("rain")),
        WordShare((0, 2, 3, 2), NONE),
        WordShare((0, 3, 3, 3), NONE),
        WordShare(None, hashes("fire")),
        WordShare(None, NONE),
    ]
    gridt, share = Gridt.flattened(Grid(0, 0, 4, 4, level=2), shares, widest=widest)
    assert share.tolist() == [5, 6, 0, 1, 2, 3, 4]
    return gridt


@given(st.tuples(lon, lat, lon, lat), st.floats(-180, 179), st.floats(-90, 89), st.floats(1e-6, 300), st.data())
def test_a_place_in_a_box_is_in_a_cell_of_the_box_also_beyond_the_grid(
    corners: tuple[float, float, float, float], west: float, south: float, size: float, data: st.DataObject
) -> None:
    grid = Grid(west, south, west + size, south + size / 3, level=data.draw(st.integers(0, 10)))
    (x0, x1), (y0, y1) = sorted((corners[0], corners[2])), sorted((corners[1], corners[3]))
    x, y = data.draw(st.floats(x0, x1)), data.draw(st.floats(y0, y1))
    ((low_x, low_y, high_x, high_y),) = grid.blocks(np.array([[x0, y0, x1, y1]])).tolist()
    row, column = divmod(int(grid.cells(np.array([x]), np.array([y]))[0]), grid.side)
    assert 0 <= low_x <= column <= high_x < grid.side and 0 <= low_y <= row <= high_y < grid.side


def test_the_grid_of_places_has_them_at_its_borders_and_no_places_have_the_earth() -> None:
    places = np.array([1.0, 5, np.nan]), np.array([2.0, 2, np.nan])
    assert Grid.of(*places, level=1) == Grid(1, 2, 5, 2.000001, 1)
    assert Grid.of(*places, level=1).cells(*places).tolist() == [0, 1, -1]
    nowhere = np.array([np.nan])
    assert Grid.of(nowhere, nowhere, level=3) == Grid(-180, -90, 180, 90, 3)
    with pytest.raises(DataError, match="level of 0 to 12"):
        Grid(0, 0, 1, 1, 13)


def test_a_word_has_its_share_of_a_divided_region_and_any_other_that_of_a_known_word_or_one_more() -> None:
    gridt, words = quarters(), hashes("fire", "rain", "wind", "snow", "hail", "fog")
    known = sorted(zip(hashes("fire", "smoke", "rain").tolist(), (3, 3, 4), strict=True))
    slots = [parcel for _, parcel in known] + [3, 4]
    new = [slots[word % 5] for word in words[2:].tolist()]
    assert gridt.parcels_of(np.full(6, 2, dtype=np.int32), words).tolist() == [3, 4, *new]
    assert set(gridt.parcels_of(np.full(64, 2, np.int32), hashes(*map(str, range(64)))).tolist()) == {3, 4}
    assert gridt.parcels_of(np.full(6, 1, dtype=np.int32), words).tolist() == [2] * 6
    everywhere = [(0, 0, 1)[word % 3] for word in words[1:].tolist()]
    assert gridt.parcels_of(np.zeros(6, dtype=np.int32), words).tolist() == [0, *everywhere]


def test_parcels_follow_from_names_in_regions_and_words_alone_have_none() -> None:
    gridt = quarters()
    names = pa.concat_arrays([pa.array(["", "rain"]).cast(pa.large_string()), _local([2, 1], ["rain", "a=1"])])
    found = gridt.of(names)
    assert found.offsets.tolist() == [0, 0, 0, 1, 2] and found.parcels.tolist() == [4, 2]
    assert gridt.of(pa.array([], pa.large_string())).offsets.tolist() == [0]


def _local(regions: list[int], words: list[str]) -> pa.Array:
    return local_names(np.array(regions, dtype=np.int32), pa.array(words))


def test_areas_touch_regions_each_once_and_none_or_too_many_are_everywhere() -> None:
    boxes = np.array([[0.5, 0.5, 1.5, 2.5], [0, 0, 0, 0], [3, 3, 3, 3], [-180, -90, 180, 90]])
    offsets = np.array([0, 1, 3, 3, 4])
    found = quarters().regions_of(boxes, offsets)
    assert [found.row(i).tolist() for i in range(4)] == [[1, 3], [1, 4], [0], [1, 2, 3, 4]]
    found = quarters(widest=2).regions_of(boxes, offsets)
    assert [found.row(i).tolist() for i in range(4)] == [[1, 3], [1, 4], [0], [0]]


def test_a_group_is_cut_into_regions_that_share_its_words_and_have_parcels_of_their_own() -> None:
    shares = [
        WordShare((0, 0, 1, 3), NONE),
        WordShare((2, 0, 3, 3), hashes("fire")),
        WordShare((2, 0, 3, 3), hashes("rain")),
    ]
    gridt, share = Gridt.flattened(Grid(0, 0, 4, 4, level=2), [*shares, WordShare(None, NONE)], fine=1)
    assert gridt.region.reshape(4, 4).tolist() == [[1, 1, 3, 3], [1, 1, 3, 3], [2, 2, 4, 4], [2, 2, 4, 4]]
    assert share.tolist() == [3, 0, 0, 1, 2, 1, 2] and gridt.group.tolist() == [0, 1, 1, 2, 2]
    rain = hashes("rain", "rain", "rain", "rain")
    assert gridt.parcels_of(np.array([1, 2, 3, 4], np.int32), rain).tolist() == [1, 2, 4, 6]


def test_a_grid_with_gaps_or_twice_the_same_cell_is_refused() -> None:
    grid = Grid(0, 0, 2, 2, level=1)
    with pytest.raises(DataError, match="in no region"):
        Gridt.flattened(grid, [WordShare((0, 0, 1, 0), NONE), WordShare(None, NONE)])
    with pytest.raises(DataError, match="same cells"):
        Gridt.flattened(grid, [WordShare((0, 0, 1, 1), NONE), WordShare((1, 1, 1, 1), NONE), WordShare(None, NONE)])
    with pytest.raises(DataError, match="a region has no parcel"):
        Gridt.flattened(grid, [WordShare((0, 0, 1, 1), NONE)])


def test_a_grid_comes_back_from_its_file_and_what_is_none_is_told(tmp_path: Path) -> None:
    gridt = quarters(widest=3)
    gridt.save(tmp_path / "gridt")
    again = Gridt.open(tmp_path / "gridt")
    assert again == gridt != quarters() and hash(again) == hash(gridt)
    Mapping.hashed(4).parcels.save(tmp_path / "words")
    with pytest.raises(DataError, match="words' has no grid of regions"):
        Gridt.open(tmp_path / "words")


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("region", [9] * 16, "a region that is not there"),
        ("region", [0] * 15, "do not fit together"),
        ("first", [0, 2, 3, 3, 4, 5], "has no parcel"),
        ("shares", [0, 7, 0, 0], "a share that is not there"),
        ("group", [0, 1, 2, 3, 9], "a group that is not there"),
        ("known", [1, 9, 9, 9], "not in order"),
        ("starts", [0, 1, 1, 4, 4, 3], "words do not fit"),
        ("borders", [5, 5, 5, 5, 5], "borders do not fit"),
    ],
)
def test_a_damaged_grid_is_refused(tmp_path: Path, name: str, value: list[int], complaint: str) -> None:
    gridt = quarters()
    arrays = gridt.arrays()
    arrays[f"gridt_{name}"] = np.array(value, dtype=getattr(gridt, name).dtype)
    write_arrays(tmp_path / "odd", arrays, {"kind": "gridt"})
    with pytest.raises(DataError, match=complaint):
        Gridt.open(tmp_path / "odd")


def halves() -> Gridt:
    """West and east of the middle, with borders for what reaches from the west to the east but not back."""
    shares = [WordShare((0, 0, 1, 3), NONE), WordShare((2, 0, 3, 3), hashes("fire")), WordShare((2, 0, 3, 3), NONE)]
    homed = np.array([[0.5, 0.5, 2.5, 0.9], [3, 3, 3.5, 3.5]])  # the first one's home is the column 1
    gridt, share = Gridt.flattened(
        Grid(0, 0, 4, 4, level=2), [*shares, WordShare(None, NONE)], fine=1, widest=4, homed=homed
    )
    assert gridt.borders.tolist() == [5, 5, 5, 5, 6, 6] and gridt.group.tolist() == [0, 1, 1, 2, 2, 1]
    assert share.tolist() == [3, 0, 0, 1, 2, 1, 2, 0]
    return gridt


def test_what_reaches_beyond_its_home_is_filed_at_the_border_and_without_one_wherever_it_reaches(
    tmp_path: Path,
) -> None:
    gridt = halves()
    boxes = np.array([[0.5, 0.5, 2.5, 0.9], [1.5, 0.5, 3.5, 0.9], [1, 3, 2.9, 3], [0, 0, 4, 4], [2, 0, 2, 0]])
    found = gridt.regions_of(boxes, np.arange(6))
    # South-west is region 1, north-west 2, south-east 3, north-east 4, and 5 the border of 3 that belongs to the west.
    assert [found.row(i).tolist() for i in range(5)] == [[1, 5], [1, 3], [2, 4], [1, 2, 4, 5], [3]]
    gridt.save(tmp_path / "gridt")
    assert Gridt.open(tmp_path / "gridt") == gridt
    names = pa.concat_arrays([_local([5, 3], ["fire", "fire"])])
    assert gridt.of(names).parcels.tolist() == [7, 3]


def test_a_post_looks_for_its_words_at_the_borders_of_its_region_too() -> None:
    gridt, pairs = halves(), LocalTerms()
    pairs.put(np.array([1, 3, 5], np.int32), np.array([7, 7, 7], np.int32), np.array([10, 30, 50], np.int32))
    terms = TermSets(np.array([0, 1, 2, 3]), np.array([7, 7, 7], dtype=np.int32))
    found = pairs.local(np.array([0, 2, 10], np.int32), gridt.region, terms, gridt.borders)
    assert [found.row(i).tolist() for i in range(3)] == [[10], [30, 50], []]


def test_a_file_of_before_there_were_borders_has_none(tmp_path: Path) -> None:
    gridt = quarters()
    arrays = {name: array for name, array in gridt.arrays().items() if name != "gridt_borders"}
    write_arrays(tmp_path / "older", arrays, {"kind": "gridt"})
    assert Gridt.open(tmp_path / "older") == gridt and gridt.borders.tolist() == [5] * 6


@given(st.integers(0, 3), st.integers(0, 9), st.data())
def test_the_regions_of_a_block_are_those_of_its_cells(level: int, widest: int, data: st.DataObject) -> None:
    side = 1 << level
    cells = data.draw(st.lists(st.integers(1, 4), min_size=side * side, max_size=side * side))
    region = np.array(cells, dtype=np.int32)
    line = st.integers(0, side - 1)
    corners = data.draw(st.lists(st.tuples(line, line, line, line), max_size=5))
    blocks = np.array([[min(a, b), min(c, d), max(a, b), max(c, d)] for a, b, c, d in corners], np.int32).reshape(-1, 4)
    found = touched(blocks, side, region, widest)
    for i, (west, south, east, north) in enumerate(blocks.tolist()):
        own = set(region.reshape(side, side)[south : north + 1, west : east + 1].ravel().tolist())
        assert sorted(found.row(i).tolist()) == (sorted(own) if len(own) <= widest else [0])


pairs_of_both = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), unique=True, max_size=20)


@given(
    pairs_of_both,
    st.lists(
        st.tuples(st.integers(-1, 15), st.lists(st.sampled_from([-1, 1, 2, 3, 4, 5, 6]), unique=True)), max_size=8
    ),
)
def test_a_post_has_the_words_that_are_asked_for_in_its_region_and_everywhere(
    asked: list[tuple[int, int]], posts: list[tuple[int, list[int]]]
) -> None:
    gridt, pairs = quarters(), LocalTerms()
    both = np.array(asked, dtype=np.int32).reshape(-1, 2)
    numbers = np.arange(len(asked), dtype=np.int32)[::-1] + 100
    for part in np.array_split(np.arange(len(asked)), 3):
        pairs.put(both[part, 0], both[part, 1], numbers[part])
    of = dict(zip(asked, numbers.tolist(), strict=True))
    offsets = np.concatenate([[0], np.cumsum([len(terms) for _, terms in posts], dtype=np.int64)])
    terms = TermSets(offsets, np.array([t for _, own in posts for t in own], dtype=np.int32))
    cells = np.array([cell for cell, _ in posts], dtype=np.int32)
    found = pairs.local(cells, gridt.region, terms)
    for i, (cell, own) in enumerate(posts):
        own_regions = {0, int(gridt.region[cell]) if cell >= 0 else 0}
        expected = {of[r, t] for r in own_regions for t in {0, *own} if (r, t) in of}
        assert sorted(found.row(i).tolist()) == sorted(expected)
    regions, words, again = pairs.items()
    assert dict(zip(zip(regions.tolist(), words.tolist(), strict=True), again.tolist(), strict=True)) == of
