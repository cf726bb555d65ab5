"""How are figures and progress shown?"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from tidings.bench.result import Result


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on stderr while something long goes on; nothing where stderr is not a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task(what, total=total)
        yield lambda done: bars.advance(task, done)


def print_figures(result: Result, output_format: str) -> None:
    """The figures of a benchmark on stdout."""
    if output_format == "json":
        typer.echo(json.dumps(result.record(), indent=2))
    elif output_format == "csv":
        writer = csv.writer(sys.stdout)
        writer.writerow(["figure", "value"])
        writer.writerows(result.figures.items())
    else:
        table = Table("figure", title=f"{result.name}: {result.dataset}", title_justify="left")
        table.add_column("value", justify="right")
        for name, value in result.figures.items():
            table.add_row(name.replace("_", " "), f"{value:,}" if isinstance(value, int | float) else str(value))
        Console().print(table)
