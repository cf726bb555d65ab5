"""Are nested columns the attributes that nested values are, one by one?"""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tidings.model import Publication
from tidings.tables import publications
from tidings.tables.canonical import canonical, left_out
from tidings.tables.checked import Publications
from tidings.tables.validity import rejected_rows

_PLAIN: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.string(): st.sampled_from(["a", "", "7"]),
    pa.int64(): st.integers(-3, 3),
    pa.float64(): st.sampled_from([0.5, 2.0]),
    pa.bool_(): st.booleans(),
    pa.timestamp("us", tz="UTC"): st.just(datetime(2020, 1, 2, 3, tzinfo=UTC)),
}


@st.composite
def _kinds(draw: st.DrawFn, level: int = 0) -> pa.DataType:
    choice = draw(st.integers(0, 3 if level < 3 else 0))
    if choice == 1:
        names = draw(st.lists(st.sampled_from(["a", "b", "a.b"]), min_size=1, max_size=3, unique=True))
        return pa.struct([(name, draw(_kinds(level + 1))) for name in names])
    if choice == 2:
        return pa.list_(draw(_kinds(level + 1)))
    if choice == 3:
        return pa.large_list(draw(_kinds(level + 1)))
    return draw(st.sampled_from(list(_PLAIN)))


def _values(kind: pa.DataType) -> st.SearchStrategy[Any]:
    if pa.types.is_struct(kind):
        return st.none() | st.fixed_dictionaries({field.name: _values(field.type) for field in kind})
    if pa.types.is_nested(kind):
        return st.none() | st.lists(_values(kind.value_type), max_size=3)
    return st.none() | _PLAIN[kind]


@examples(100)
@given(st.data())
def test_a_nested_column_holds_what_its_values_hold(data: st.DataObject) -> None:
    kinds = {name: data.draw(_kinds()) for name in data.draw(st.sets(st.sampled_from(["x", "x.a", "y"]), min_size=1))}
    rows = [{name: data.draw(_values(kind)) for name, kind in kinds.items()} for _ in range(3)]
    columns = {name: pa.array([row[name] for row in rows], kind) for name, kind in kinds.items()}
    table = pa.table({"id": ["p0", "p1", "p2"], **columns})
    cut = data.draw(st.integers(0, 3))
    pieces = pa.concat_tables([table.slice(0, cut), table.slice(cut)])
    shadowed = {name for name, reason in left_out(table.schema).items()}  # another column has that name, in some rows
    for number, found in enumerate(publications(pieces)):
        assert isinstance(found, Publication)
        expected = Publication(f"p{number}", attributes=rows[number])
        assert {name: value for name, value in found.attributes.items() if name not in shadowed} == {
            name: value for name, value in expected.attributes.items() if name not in shadowed
        }
    again = canonical(canonical(pieces))
    assert again.equals(canonical(pieces)) and again.num_rows == 3
    assert not rejected_rows(pieces)


def test_structs_and_lists_of_any_make_are_read() -> None:
    lists = pa.array([[1, 2], None], pa.list_(pa.int16(), 2))
    views = pa.array([["a", None], []], pa.list_view(pa.string_view()))
    coded = pa.array([[date(2020, 1, 2)], []], pa.list_(pa.date32()))
    money = pa.array([[Decimal("1.50")], None], pa.list_(pa.decimal128(10, 2)))
    words = pa.ListArray.from_arrays([0, 2, 2], pa.array(["x", "y"]).dictionary_encode())
    table = pa.table({"id": ["p", "q"], "fixed": lists, "view": views, "day": coded, "money": money, "word": words})
    first, second = publications(table)
    assert isinstance(first, Publication) and isinstance(second, Publication)
    assert dict(first.attributes) == {
        "fixed": (1, 2),
        "view": ("a",),
        "day": (datetime(2020, 1, 2, tzinfo=UTC),),
        "money": (1.5,),
        "word": ("x", "y"),
    }
    assert not second.attributes


def test_what_no_attribute_can_hold_is_left_out_and_no_row_is_lost() -> None:
    deep = pa.int64()
    for _ in range(33):
        deep = pa.list_(deep)
    table = pa.table(
        {
            "id": ["p"],
            "likes": [3],
            "photo": pa.array([b"x"]),
            "at": pa.array([time(1)]),
            "words": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
            "user": [{"name": "ada", "face": b"x", "tags": [b"y"]}],
            "deep": pa.nulls(1, deep),
        }
    )
    assert left_out(table.schema) == {
        "photo": "it is of type binary",
        "at": "it is of type time64[us]",
        "words": "it is of type map<string, int64>",
        "user.face": "it is of type binary",
        "user.tags": "it is of type binary",
        "deep": "it is nested deeper than 32 levels",
    }
    good = Publications.of(table)
    assert good.rows.tolist() == [0] and good.table.column_names == ["id", "likes", "user.name"]


@pytest.mark.parametrize("literal_first", [True, False])
def test_a_column_wins_over_the_field_of_a_struct_with_its_name(literal_first: bool) -> None:
    columns = {"user.name": pa.array(["column"]), "user": pa.array([{"name": "field"}])}
    names = list(columns) if literal_first else list(reversed(columns))
    table = pa.table({"id": ["p"], **{name: columns[name] for name in names}})
    assert canonical(table)["user.name"].to_pylist() == ["column"]
    assert left_out(table.schema) == {"user.name": "another one has this name: 'user.name'"}


def test_a_row_with_a_bad_element_is_rejected_and_its_neighbours_are_not() -> None:
    table = pa.table({"id": ["a", "b", "c"], "n": [[1.0, float("nan")], [2.0], [0.0] * 10_001]})
    assert [row.id for row in rejected_rows(table).values()] == ["a", "c"]
    far = pa.array([[0], [2**60]], pa.list_(pa.timestamp("us")))
    good = Publications.of(pa.table({"id": ["a", "b"], "t": far}))
    assert good.rows.tolist() == [0] and good.table["t"].type == pa.large_list(pa.timestamp("us", tz="UTC"))
