"""Are matches the same whichever way somebody looks at them, however late they are named?"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.model import Match, Publication
from tidings.tables import match_files
from tidings.tables.canonical import INSTANT
from tidings.tables.checked import Listed, Publications
from tidings.tables.match_files import MatchFile
from tidings.tables.matches import MATCHES, WITH_INSTANT, Deliveries, Matches, Roster, renumbered

Ids = np.typing.NDArray[np.int32]


class Names:
    """A roster of n subscriptions, with one subscriber and few tags."""

    def __init__(self, prefix: str, count: int) -> None:
        self.ids = [f"{prefix}{number}" for number in range(count)]
        self.tags = [f"tag {number % 2}" for number in range(count)]
        self.versions = list(range(count))

    def column(self, name: str, numbers: Ids) -> tuple[pa.Array, Ids]:
        if name == "subscriber":
            return pa.array(["ada"], pa.large_string()), np.zeros(len(numbers), dtype=np.int32)
        values = {"subscription_id": self.ids, "tag": self.tags, "query_version": self.versions}[name]
        return pa.array(values, MATCHES.field(name).type), numbers

    def values(self, numbers: Ids) -> list[list[object]]:
        some = numbers.tolist()
        versions = [self.versions[n] for n in some]
        return [[self.ids[n] for n in some], ["ada"] * len(some), [self.tags[n] for n in some], versions]


def batch(first: int, rows: int, reverse: bool) -> Publications:
    """Some rows of a table; in the other order, as where neighbours are brought together."""
    ts = pa.array([None if n % 3 else n for n in range(first, first + rows)], pa.int64()).cast(INSTANT)
    made = Publications(
        pa.table({"id": [f"p{first + n}" for n in range(rows)], "ts": ts}), np.arange(first, first + rows)
    )
    return made.taken(np.arange(rows)[::-1]) if reverse else made


@st.composite
def found(draw: st.DrawFn) -> tuple[Matches, list[tuple[int, Match]]]:
    """Matches, and each of them by its row, in the order in which they were found."""
    parts: list[Deliveries] = []
    expected: list[tuple[int, Match]] = []
    rosters: list[Roster] = [Names("a", 4), Names("b", 1)]
    for number in range(draw(st.integers(0, 3))):
        posts = batch(100 * number, draw(st.integers(1, 5)), draw(st.booleans()))
        for roster in draw(st.lists(st.sampled_from(rosters), max_size=2, unique=True)):
            assert isinstance(roster, Names)
            pair = st.tuples(st.integers(0, len(posts) - 1), st.integers(0, len(roster.ids) - 1))
            pairs = draw(st.lists(pair, max_size=8, unique=True))
            rows, numbers = (np.array([each[k] for each in pairs], dtype=np.int32) for k in (0, 1))
            parts.append(Deliveries(posts, rows, roster, numbers))
            for row, n in pairs:
                at = int(posts.rows[row])
                expected.append((at, Match(f"p{at}", roster.ids[n], "ada", roster.tags[n], roster.versions[n])))
    return Matches(parts), expected


def values(table: pa.Table) -> list[Match]:
    return [Match(**row) for row in table.to_pylist()]


@given(found())
def test_every_way_to_look_at_matches_shows_the_same(made: tuple[Matches, list[tuple[int, Match]]]) -> None:
    matches, expected = made
    in_order = [match for _, match in sorted(expected, key=lambda each: each[0])]
    assert len(matches) == len(expected)
    assert values(matches.table()) == values(pa.table(matches)) == [match for _, match in expected]
    assert values(matches.text()) == list(matches) == matches[:] == in_order
    assert [matches[place] for place in range(-len(matches), 0)] == in_order
    assert matches.text().schema == MATCHES and matches == in_order and in_order == matches
    assert matches.pairs() == {(row, match.subscription_id) for row, match in expected}
    assert matches.rows().tolist() == [row for row, _ in expected]
    assert matches.table(["tag"])["tag"].to_pylist() == [match.tag for _, match in expected]
    assert matches.text(["ts"])["ts"].cast(pa.int64()).to_pylist() == [
        None if row % 3 else row for row, _ in sorted(expected, key=lambda each: each[0])
    ]


@given(st.lists(found(), max_size=4), st.sampled_from([1, 3, 1 << 20]), st.sampled_from([1, 2, 1 << 10]))
def test_a_file_has_what_was_written_as_plain_text(
    made: list[tuple[Matches, list[tuple[int, Match]]]], most: int, parts: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(match_files, "GROUP_MATCHES", most)
        patch.setattr(match_files, "GROUP_PARTS", parts)
        sink = pa.BufferOutputStream()
        with MatchFile(sink) as file:
            for matches, _ in made:
                file.write(matches)
    read = pq.read_table(pa.BufferReader(sink.getvalue()))
    assert values(read.drop_columns("ts")) == [match for _, expected in made for _, match in expected]
    assert read["ts"].cast(pa.int64()).to_pylist() == [
        None if row % 3 else row for _, expected in made for row, _ in expected
    ]
    assert [pa.types.is_string(read.schema.field(name).type) for name in WITH_INSTANT.names] == [True] * 4 + [False] * 2


def test_names_are_written_once_a_row_group(tmp_path: Path) -> None:
    roster, posts = Names("s", 1000), batch(0, 500, reverse=False)
    rows = np.repeat(np.arange(500, dtype=np.int32), 200)
    numbers = np.tile(np.arange(0, 1000, 5, dtype=np.int32), 500)
    with MatchFile(tmp_path / "all.parquet") as file:
        file.write(Matches([Deliveries(posts, rows, roster, numbers)]))
    group = pq.ParquetFile(tmp_path / "all.parquet").metadata.row_group(0)
    columns = [group.column(place) for place in range(4)]
    assert all("PLAIN_DICTIONARY" in c.encodings or "RLE_DICTIONARY" in c.encodings for c in columns)
    assert columns[1].total_uncompressed_size < 100_000 + 200 * 20  # a byte a match, and each name once


def test_columns_that_nobody_wants_are_not_written(tmp_path: Path) -> None:
    posts = Listed((Publication("p"),), np.zeros(1, dtype=np.int64))
    one = np.zeros(1, dtype=np.int32)
    with MatchFile(tmp_path / "some.parquet", ["subscription_id"]) as file:
        file.write(Matches([Deliveries(posts, one, Names("s", 2), one)]))
    assert pq.read_table(tmp_path / "some.parquet").to_pylist() == [{"subscription_id": "s0"}]


@given(st.lists(st.integers(0, 50)))
def test_renumbered_names_what_is_used(numbers: list[int]) -> None:
    used, places = renumbered(np.array(numbers, dtype=np.int32))
    assert used.tolist() == sorted(set(numbers)) and used[places].tolist() == numbers


def test_many_matches_are_shown_in_part() -> None:
    posts, some = batch(0, 1, reverse=False), np.arange(30, dtype=np.int32)
    shown = repr(Matches([Deliveries(posts, np.zeros(30, dtype=np.int32), Names("s", 30), some)]))
    assert shown.startswith("[Match(publication_id='p0', subscription_id='s0'") and shown.endswith("... 30 in all]")
