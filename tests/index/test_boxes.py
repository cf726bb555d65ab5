"""Boxes are matched for 32 rows at a time, and fanned out from masks: nothing of that may show."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from tidings.index import scanning
from tidings.index.brute import BruteForce
from tidings.index.guard import GuardIndex
from tidings.language import parse
from tidings.model import Publication, Rectangle, Subscription, Within

NOW = datetime(2024, 5, 1, tzinfo=UTC)
WORDS = ["fire", "smoke", "flood", "storm"]


def places(rows: int, seed: int) -> pa.Table:
    rng = random.Random(seed)
    return pa.table(
        {
            "id": [f"p{i}" for i in range(rows)],
            "text": [" ".join(rng.choices(WORDS, k=2)) for _ in range(rows)],
            "lon": [150 + rng.random() for _ in range(rows)],
            "lat": [-34 + rng.random() for _ in range(rows)],
            "ts": [NOW + timedelta(hours=rng.randrange(48)) for _ in range(rows)],
        }
    )


def box(rng: random.Random) -> str:
    west, south, side = 150 + rng.random(), -34 + rng.random(), rng.choice([0.02, 0.3, 0.9])
    return f"bounding_box:[{west - side:.6f} {south - side:.6f} {west + side:.6f} {south + side:.6f}]"


def asked(count: int, seed: int, with_words: bool = True) -> list[Subscription]:
    """Some with limits, some equal to others, some with alternatives, some that are bounded by nothing but a box."""
    rng = random.Random(seed)
    found: list[Subscription] = []
    for i in range(count):
        words = rng.choice(["", rng.choice(WORDS), "({} OR {})".format(*rng.sample(WORDS, 2)), "fire -flood"])
        query = parse(f"{words if with_words else ''} {box(rng)}".strip())
        if rng.random() < 0.3 and found:
            query = rng.choice(found).query
        since = NOW + timedelta(hours=rng.randrange(24)) if rng.random() < 0.3 else None
        found.append(Subscription(f"s{i}", query, since=since, until=NOW + timedelta(hours=30) if since else None))
    return found


def indexed(subscriptions: list[Subscription]) -> tuple[GuardIndex, BruteForce]:
    """An index with everything in a segment, and the oracle."""
    index, oracle = GuardIndex(clock=lambda: NOW), BruteForce(clock=lambda: NOW)
    for matcher in (index, oracle):
        matcher.add(subscriptions)
    index.compact()
    return index, oracle


@pytest.mark.parametrize("rows", [1, 31, 32, 33, 200])
def test_deliveries_from_masks_are_those_of_brute_force(rows: int) -> None:
    index, oracle = indexed(asked(400, seed=rows))
    assert len(index.snapshot.state.segments[0].tables[1].runs) > 400
    removed = [f"s{i}" for i in range(0, 400, 7)]
    for matcher in (index, oracle):
        matcher.remove(removed)
    table = places(rows, seed=rows)
    found = index.match(table)
    assert found.pairs() == oracle.match(table).pairs() and len(found) == len(found.pairs())
    assert found.counters == index.count(table)
    ids = found.text()["publication_id"].to_pylist()
    assert ids == sorted(ids, key=table["id"].to_pylist().index)


def test_more_subscribers_than_there_is_room_for_at_first_all_get_their_rows() -> None:
    everywhere = parse("bounding_box:[149 -35 152 -32]")
    index, _ = indexed([Subscription(f"s{i}", everywhere) for i in range(3_000)])
    table = places(40, seed=1)
    assert len(index.match(table).pairs()) == 40 * 3_000
    assert len(index.match_one(Publication("p", "", lon=150.5, lat=-33.5))) == 3_000


def test_what_does_not_fit_is_matched_in_several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    index, oracle = indexed(asked(600, seed=5))
    table = places(150, seed=5)
    expected = oracle.match(table)
    for room in (1, 700, 1500):
        monkeypatch.setattr(scanning, "_FIRST_ROOM", room)
        index._readers.local.scratch = None
        found = index.match(table)
        assert found.pairs() == expected.pairs() and len(found) == len(found.pairs())


def test_texts_are_read_as_soon_as_somebody_asks_for_a_word() -> None:
    index, oracle = indexed(asked(50, seed=3, with_words=False))
    table = places(60, seed=3)
    assert not index.snapshot.state.terms.has_words
    assert index.match(table).pairs() == oracle.match(table).pairs()
    for matcher in (index, oracle):
        matcher.add([Subscription("word", parse("fire"))])
    assert index.match(table).pairs() == oracle.match(table).pairs()
    assert [m.subscription_id for m in index.match_one(Publication("p", "Fire!"))] == ["word"]
    index.compact()
    assert index.match(table).pairs() == oracle.match(table).pairs()


@pytest.mark.parametrize("with_box", [True, False])
def test_a_query_with_alternatives_here_and_elsewhere_matches_once(with_box: bool) -> None:
    """Alternatives with a box and without one: all of a query's entries are in one table."""
    alternatives = "fire OR (smoke bounding_box:[149 -35 152 -32])"
    others = [Subscription("box", parse("bounding_box:[149 -35 152 -32]"))] if with_box else []
    index, oracle = indexed([Subscription("s", parse(alternatives)), *others])
    table = pa.table({"id": ["a"], "text": ["fire and smoke"], "lon": [150.5], "lat": [-33.5]})
    found = index.match(table)
    assert found.pairs() == oracle.match(table).pairs() and len(found) == len(found.pairs())


NEAR = [150 + step * 2.0**-40 for step in (-3, -2, -1, 0, 1, 2, 3)]
"""Numbers whose upper halves are those of two neighbours: only all 64 bits tell them apart."""


@pytest.mark.parametrize("seed", range(5))
def test_a_place_just_beyond_an_edge_is_outside(seed: int) -> None:
    """Edges on all four sides, places on both sides of them and on them; rows that share one mask, and a lone one."""
    rng = random.Random(seed)
    boxes = []
    for number in range(300):
        west, east = sorted(rng.choices([*NEAR, 149.0, 151.0], k=2))
        south, north = sorted(rng.choices([lon - 180 for lon in NEAR] + [-31.0, -29.0], k=2))
        boxes.append(Subscription(f"s{number}", Within(Rectangle(west, south, east, north))))
    index, oracle = indexed(boxes)
    table = pa.table(
        {
            "id": [f"p{row}" for row in range(120)],
            "lon": rng.choices(NEAR, k=120),
            "lat": [lon - 180 for lon in rng.choices(NEAR, k=120)],
        }
    )
    expected = oracle.match(table).pairs()
    assert sorted(index.match(table).pairs()) == sorted(expected) and expected
    for row in range(10):
        assert index.match(table.slice(row, 1)).pairs() == oracle.match(table.slice(row, 1)).pairs()


@pytest.mark.parametrize(("rows", "groups"), [(1, 1), (32, 1), (33, 2), (200, 7)])
def test_a_box_that_is_compared_with_32_rows_at_once_is_compared_once(rows: int, groups: int) -> None:
    index, _ = indexed([Subscription(f"s{i}", parse(f"fire bounding_box:[149 -35 {152 + i} -32]")) for i in range(5)])
    ids, there = [f"p{i}" for i in range(rows)], {"lon": [150.5] * rows, "lat": [-33.5] * rows}
    table = pa.table({"id": ids, "text": ["fire"] * rows, **there})
    counters = index.match(table).counters
    assert (counters.candidates, counters.matches, counters.compared) == (5 * rows, 5 * rows, 5 * groups)
