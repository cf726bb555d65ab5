"""What is an operator elsewhere and an attribute here is warned of."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tidings.analysis import Analyser, Fields
from tidings.engine import Engine
from tidings.registry import MemoryLog
from tidings.registry.habits import habits_of


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("fire lang:en", "lang:"),
        ("-is:retweet fire", "is:"),
        ("(from:a OR from:b)", "from:"),
        ("fire has:links", "has:links"),
    ],
)
def test_an_operator_of_x_is_named(query: str, name: str) -> None:
    [warning] = habits_of(pa.array([query, "fire", None]), Fields())
    assert warning.startswith(f"1 query asks for {name}, ")


@pytest.mark.parametrize(
    "query", ["fire", "language:en", '"from: here"', 'x:"is: \\" lang:"', "has:price", "has:linksx"]
)
def test_nothing_else_is_warned_of(query: str) -> None:
    assert habits_of(pa.array([query]), Fields()) == ()


def test_a_declared_field_is_no_habit() -> None:
    assert habits_of(pa.array(["lang:en"]), Fields.of({"lang": "folded"})) == ()


def test_the_receipt_of_few_and_of_many_has_the_warnings() -> None:
    for rows in (2, 200):
        table = pa.table({"id": [str(n) for n in range(rows)], "query": ["lang:en"] * rows})
        receipt = Engine().subscribe_many(table)
        assert receipt.warnings == MemoryLog(Analyser()).add(table, dry_run=True).warnings
        assert receipt.warnings[0].startswith(f"{rows} queries ask for lang:")
