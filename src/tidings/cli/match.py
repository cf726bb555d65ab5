"""``tidings match``: which posts of a file answer which subscriptions?"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from tidings.cli import typed
from tidings.cli.format import Format

EXAMPLE = "Example: tidings match posts.parquet asked.parquet --output found.parquet"


def match(  # one for each option
    posts: Annotated[
        Path, typer.Argument(metavar="POSTS", help="Columns id, text, ts, lat, lon, topic; any other is an attribute.")
    ],
    subscriptions: Annotated[
        Path,
        typer.Argument(
            metavar="SUBSCRIPTIONS",
            help="Columns id, query, subscriber, tag, since, until; or a folder filled by tidings subscribe.",
        ),
    ],
    output: Annotated[
        Path | None, typer.Option(help="A Parquet file for all matches; without, they are printed.")
    ] = None,
    output_format: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.table,
    limit: Annotated[
        int | None,
        typer.Option(min=0, help="How many to print; 20 in a table, else all, without. All are counted."),
    ] = None,
    keep: Annotated[
        timedelta | None,
        typer.Option(
            parser=typed.span,
            metavar="SPAN",
            help="Keep the posts in the folder for 15m, 12h or 7d: tidings subscribe --since finds them.",
        ),
    ] = None,
) -> None:
    """Match the posts of a file with subscriptions. Files end in .parquet, .csv, .jsonl, .ndjson, .arrow, .feather."""
    from tidings.cli.flow import match_files  # noqa: PLC0415  # heavy imports only when they are needed

    if output is not None:
        if output.suffix.lower() != ".parquet":
            raise typer.BadParameter(f"{output} is to be a Parquet file; name it so: {output.stem}.parquet")
        if output.exists() and any(output.samefile(path) for path in (posts, subscriptions) if path.exists()):
            raise typer.BadParameter(f"{output} would be written over while it is read; name another file")
    if keep is not None and not subscriptions.is_dir():
        raise typer.BadParameter("--keep needs a folder of subscriptions, filled by tidings subscribe")
    match_files(posts, subscriptions, output, output_format, limit, keep)
