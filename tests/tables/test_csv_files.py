"""What is read from CSV: what every cell of a column writes, and no more."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tidings.tables import csv_files
from tidings.tables.canonical import INSTANT
from tidings.tables.csv_files import CsvFile, inferred, typed


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "-2", ""], pa.int64()),
        (["1", "2.5", "1e3"], pa.float64()),
        (["01234", "2000"], pa.string()),
        (["1", "007"], pa.string()),
        (["1", "n/a"], pa.string()),
        (["1.5", "+2"], pa.string()),
        (["9223372036854775807"], pa.int64()),
        (["9223372036854775808"], pa.string()),
        (["1.5", "12345678901234567890123"], pa.string()),
        (["1e999"], pa.string()),
        (["nan"], pa.string()),
        (["true", "FALSE"], pa.bool_()),
        (["true", "1"], pa.string()),
        (["2024-01-31", "2024-01-31T10:00:00"], INSTANT),
        (["2024-01-31T10:00:00Z", "2024-01-31T10:00:00+02:00"], INSTANT),
        (["2024-01-31", "2024-01-31T10:00:00Z"], INSTANT),
        (["2024-02-31"], pa.string()),
        (["12:30:00"], pa.string()),
        (["", ""], pa.string()),
    ],
)
def test_a_column_is_what_all_of_its_cells_write(cells: list[str], kind: pa.DataType) -> None:
    column = pa.array([cell or None for cell in cells], pa.string())
    tables = [pa.table({"v": column.slice(row, 1)}) for row in range(len(cells))]
    assert inferred([pa.table({"v": column})]) == inferred(tables) == {"v": kind}
    assert inferred([pa.table({"id": column})]) == {"id": pa.string()}
    table, odd = typed(pa.table({"v": column}), {"v": kind})
    assert table["v"].type == kind and table["v"].null_count == column.null_count and not odd.any()


def test_a_cell_that_is_not_of_its_kind_is_told() -> None:
    table = pa.table(
        {"n": ["1", None, "x", "9223372036854775808"], "t": ["2024-01-31", "2024-01-31T01:00:00Z", "", "z"]}
    )
    found, odd = typed(table, {"n": pa.int64(), "t": INSTANT, "absent": pa.float64()})
    assert found["n"].to_pylist() == [1, None, None, None] and found["absent"].null_count == 4
    assert odd.tolist() == [False, False, True, True]


def test_pieces_of_a_file_have_the_same_kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_files, "_BLOCK_BYTES", 200)
    rows = [f"{n},{n},{n}\n" for n in range(200)] + ["x,007,1.5\n"]
    (tmp_path / "posts.csv").write_text("id,zip,price\n" + "".join(rows))
    file = CsvFile(tmp_path / "posts.csv")
    assert len(list(file.cells())) > 3
    assert inferred(file.cells()) == {"id": pa.string(), "zip": pa.string(), "price": pa.float64()}


def test_rows_of_another_length_are_kept_aside(tmp_path: Path) -> None:
    (tmp_path / "posts.csv").write_text("id;text\n1;fire\n2\n3;a;b\n4;'x;\ny'\n")
    file = CsvFile(tmp_path / "posts.csv", ";", "'", odd=[])
    assert pa.concat_tables(file.cells()).to_pylist() == [{"id": "1", "text": "fire"}, {"id": "4", "text": "x;\ny"}]
    assert file.odd == ["2", "3;a;b"]
