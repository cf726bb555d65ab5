"""``tidings broker``: one broker of an overlay as a process."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tidings.cli.terminal import say

EXAMPLE = "Example: tidings broker --config brokers.toml --name B1"


def broker(
    *,
    config: Annotated[Path, typer.Option(help="Who the brokers are, and where: a TOML file.")],
    name: Annotated[str | None, typer.Option(help="Which of them this one is, instead of what the file says.")] = None,
) -> None:
    """Run a broker until Ctrl-C: it takes subscriptions and publications of clients, and shares load with others."""
    import asyncio  # noqa: PLC0415  # each loads only when it is needed
    import logging  # noqa: PLC0415

    from tidings.broker import read_config, serve  # noqa: PLC0415

    asked = read_config(config, name)
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    say(f"{asked.name} listens at {asked.overlay.addresses[asked.name]}", err=True)
    asyncio.run(serve(asked))
