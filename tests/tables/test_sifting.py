"""Are bad rows found, told and kept aside, and all others let through?"""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.index.strategies import tables
from tidings.arrays.text_set import surely_differ
from tidings.tables import sifting
from tidings.tables.canonical import canonical
from tidings.tables.checked import Publications
from tidings.tables.sifting import Sifter


def test_each_kind_of_bad_row_is_told() -> None:
    table = pa.table(
        {
            "id": ["ok", None, "long", "north", "half", "same", "same", "empty", "nan", "", "none"],
            "text": ["fire", "x", "ä" * 1_000_001, "x", "x", "x", "y", None, "x", "x", None],
            "lat": [1.0, None, None, 999.0, 1.0, None, None, None, None, None, 3.0],
            "lon": [2.0, None, None, 0.0, None, None, None, None, None, None, 4.0],
            "price": [1.0, None, None, None, None, None, None, None, np.nan, None, None],
        }
    )
    good, bad = Sifter().sift(table)
    assert good.table["id"].to_pylist() == ["ok", "same", "none"] and good.table["text"].to_pylist() == [
        "fire",
        "x",
        None,
    ]
    told = {row.id: row.reason for row in bad}
    assert told.pop("") == "a publication needs an id that is not empty"
    assert told == {
        "long": "publication 'long': its text has 1,000,001 characters; at most 1,000,000 are taken",
        "north": "publication 'north': its lat is between -90 and 90 degrees, got 999",
        "half": "publication 'half': a place needs both lat and lon",
        "same": "publication 'same': its id came before",
        "empty": "publication 'empty': its text is null, and it has nothing else",
        "nan": "publication 'nan': its attribute 'price' is not a finite number of float64's range; "
        "leave it out instead",
    }
    assert all(len(row.source) <= 200 for row in bad)
    assert [row.source for row in bad if row.id == "north"] == [
        '{"id": "north", "text": "x", "lat": 999.0, "lon": 0.0, "price": null}'
    ]


def test_wrong_types_and_unreadable_values_are_told() -> None:
    good, bad = Sifter().sift(pa.table({"id": ["a", "b"], "text": [1, None]}))
    assert good.table["id"].to_pylist() == [] and [row.reason for row in bad] == [
        "publication 'a': its text is a int, not text",
        "publication 'b': its text is null, and it has nothing else",
    ]
    broken = pa.array([b"fire", b"\xff"]).cast(pa.binary()).view(pa.string())
    good, bad = Sifter().sift(pa.table({"id": ["a", "b"], "text": broken}))
    assert good.table["id"].to_pylist() == ["a"] and "cannot be read" in bad[0].reason and "<string>" in bad[0].source
    assert bad[0].id == "b"
    far = pa.array([datetime(2020, 1, 1, tzinfo=UTC), None], pa.timestamp("us", "UTC"))
    good, bad = Sifter().sift(pa.table({"id": ["a", "b"], "ts": far, "text": ["x", "y"], "deep": [None, {"x": b"1"}]}))
    assert good.table["id"].to_pylist() == ["a", "b"] and not bad  # a column that can be no attribute costs no row


def test_an_id_is_known_again_in_later_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sifting, "REMEMBERED_IDS", 3)
    sifter = Sifter()
    for names, repeated in ((["a", "b"], []), (["c", "a"], ["a"]), (["d", "e"], []), (["b", "f"], ["b"])):
        good, bad = sifter.sift(pa.table({"id": names, "text": names}))
        assert [row.id for row in bad] == repeated
        assert good.table["id"].to_pylist() == [name for name in names if name not in repeated]


@given(st.lists(st.sampled_from(["a", "b", "c", "long id 1", "long id 2"]), max_size=4), st.integers(0, 4))
def test_one_table_alone_is_sifted_alike(names: list[str], cut: int) -> None:
    table = pa.table({"id": pa.chunked_array([names[:cut], names[cut:]], pa.string())})
    assert [row.reason for row in Sifter.of(table).sift(table)[1]] == [row.reason for row in Sifter().sift(table)[1]]
    assert surely_differ(table["id"]) == (len(set(names)) == len(names))


def test_what_was_rejected_is_counted_and_the_first_reasons_are_told() -> None:
    sifter = Sifter()
    table = pa.table({"id": list("abacaada")})
    parts = [sifter.sift(table.slice(start, 3))[0] for start in range(0, 8, 3)]
    assert [part.table["id"].to_pylist() for part in parts] == [["a", "b"], ["c"], ["d"]]
    assert [part.rows.tolist() for part in parts] == [[0, 1], [0], [0]]
    assert sifter.rows == 8 and sifter.rejected == 4
    assert sifter.summary().startswith(
        "rejected 4 of 8 publications: row 2: publication 'a': its id came before; row 4: publication 'a'"
    )
    sifter.sift(pa.table({"id": ["d", "d", "d"]}))
    assert sifter.rejected == 7 and sifter.summary().endswith("; and 2 more") and len(sifter.reasons) == 5


@examples(100)
@given(table=tables())
def test_what_is_let_through_are_publications(table: pa.Table) -> None:
    good, bad = Sifter().sift(table)
    expected = Publications.of(table).table
    empty = {row.id for row in bad if "nothing else" in row.reason}
    assert good.table.to_pylist() == [row for row in expected.to_pylist() if row["id"] not in empty]
    assert len(good) + len(bad) == table.num_rows
    kept = canonical(table.take(pa.array(good.rows)))
    assert kept["id"].to_pylist() == good.table["id"].to_pylist()
    names = [name for name in table.column_names if name not in ("id", "ts")]
    for row in table.to_pylist():
        assert row["id"] not in empty or not any(_has_something(row[name]) for name in names)


def _has_something(value: object) -> bool:
    return any(one is not None for one in value) if isinstance(value, list) else value is not None
