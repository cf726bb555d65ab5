"""``tidings explain``: why does a post answer a query, or why not?"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from tidings.cli import typed
from tidings.cli.terminal import say
from tidings.model import DataError, Publication

EXAMPLE = "Example: tidings explain 'fire likes:>9' 'Fire here' --attribute likes=3"


def explain(  # noqa: PLR0913  # one for each option
    query_and_text: Annotated[
        list[str] | None,
        typer.Argument(metavar="QUERY TEXT", help="What is asked, unless it is stored; and the text of a post."),
    ] = None,
    *,
    folder: Annotated[Path | None, typer.Option(help="Where the subscription with --id is stored.")] = None,
    id: Annotated[str | None, typer.Option(help="Of the stored subscription.")] = None,
    attribute: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="One of the post; may be repeated.")
    ] = None,
    lat: Annotated[float | None, typer.Option(help="Where the post is, in degrees.")] = None,
    lon: Annotated[float | None, typer.Option(help="Where the post is, in degrees.")] = None,
    topic: Annotated[list[str] | None, typer.Option(help="Like sports/soccer; may be repeated.")] = None,
    ts: Annotated[datetime | None, typer.Option(parser=typed.instant, metavar="ISO", help="When; now without.")] = None,
) -> None:
    """Tell why a post, typed here, answers a query or a stored subscription; or why not."""
    if (folder is None) != (id is None):
        raise typer.BadParameter("a stored subscription needs both --folder and --id")
    words = list(query_and_text or ())
    if folder is None and not words:
        raise typer.BadParameter("name a query, or --folder and --id of a stored one")
    query = words.pop(0) if folder is None else ""
    if len(words) > 1:
        raise typer.BadParameter(f"expected one text, got {len(words)}; put it in quotes")
    attributes = dict(map(typed.attribute, attribute or ()))
    post = Publication("post", "".join(words), ts, lat, lon, tuple(topic or ()), attributes)
    if folder is None or id is None:
        _explain_query(query, post)
    else:
        _explain_stored(folder, id, post)


def _explain_query(query: str, post: Publication) -> None:
    from tidings.language import explain as explain_query  # noqa: PLC0415

    say(explain_query(typed.query(query), post))


def _explain_stored(folder: Path, id: str, post: Publication) -> None:
    from tidings.cli.flow import opened  # noqa: PLC0415  # heavy imports only when they are needed

    if not folder.is_dir():
        raise DataError(f"there is no folder {str(folder)!r}")
    with opened(folder) as engine:
        say(engine.explain(id, post))
