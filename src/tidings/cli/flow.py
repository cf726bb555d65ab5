"""How do the posts of a file become matches? Piece by piece, so that neither all posts nor all matches are held."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pyarrow as pa

from tidings.cli.files import PIECE_ROWS, TableFile
from tidings.cli.output import progress, tell_compiling, tell_rejected
from tidings.cli.sinks import Write, counted, printed, saved
from tidings.cli.terminal import say
from tidings.engine import Engine
from tidings.model import DataError
from tidings.registry import Registry
from tidings.tables.sifting import Sifter
from tidings.terms.sample import MAX_ROWS

MOST_MATCHES = 1_000_000
"""About so many matches are held at once."""


@dataclass(slots=True)
class Passed:
    """What went by, and what was rejected."""

    posts: int = 0
    matches: int = 0
    sifter: Sifter = field(default_factory=Sifter)


def match_files(  # one for each option
    posts: Path,
    subscriptions: Path,
    output: Path | None,
    output_format: str,
    limit: int | None,
    keep: timedelta | None = None,
) -> None:
    """Match all posts of one file with the subscriptions of another, or of a folder."""
    file = TableFile(posts)
    sample = file.read(MAX_ROWS)
    if "id" not in sample.column_names:
        say(f"{posts.name} has no column 'id': the numbers of its rows, from 0, serve as ids", err=True)
    tell_compiling()
    with opened(subscriptions, _with_ids(sample, 0), keep) as engine:
        sink = saved(output) if output else printed(output_format, limit)
        mixed = output is None and output_format != "table" and sys.stdout.isatty()  # data and a bar on one screen
        began = time.perf_counter()
        with sink as write, progress("matching", file.count_rows(), shown=not mixed) as advance:
            tally = flow(engine, file, write, advance)
        spent_s = time.perf_counter() - began
        tell_rejected("post", tally.sifter.rejected, tally.posts, tally.sifter.reasons)
        numbers = (counted(tally.posts, "post"), counted(len(engine), "subscription"), counted(tally.matches, "match"))
        say(f"{', '.join(numbers)}, {tally.posts / spent_s:,.0f} posts/s", err=True)


def opened(subscriptions: Path, sample: pa.Table | None = None, keep: timedelta | None = None) -> Engine:
    """An engine with the subscriptions of a file, in memory, or with those of a folder, of which none is expired.

    In a folder, posts may be kept.
    """
    if subscriptions.is_dir():
        if Registry(subscriptions).version < 0:
            raise DataError(f"nobody has subscribed in {str(subscriptions)!r} yet; see tidings subscribe --help")
        return Engine(subscriptions, sample=sample, expire_after=None, keep=keep)
    engine = Engine(sample=sample, expire_after=None)
    table = TableFile(subscriptions).read()
    receipt = engine.subscribe_many(table)
    tell_rejected(
        "subscription", len(receipt.rejected), table.num_rows, [f"{row.id!r}: {row.reason}" for row in receipt.rejected]
    )
    if receipt.rejected and not receipt.accepted:
        raise DataError(f"no subscription of {str(subscriptions)!r} can be used")
    return engine


def flow(engine: Engine, file: TableFile, write: Write, advance: Callable[[int], None]) -> Passed:
    """Match all posts of a file and hand their matches on."""
    tally = Passed()
    for piece in file.pieces():
        for part in _parts(_with_ids(piece, tally.posts), tally):
            found = engine.match(part, sifter=tally.sifter)
            write(found)
            tally.posts += part.num_rows
            tally.matches += len(found)
            advance(part.num_rows)
    return tally


def _parts(table: pa.Table, tally: Passed) -> Iterator[pa.Table]:
    """Slices with about MOST_MATCHES matches, judged by the posts before them."""
    start = 0
    while start < table.num_rows:
        per_post = max(1.0, tally.matches / tally.posts) if tally.posts else MOST_MATCHES / 256
        rows = max(1, min(PIECE_ROWS, int(MOST_MATCHES / per_post)))
        yield table.slice(start, rows)
        start += rows


def _with_ids(table: pa.Table, first: int) -> pa.Table:
    """Where there are no ids, the numbers of the rows."""
    if "id" in table.column_names:
        return table
    return table.append_column("id", pa.array(range(first, first + table.num_rows), pa.int64()).cast(pa.string()))
