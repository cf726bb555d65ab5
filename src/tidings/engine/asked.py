"""What do people give an engine: which ids, which few subscriptions?"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pyarrow as pa
import pyarrow.compute as pc

from tidings.index.guard import FEW, Meaning
from tidings.model import QueryError
from tidings.registry import Row
from tidings.registry.schemas import SUBSCRIPTION
from tidings.registry.validation import check_ids

_TEXTS = tuple(SUBSCRIPTION.names[:4])


def unique_ids(ids: Iterable[str]) -> list[str]:
    """The ids that somebody names, each once; what is no id is refused or left out."""
    if isinstance(ids, list | tuple | set | frozenset) and all(type(name) is str for name in ids):
        return list(dict.fromkeys(ids))
    return pc.unique(check_ids(ids).accepted["id"]).to_pylist()  # type: ignore[no-any-return]


def few_rows(table: pa.Table, read: Callable[[str], Meaning]) -> tuple[list[Row], list[Meaning]] | None:
    """The rows of a small table and what they ask, if all are surely good; None if they have to be checked.

    Arrow's functions release the GIL, and each time it comes back late: rows are read one by one here.
    """
    names = table.column_names
    if not (0 < table.num_rows < FEW and set(names) >= {"id", "query"} and len(set(names)) == len(names)):
        return None
    if not (set(names).issubset(_TEXTS) and all(map(_is_full_text, table.columns))):
        return None
    absent = [""] * table.num_rows
    try:
        columns = [table[name].to_pylist() if name in names else absent for name in _TEXTS]
        meanings = [read(query) for query in columns[1]]
    except (QueryError, UnicodeDecodeError):
        return None
    if "" in columns[0]:
        return None
    return [(*texts, None, None) for texts in zip(*columns, strict=True)], meanings


def _is_full_text(column: pa.ChunkedArray) -> bool:
    return (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)) and not column.null_count
