"""Which errors can tidings raise?

::

    TidingsError
    ├── QueryError         a query that cannot be read, or that asks for nothing
    ├── PublicationError   a publication whose fields cannot be used
    ├── SubscriptionError  a subscription whose fields cannot be used
    └── DataError          a file or table that is missing, or not what it was said to be
        └── HistoryError   a version of a registry that is too old to be told

A message says what failed, the value, where, and what to do. Bad rows of a batch are not raised: they
become :class:`tidings.model.Rejected` values.
"""

from __future__ import annotations

MAX_QUOTED_CHARS = 200


def quoted(value: object) -> str:
    """``repr``, but not longer than a message may be: whoever writes a post may choose the value.

    >>> quoted("fire"), quoted("x" * 1_000_000)[-22:]
    ("'fire'", "xxx'… (1,000,000 long)")
    """
    if isinstance(value, str) and len(value) > MAX_QUOTED_CHARS:
        return f"{value[:MAX_QUOTED_CHARS]!r}… ({len(value):,} long)"
    return repr(value)


class TidingsError(Exception):
    """The root: ``except TidingsError`` catches everything tidings raises on purpose."""


class QueryError(TidingsError):
    """A query that cannot be read, or that asks for nothing.

    ``column`` counts characters from 1, where the text is known; ``culprit`` is the node of the tree that is to blame,
    where the text is not.

    >>> str(QueryError("expected a word", column=7))
    'query, column 7: expected a word'
    """

    def __init__(self, problem: str, column: int | None = None, culprit: object = None) -> None:
        self.problem = problem
        self.column = column
        self.culprit = culprit
        where = "query" if column is None else f"query, column {column}"
        super().__init__(f"{where}: {problem}")

    def __reduce__(self) -> tuple[type[QueryError], tuple[str, int | None]]:
        return QueryError, (self.problem, self.column)


class PublicationError(TidingsError):
    """A publication whose fields cannot be used; it becomes a ``Rejected`` row in a batch."""


class SubscriptionError(TidingsError):
    """A subscription whose fields cannot be used; it becomes a ``Rejected`` row in a batch."""


class DataError(TidingsError):
    """A file or table that is missing, or not what it was said to be."""


class HistoryError(DataError):
    """A version of a registry that is older than the history it keeps; the newest one can be read instead."""
