"""``tidings run``: how is a pipeline on Spark started, watched and stopped from the shell?"""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tidings.spark.config import Config
    from tidings.spark.progress import Progress

EXAMPLE = "Example: tidings run --config pipeline.toml --once"


def run(
    config: Annotated[Path, typer.Option(help="A TOML file: registry, checkpoint, [source], [sink], …")],
    once: Annotated[bool, typer.Option("--once", help="Match what there is now, and leave.")] = False,
    progress: Annotated[
        Path | None, typer.Option(help="A file to which the progress of each batch is added, a line of JSON each.")
    ] = None,
) -> None:
    """Run a pipeline until Ctrl-C: posts of a stream, subscriptions that come and go, matches to a sink.

    It goes on where it stopped, whatever stopped it. On a terminal, it shows posts per second, lag, matches and the
    load of each matcher. What the file can say: python -c "help('tidings.spark.config')".
    """
    from tidings.spark.config import Config  # noqa: PLC0415  # Spark only when it is needed

    _run(Config.read(config), once, progress)


def _run(config: Config, once: bool, file: Path | None) -> None:
    from tidings.cli.board import Totals, board  # noqa: PLC0415
    from tidings.cli.output import tell_compiling  # noqa: PLC0415

    tell_compiling()
    spark = config.session()
    enough = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: enough.set())
    totals = Totals()
    try:
        with board(totals) as show:
            pipeline = config.pipeline(spark)
            with pipeline.start(
                every_s=config.trigger.every_s,
                available_now=once or config.trigger.available_now,
                progress=_both(show, file),
            ) as running:
                while not running.wait(0.5) and not enough.is_set():
                    pass
    finally:
        spark.stop()
    typer.echo(str(totals), err=True)


def _both(show: Callable[[Progress], None], file: Path | None) -> Callable[[Progress], None]:
    def tell(progress: Progress) -> None:
        show(progress)
        if file is not None:
            with file.open("a") as lines:
                lines.write(json.dumps(progress.record()) + "\n")

    return tell
