"""How do matches become a Parquet file? As numbers of names, of which each row group has every one once.

The file is what any reader of Parquet expects, columns of text. But nobody makes that text: Parquet keeps a dictionary
of names and numbers into it, and so do matches.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import pyarrow as pa
import pyarrow.parquet as pq

from tidings.tables.checked import TEXT
from tidings.tables.matches import WITH_INSTANT, Deliveries, Matches

GROUP_MATCHES = 1 << 20
"""A row group has about so many matches at most."""

GROUP_PARTS = 1 << 10
"""And it comes from so many parts at most: each has some objects of its own."""

_DICTIONARY_BYTES = 1 << 28
_ENCODED = pa.dictionary(pa.int32(), TEXT)


class MatchFile:
    """A Parquet file of matches with these ``columns``; they are all there when it is closed.

    Use it in a ``with`` statement.
    """

    def __init__(self, path: Path, columns: Sequence[str] = WITH_INSTANT.names) -> None:
        fields = [WITH_INSTANT.field(name) for name in columns]
        self._schema = pa.schema([field.with_type(_ENCODED) if field.type == TEXT else field for field in fields])
        self._writer = pq.ParquetWriter(
            path,
            self._schema,
            store_schema=False,  # so that readers see text
            dictionary_pagesize_limit=_DICTIONARY_BYTES,
            write_statistics=[field.name for field in fields if field.type != TEXT],  # of names: 5 times as slow
        )
        self._held: list[pa.Table] = []

    def write(self, matches: Matches) -> None:
        """Add some matches."""
        for part in matches.parts:
            for start in range(0, len(part), GROUP_MATCHES):
                self._hold(part if len(part) <= GROUP_MATCHES else part.taken(slice(start, start + GROUP_MATCHES)))

    def _hold(self, part: Deliveries) -> None:
        """Keep the numbers and the names of a part, and nothing else of its publications."""
        if sum(map(len, self._held)) + len(part) > GROUP_MATCHES or len(self._held) >= GROUP_PARTS:
            self._flush()
        columns = [
            part.compact(field.name) if field.type == _ENCODED else part.text(field.name) for field in self._schema
        ]
        self._held.append(pa.table(columns, schema=self._schema))

    def _flush(self) -> None:
        if self._held:
            table = pa.concat_tables(self._held).unify_dictionaries().combine_chunks()
            self._writer.write_table(table, row_group_size=GROUP_MATCHES)
            self._held.clear()

    def __enter__(self) -> MatchFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._flush()
        finally:
            self._writer.close()
