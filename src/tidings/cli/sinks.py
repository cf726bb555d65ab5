"""Where do matches go? To a file of Parquet, or to stdout as a table, as JSON or as CSV; a batch at a time."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from io import StringIO
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from tidings.cli.terminal import cell, shown
from tidings.model import Match
from tidings.tables.match_files import MatchFile
from tidings.tables.matches import MATCHES, Matches

Write = Callable[[Matches], None]
SHOWN = 20
"""So many rows does a table show if nobody says how many."""


def printed(output_format: str, limit: int | None) -> AbstractContextManager[Write]:
    """The first ``limit`` matches on stdout; without a limit all of them, or 20 in a table."""
    if output_format == "json":
        return _as_json(limit)
    return _as_csv(limit) if output_format == "csv" else _as_table(SHOWN if limit is None else limit)


@contextmanager
def saved(path: Path) -> Iterator[Write]:
    """All matches in one file, which is there when all is done, or not at all."""
    part = path.with_name(path.name + ".part")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with MatchFile(part, MATCHES.names) as file:
            yield file.write
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _as_json(limit: int | None) -> Iterator[Write]:
    first = _First(limit)

    def write(matches: Matches) -> None:
        for match in first.of(matches):
            typer.echo(json.dumps(match._asdict()))

    yield write


@contextmanager
def _as_csv(limit: int | None) -> Iterator[Write]:
    first = _First(limit)
    sys.stdout.write(_csv_line(MATCHES.names))

    def write(matches: Matches) -> None:
        sys.stdout.writelines(_csv_line(match) for match in first.of(matches))

    yield write


def _csv_line(values: Iterable[object]) -> str:
    r"""With whatever a text holds in quotes: csv.writer quotes "\r" only where lines end in it.

    >>> _csv_line(["a\rb", 7])
    '"a\rb",7\n'
    """
    line = StringIO()
    csv.writer(line).writerow([shown(value) if isinstance(value, str) else value for value in values])
    return line.getvalue().removesuffix("\r\n") + "\n"


@contextmanager
def _as_table(limit: int) -> Iterator[Write]:
    first = _First(limit)
    table = Table("publication", "subscription", "subscriber", "tag", box=None, header_style="dim")

    def write(matches: Matches) -> None:
        for match in first.of(matches):
            table.add_row(*map(cell, match[:4]))

    yield write
    console = Console(highlight=False)
    if table.row_count:
        console.print(table)
    rest = "" if table.row_count == first.seen else f", the first {table.row_count:,} shown"
    console.print(f"{counted(first.seen, 'match')}{rest}")


class _First:
    """The first so many of all rows that pass, and how many passed."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self.seen = 0

    def of(self, matches: Matches) -> Iterable[Match]:
        left = None if self._limit is None else max(0, self._limit - self.seen)
        self.seen += len(matches)
        return matches if left is None else matches[:left]


def counted(number: int, noun: str) -> str:
    """
    >>> counted(1, "match"), counted(2_000, "match"), counted(0, "post")
    ('1 match', '2,000 matches', '0 posts')
    """
    plural = noun + ("es" if noun.endswith("ch") else "s")
    return f"{number:,} {noun if number == 1 else plural}"
