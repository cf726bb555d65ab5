"""Is a batch of files there whole or not at all, wherever its driver dies? Without a session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from tidings.cluster.delta import DeltaSink
from tidings.cluster.sinks import Batch, FileSink, ParquetSink

FILES = 3
BATCH = Batch("one", 7)


class Death(BaseException):
    """No handler of errors may notice it, as none notices a kill."""


def written(sink: FileSink) -> list[Path]:
    folder = sink.aside(BATCH)
    files = [folder / f"part-{number}.parquet" for number in range(FILES)]
    for number, file in enumerate(files):
        pq.write_table(pa.table({"who": [number]}), file)
    return files


def seen(sink: ParquetSink | DeltaSink) -> list[int]:
    """What a reader sees."""
    try:
        if isinstance(sink, DeltaSink):
            table = DeltaTable(sink.path).to_pyarrow_table()
        else:
            table = ds.dataset(sink.path).to_table()
    except Exception as error:  # there is nothing yet
        assert not isinstance(error, AssertionError)
        return []
    return sorted(table["who"].to_pylist()) if "who" in table.column_names else []


def dying(owner: type, name: str, call: int, when: str, patch: pytest.MonkeyPatch) -> None:
    """Let the process die before or after the call-th time of something."""
    usual: Callable[..., Any] = getattr(owner, name)
    calls = 0

    def dies(*args: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call and when == "before":
            raise Death
        result = usual(*args, **options)
        if calls == call:
            raise Death
        return result

    patch.setattr(owner, name, dies)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    ("make", "owner", "name", "call"),
    [
        *((ParquetSink, Path, "rename", call) for call in range(1, FILES + 2)),
        *((ParquetSink, Path, "mkdir", call) for call in (1, 2)),
        (DeltaSink, DeltaTable, "create_write_transaction", 1),
    ],
)
def test_a_death_while_files_are_taken_leaves_all_of_a_batch_or_nothing(
    make: Callable[[Path], ParquetSink | DeltaSink],
    owner: type,
    name: str,
    call: int,
    when: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sink = make(tmp_path / "matches")
    files = written(sink)
    with monkeypatch.context() as patch:
        dying(owner, name, call, when, patch)
        with pytest.raises(Death):
            sink.take(files, BATCH)
    assert seen(sink) == ([*range(FILES)] if sink.has(BATCH) else [])
    if not sink.has(BATCH):
        sink.take(written(sink), BATCH)
    assert sink.has(BATCH) and seen(sink) == [*range(FILES)]
