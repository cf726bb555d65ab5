"""What can be done from the shell?"""

from __future__ import annotations

import os
import signal
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tidings.cli import broker, doctor, explain, learn, match, run, simulate, subscribe, tidy
from tidings.cli.terminal import say
from tidings.model import TidingsError

app = typer.Typer(
    name="tidings",
    help="Standing queries over a stream of posts: words, places, attributes, topics, times.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(epilog=match.EXAMPLE)(match.match)
app.command(epilog=subscribe.SUBSCRIBE_EXAMPLE)(subscribe.subscribe)
app.command(epilog=subscribe.UNSUBSCRIBE_EXAMPLE)(subscribe.unsubscribe)
app.command(epilog=tidy.EXAMPLE)(tidy.tidy)
app.command(epilog=explain.EXAMPLE)(explain.explain)
app.command(epilog=doctor.EXAMPLE)(doctor.doctor)
app.command(epilog=run.EXAMPLE)(run.run)
app.command(epilog=learn.EXAMPLE)(learn.learn)
app.command(epilog=simulate.EXAMPLE)(simulate.simulate)
app.command(epilog=broker.EXAMPLE)(broker.broker)


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


@app.command(epilog="Example: tidings demo --seconds 20 --rate 5000 --seed 7")
def demo(
    seconds: Annotated[float, typer.Option(min=1, max=3600, help="How long the stream runs.")] = 30,
    rate: Annotated[int, typer.Option(min=10, max=1_000_000, help="Posts per second.")] = 1000,
    subscriptions: Annotated[int, typer.Option(min=1, max=5_000_000, help="How many queries wait for them.")] = 5000,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, other posts and queries.")] = 1,
    plot: Annotated[Path | None, typer.Option(help="Where the picture goes: a .png or .svg file.")] = None,
) -> None:
    """See it work: a stream on Spark of made-up posts and places meets thousands of queries that come and go.

    It needs no network and no data, ends by itself in about a minute (Ctrl-C: at once), and checks what it found.
    """
    from tidings.cli.checks import require_spark  # noqa: PLC0415  # each loads only when it is needed

    require_spark()
    from tidings.cli.demo import Wanted, play  # noqa: PLC0415

    if not play(Console(highlight=False), Wanted(seconds, rate, subscriptions, seed, plot)):
        raise typer.Exit(1)


@app.command(epilog="Example: tidings tour --posts 500 --seed 7")
def tour(
    posts: Annotated[int, typer.Option(min=1, max=100_000, help="How many posts to make up.")] = 400,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, other posts.")] = 1,
) -> None:
    """A short tour of the language, without Spark: queries are read, posts are matched, and each match says why."""
    from tidings.cli.tour import tour as show  # noqa: PLC0415  # numpy and pyarrow load only when they are needed

    show(Console(), posts, seed)


def _end(number: int, _frame: object) -> None:
    """Leave as on Ctrl-C, so that what is half written is removed."""
    sys.exit(128 + number)


def main() -> None:
    """The entry point: errors are one line and a hint, unless --debug asks for more."""
    signal.signal(signal.SIGTERM, _end)
    try:
        app()
    except (TidingsError, OSError) as error:
        if os.environ.get("TIDINGS_DEBUG"):
            raise
        say(f"tidings: {error}", err=True)
        sys.exit(1)
