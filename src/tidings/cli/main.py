"""What can be done from the shell?"""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from typing import Annotated

import typer
from rich.console import Console

from tidings.cli import bench, explain, match, subscribe
from tidings.model import TidingsError

app = typer.Typer(
    name="tidings",
    help="Standing queries over a stream of posts: words, places, attributes, topics, times.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(bench.app)
app.command(epilog=match.EXAMPLE)(match.match)
app.command(epilog=subscribe.SUBSCRIBE_EXAMPLE)(subscribe.subscribe)
app.command(epilog=subscribe.UNSUBSCRIBE_EXAMPLE)(subscribe.unsubscribe)
app.command(epilog=explain.EXAMPLE)(explain.explain)


@app.callback(invoke_without_command=True)
def options(
    show_version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Standing queries over a stream of posts: words, places, attributes, topics, times."""
    if debug:
        os.environ["TIDINGS_DEBUG"] = "1"
    if show_version:
        typer.echo(f"tidings {version('tidings')}")
        raise typer.Exit


@app.command(epilog="Example: tidings demo --posts 500 --seed 7")
def demo(
    posts: Annotated[int, typer.Option(min=1, max=100_000, help="How many posts to make up.")] = 400,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, other posts.")] = 1,
) -> None:
    """A short tour: queries are read, made-up posts are matched, and each match says why."""
    from tidings.cli.demo import tour  # noqa: PLC0415  # numpy and pyarrow load only when they are needed

    tour(Console(), posts, seed)


def main() -> None:
    """The entry point: errors are one line and a hint, unless --debug asks for more."""
    try:
        app()
    except (TidingsError, OSError) as error:
        if os.environ.get("TIDINGS_DEBUG"):
            raise
        typer.echo(f"tidings: {error}", err=True)
        sys.exit(1)
