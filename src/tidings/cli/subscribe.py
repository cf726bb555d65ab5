"""``tidings subscribe`` and ``unsubscribe``: how does somebody leave a standing query in a folder, and give it up?"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import uuid4

import typer

from tidings.cli import typed
from tidings.cli.terminal import say, shown
from tidings.model import DataError, SubscriptionError

if TYPE_CHECKING:
    import pyarrow as pa

    from tidings.model import Rejected
    from tidings.registry import Receipt, Registry

SUBSCRIBE_EXAMPLE = "Example: tidings subscribe alerts '(fire OR smoke) -drill' --id s1 --since -1h"
UNSUBSCRIBE_EXAMPLE = "Example: tidings unsubscribe alerts s1 s2"


def subscribe(  # noqa: PLR0913  # one for each option
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where the subscriptions are kept; made if it is not there.")
    ],
    query: Annotated[
        str | None, typer.Argument(metavar="QUERY", help="What is asked, in the language of docs/language.md.")
    ] = None,
    *,
    file: Annotated[
        Path | None, typer.Option(help="Many at once: columns id, query, subscriber, tag, since, until.")
    ] = None,
    sigma: Annotated[
        Path | None, typer.Option(metavar="RULES", help="A folder of Sigma rules, each a subscription (extra sigma).")
    ] = None,
    sources: Annotated[
        bool, typer.Option("--sources", help="With --sigma: a rule asks for events of its logsource only.")
    ] = False,
    id: Annotated[str | None, typer.Option(help="A known one gets the new query; a new one is made without.")] = None,
    subscriber: Annotated[str, typer.Option(help="Who asks.")] = "",
    tag: Annotated[str, typer.Option(help="Comes back with each match.")] = "",
    since: Annotated[
        datetime | None,
        typer.Option(
            parser=typed.instant,
            metavar="ISO",
            help="Valid from then on; -1h is an hour ago. Posts since then that the folder keeps are printed at once.",
        ),
    ] = None,
    until: Annotated[datetime | None, typer.Option(parser=typed.instant, metavar="ISO", help="Valid before.")] = None,
    field: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=KIND", help="Of a new folder: an attribute is text, folded or exact; * is all others."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what of a file would be accepted.")] = False,
) -> None:
    """Leave a standing query and print its id; or many of a file, and print how many were accepted.

    With --since in the past, the ids of the posts that answer it follow, the newest first, if the folder keeps posts
    (tidings match --keep, or an Engine with keep).
    """
    if [query, file, sigma].count(None) != 2:
        raise typer.BadParameter("name either a query, a --file of them or a folder of --sigma rules")
    if sources and sigma is None:
        raise typer.BadParameter("--sources goes with --sigma")
    if file is not None or sigma is not None:
        if id is not None or subscriber or tag or since or until:
            raise typer.BadParameter("with --file, id, subscriber, tag, since and until are columns of the file")
        accepted = _subscribe_many(folder, field or [], _table(file, sigma, sources), dry_run)
        if not accepted:
            raise DataError(f"no subscription of {str(file or sigma)!r} can be used")
    elif query is not None:
        if dry_run:
            raise typer.BadParameter("--dry-run goes with --file; to try one query, see tidings explain")
        row = {"id": uuid4().hex if id is None else id, "query": query, "subscriber": subscriber, "tag": tag}
        _subscribe_one(folder, field or [], row | {"since": since, "until": until})


def unsubscribe(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the subscriptions are kept.")],
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Which to give up.")],
) -> None:
    """Give up subscriptions, and print how many there were."""
    from tidings.cli.flow import opened  # noqa: PLC0415

    if not folder.is_dir():
        raise DataError(f"there is no folder {str(folder)!r}")
    with opened(folder) as engine:
        for unknown in [name for name in ids if name not in engine]:
            say(f"there is no subscription {unknown!r}", err=True)
        typer.echo(engine.unsubscribe_many(ids))


def _registry(folder: Path, fields: list[str]) -> Registry:
    from tidings.analysis import Analyser, Fields  # noqa: PLC0415
    from tidings.registry import Registry  # noqa: PLC0415

    return Registry(folder, Analyser(fields=Fields.written(fields)))


def _subscribe_one(folder: Path, fields: list[str], row: dict[str, Any]) -> None:
    import pyarrow as pa  # noqa: PLC0415  # heavy imports only when they are needed

    from tidings.registry.schemas import SUBSCRIPTION  # noqa: PLC0415

    registry = _registry(folder, fields)
    typed.query(str(row["query"]), registry.analyser)
    receipt = registry.add(pa.Table.from_pylist([row], SUBSCRIPTION))
    if receipt.rejected:
        raise SubscriptionError(receipt.rejected[0].reason)
    _tell_warnings(receipt)
    typer.echo(shown(str(row["id"])))
    if row["since"] is not None:
        _print_past(folder, row, receipt.version)


def _tell_warnings(receipt: Receipt) -> None:
    for warning in receipt.warnings:
        say(f"warning: {shown(warning)}", err=True)


def _print_past(folder: Path, row: dict[str, Any], version: int) -> None:
    from tidings.cli.sinks import counted  # noqa: PLC0415
    from tidings.engine.finding import keeps_posts, past_in  # noqa: PLC0415

    if not keeps_posts(folder):
        return
    names = ("id", "query", "subscriber", "tag", "since", "until")
    found = past_in(folder, tuple(row[name] for name in names), version)
    for match in found.past:
        typer.echo(shown(match.publication_id))
    kept = "all" if found.complete else "not all"
    say(f"{counted(len(found.past), 'post')} of the past; {kept} since then were kept", err=True)


def _table(file: Path | None, sigma: Path | None, sources: bool) -> tuple[pa.Table, tuple[Rejected, ...]]:
    """Subscriptions of a file or of a folder of rules, and the rules that cannot be said."""
    from tidings.cli.files import TableFile  # noqa: PLC0415

    if file is not None:
        return TableFile(file).read(), ()
    try:
        from tidings.sigma import read_rules  # noqa: PLC0415
    except ImportError:
        raise DataError("rules of Sigma need pySigma: pip install 'tidings[sigma]'") from None
    rules = read_rules(sigma or Path(), sources=sources)
    return rules.table, rules.rejected


def _subscribe_many(
    folder: Path, fields: list[str], found: tuple[pa.Table, tuple[Rejected, ...]], dry_run: bool
) -> bool:
    """Leave many; False if all of them are rejected."""
    from tidings.cli.output import tell_rejected  # noqa: PLC0415

    table, unsaid = found
    receipt = _registry(folder, fields).add(table, dry_run=dry_run)
    rejected = (*unsaid, *receipt.rejected)
    tell_rejected(
        "subscription", len(rejected), table.num_rows + len(unsaid), [f"{row.id!r}: {row.reason}" for row in rejected]
    )
    _tell_warnings(receipt)
    typer.echo(f"{receipt.accepted:,} {'would be ' if dry_run else ''}accepted, {len(rejected):,} rejected")
    return receipt.accepted > 0 or not rejected
