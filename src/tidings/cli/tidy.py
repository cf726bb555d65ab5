"""``tidings tidy``: how does a folder of subscriptions become as small as it can be?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tidings.model import DataError

EXAMPLE = "Example: tidings tidy alerts --keep-hours 24"


def tidy(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the subscriptions are kept.")],
    keep_versions: Annotated[
        int | None, typer.Option(min=0, help="The history to keep: so many versions; 10,000 without.")
    ] = None,
    keep_hours: Annotated[
        float | None, typer.Option(min=0, help="The history to keep: not older than that; a week without.")
    ] = None,
) -> None:
    """Merge the files of a folder of subscriptions and drop what its history does not need; print what became of it.

    Nothing that lives is dropped. Folders that are written to tidy themselves up, little by little.
    """
    from tidings.registry import History, Registry  # noqa: PLC0415  # heavy imports only when they are needed

    usual = History()
    versions = usual.versions if keep_versions is None else keep_versions
    registry = Registry(folder, history=History(versions, usual.hours if keep_hours is None else keep_hours))
    if registry.version < 0:
        raise DataError(f"nobody has subscribed in {str(folder)!r} yet; see tidings subscribe --help")
    before = _size_bytes(folder)
    done = registry.tidy()
    after = _size_bytes(folder)
    typer.echo(
        f"{done.merged:,} files merged, {done.dropped:,} rows dropped, {done.deleted:,} files deleted; "
        f"{before / 1e6:,.1f} MB before, {after / 1e6:,.1f} MB now"
    )


def _size_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
