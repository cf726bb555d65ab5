"""Nested posts, bad columns and bad rows in an engine: what is lost, and is it said?"""

from __future__ import annotations

import logging

import pyarrow as pa
import pytest

from tests.nested import ASKED, EVENTS, expected
from tidings.engine import Engine
from tidings.tables.matches import Matches
from tidings.tables.sifting import Sifter


def _pairs(found: Matches) -> list[tuple[str, str]]:
    return sorted((match.publication_id, match.subscription_id) for match in found)


@pytest.fixture
def engine() -> Engine:
    engine = Engine()
    engine.subscribe_many(ASKED)
    return engine


def test_nested_events_match_as_a_plain_evaluation_says(engine: Engine) -> None:
    assert len(expected()) > 20
    assert _pairs(engine.match(pa.Table.from_pylist(EVENTS))) == expected()
    singly = [match for event in EVENTS for match in engine.publish(**event)]
    assert sorted((match.publication_id, match.subscription_id) for match in singly) == expected()
    engine.compact()
    assert _pairs(engine.match(pa.Table.from_pylist(EVENTS))) == expected()


def test_a_column_that_can_be_no_attribute_is_named_once_and_costs_no_row(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    engine.subscribe("has:photo OR photo:x", id="asks for it")
    table = pa.Table.from_pylist(EVENTS)
    table = table.append_column("photo", pa.array([b"x"] * table.num_rows))
    with caplog.at_level(logging.WARNING):
        assert _pairs(engine.match(table)) == _pairs(engine.match(table)) == expected()
    assert [record.message for record in caplog.records] == [
        "the column 'photo' is no attribute, and queries find nothing in it: it is of type binary"
    ]


def test_what_is_rejected_is_counted_and_said(caplog: pytest.LogCaptureFixture) -> None:
    engine = Engine()
    engine.subscribe("fire", id="s1")
    engine.subscribe("bounding_box:[0 0 2 2]", id="s2")
    table = pa.table(
        {
            "id": ["a", "a", "b", "c"],
            "text": ["fire"] * 4,
            "lat": ["1", "1", "north", "1.5"],
            "lon": ["1", "1", "1", "1.5"],
        }
    )
    assert _pairs(engine.match(table)) == [("a", "s1"), ("a", "s2"), ("c", "s1"), ("c", "s2")]
    assert [record.message for record in caplog.records] == [
        "rejected 2 of 4 publications: row 1: publication 'a': its id came before; "
        "row 2: its lat is a number of degrees, got 'north'"
    ]
    caplog.clear()
    sifter = Sifter()
    for part in (table.slice(0, 1), table.slice(1)):
        engine.match(part, sifter=sifter)
    assert sifter.rejected == 2 and sifter.rows == 4 and not caplog.records
