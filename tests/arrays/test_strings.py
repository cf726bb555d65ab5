"""Tables of texts: a dict that lies in flat arrays, and can be mapped from a file."""

from __future__ import annotations

from hashlib import blake2b
from itertools import accumulate
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.examples import examples
from tidings.arrays.files import open_arrays, write_arrays
from tidings.arrays.strings import StringTable
from tidings.model import DataError

ANY = st.text(alphabet=st.characters(codec="utf-8"), max_size=6)
FEW = st.text(alphabet="ab", max_size=4)
LISTS = st.lists(FEW | ANY, max_size=40)
KINDS = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]


@examples(200)
@given(LISTS, LISTS)
@example([""], ["", "a"])
@example([], ["", "a"])
@example(["a", "b", "a"], ["a", "b"])
def test_find_agrees_with_a_dict(texts: list[str], others: list[str]) -> None:
    numbers = {text: number for number, text in enumerate(texts)}  # the last of equal ones, as in the table
    table = StringTable.of(pa.array(texts, pa.string()))
    asked = texts + others
    expected = [numbers.get(text, -1) for text in asked]
    assert [table.find(text) for text in asked] == expected
    assert table.find_many(pa.array(asked, pa.string())).tolist() == expected
    assert table.find_few(asked) == expected
    assert table.find_few(asked[:2]) == expected[:2]
    assert [table[number] for number in range(len(table))] == texts
    assert table.texts().to_pylist() == texts
    table.texts().validate(full=True)


def test_texts_that_meet_in_one_slot_are_told_apart() -> None:
    for count in range(1, 12):
        table = StringTable.of(pa.array([str(number) for number in range(count)]))
        assert [table.find(str(number)) for number in range(count)] == list(range(count))
        assert not any(table.find(str(number)) >= 0 for number in range(count, 500))  # far more texts than slots


def test_slots_are_a_power_of_two_filled_to_two_thirds_at_most() -> None:
    for count in [*range(50), 682, 683, 1365, 1366]:
        slots = StringTable.of(pa.array([str(number) for number in range(count)], pa.string())).slots
        assert len(slots).bit_count() == 1
        assert 3 * count <= 2 * len(slots) < max(2, 6 * count) + 1
        assert sorted(slots[slots >= 0]) == list(range(count))


def test_slots_are_those_that_files_were_written_with() -> None:
    texts = ["", "fire", "café", "火", "smoke", "a", "b", "c", "drill", "rain over 16 bytes"]
    table = StringTable.of(pa.array(texts))
    raw = "".join(texts).encode()
    bounds = np.array([0, *accumulate(len(text.encode()) for text in texts)], dtype=np.int64)
    assert table.seeds.tobytes() == blake2b(raw + bounds.tobytes(), digest_size=16).digest()
    expected = [-1] * 16
    for number, text in enumerate(texts):
        slot = _hash(text.encode(), *table.seeds.tolist()) % 16
        while expected[slot] >= 0:
            slot = (slot + 1) % 16
        expected[slot] = number
    assert table.slots.tolist() == expected


def _hash(raw: bytes, seed: int, other: int) -> int:
    """As the kernel does it, in Python's whole numbers."""

    def mixed(a: int, b: int) -> int:
        return (a * b >> 64) ^ (a * b % 2**64)

    value = seed ^ len(raw)
    while len(raw) >= 8:
        value, raw = mixed(value ^ int.from_bytes(raw[:8], "little"), other), raw[8:]
    return mixed(value ^ int.from_bytes(raw, "little"), seed ^ other)


def test_texts_that_meet_in_a_table_without_seeds_do_not_meet_here() -> None:
    """Texts that have one slot by FNV-1a, by which tables hashed before: to find one was to look at all of them."""
    letters = np.array([list(f"{number:06}".encode()) for number in range(200_000)], dtype=np.uint64)
    values = np.full(len(letters), 0xCBF29CE484222325, dtype=np.uint64)
    for column in letters.T:
        values = (values ^ column) * np.uint64(0x100000001B3)
    texts = [f"{number:06}" for number in np.flatnonzero((values ^ values >> np.uint64(32)) % 1024 == 0).tolist()]
    table = StringTable.of(pa.array(texts))
    homes = [_hash(text.encode(), *table.seeds.tolist()) % len(table.slots) for text in texts]
    assert len(texts) > 100 and len(set(homes)) > len(texts) // 2
    assert table.find_many(pa.array(texts)).tolist() == list(range(len(texts)))


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_any_column_of_text_will_do_whole_cut_or_in_pieces(kind: pa.DataType) -> None:
    texts = ["left out", "", "fire", "火", "fire", "a text of more than twelve bytes", "left out too"]
    whole = pa.array(texts, pa.string()).cast(kind) if kind != KINDS[-1] else pa.array(texts).dictionary_encode()
    for column in (whole.slice(1, 5), pa.chunked_array([whole.slice(1, 2), whole.slice(3, 0), whole.slice(3, 3)])):
        table = StringTable.of(column)
        assert table.texts().to_pylist() == texts[1:6]
        assert table.find_many(column).tolist() == [0, 3, 2, 3, 4]
        assert table.find("left out") == -1
        assert len(table.data) == sum(len(text.encode()) for text in texts[1:6])


@pytest.mark.parametrize(
    "column", [pa.array([], pa.string()), pa.nulls(0), pa.chunked_array([], pa.string()), pa.array(["a"]).slice(1)]
)
def test_an_empty_table_has_nothing(column: pa.Array) -> None:
    table = StringTable.of(column)
    assert len(table) == 0
    assert table.find("") == table.find("a") == -1
    assert table.find_many(pa.array(["", "a", None])).tolist() == [-1, -1, -1]
    assert table.find_many(column).tolist() == table.texts().to_pylist() == []


def test_nulls_are_refused_in_a_table_and_not_found_in_one() -> None:
    with pytest.raises(DataError, match="2 of 3 texts are null"):
        StringTable.of(pa.array(["a", None, None]))
    with pytest.raises(DataError, match="2 of 2 texts are null"):
        StringTable.of(pa.nulls(2))
    assert StringTable.of(pa.array(["a", ""])).find_many(pa.array(["", None, "a"])).tolist() == [1, -1, 0]


def test_what_is_no_column_of_text_is_refused() -> None:
    with pytest.raises(DataError, match="a column of text is needed, got int64"):
        StringTable.of(pa.array([1]))
    with pytest.raises(DataError, match="a column of text is needed, got list"):
        StringTable.of(pa.array([["a"]]))
    with pytest.raises(DataError, match="got list; make it a pyarrow array"):
        StringTable.of(["a"])
    with pytest.raises(DataError, match="a column of text is needed, got binary"):
        StringTable.of(pa.array(["a"])).find_many(pa.array([b"a"]))


def test_a_text_that_is_no_unicode_is_not_found() -> None:
    assert StringTable.of(pa.array(["a", "?", "\ufffd"])).find("\ud800") == -1
    assert StringTable.of(pa.array(["a", "c"])).find_few(["a", "\ud800", "c", "b", "\ud800"]) == [0, -1, 1, -1, -1]


@pytest.mark.parametrize("number", [-1, 2])
def test_a_number_that_no_text_has_is_refused(number: int) -> None:
    with pytest.raises(IndexError, match=f"none has the number {number}"):
        StringTable.of(pa.array(["a", "b"]))[number]


@pytest.mark.parametrize("texts", [[], [""], ["fire", "café", "火", "", "fire"]], ids=len)
def test_a_table_mapped_from_a_file_is_the_same(tmp_path: Path, texts: list[str]) -> None:
    table = StringTable.of(pa.array(texts, pa.string()))
    write_arrays(tmp_path / "texts", table.arrays(), {})
    mapped = StringTable.from_arrays(open_arrays(tmp_path / "texts").arrays)
    assert mapped.texts().equals(table.texts())
    asked = pa.array([*texts, "smoke"])
    assert mapped.find_many(asked).tolist() == table.find_many(asked).tolist()
    assert [mapped.find(text) for text in texts] == [table.find(text) for text in texts]
    assert mapped.size_bytes == table.size_bytes == sum(array.nbytes for array in table.arrays().values())


def test_nothing_is_copied_from_a_file_or_into_arrow() -> None:
    table = StringTable.of(pa.array(["fire", "smoke"]))
    again = StringTable.from_arrays(table.arrays())
    for name, array in table.arrays().items():
        assert np.shares_memory(array, again.arrays()[name])
        assert not array.flags.writeable
    _, offsets, data = table.texts().buffers()
    assert (offsets.address, data.address) == (table.offsets.ctypes.data, table.data.ctypes.data)


def test_arrays_that_are_no_table_are_refused() -> None:
    arrays = StringTable.of(pa.array(["fire", "smoke"])).arrays()
    for name in arrays:
        with pytest.raises(DataError, match=f"needs an array '{name}' of .*, got none"):
            StringTable.from_arrays({other: array for other, array in arrays.items() if other != name})
        with pytest.raises(DataError, match=f"needs an array '{name}' of .*, got float64"):
            StringTable.from_arrays(arrays | {name: np.zeros(4)})
    for name, array in (("slots", arrays["slots"][:3]), ("offsets", arrays["offsets"][:0])):
        with pytest.raises(DataError, match="no table of texts"):
            StringTable.from_arrays(arrays | {name: array})
